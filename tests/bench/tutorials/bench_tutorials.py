#!/usr/bin/python3
"""The tutorials' own table: one picture through plain Python, Numba, OpenCV and edged, in one run.

    bench_tutorials.py [--size WxH] [--json] [--no-install]

Needs numpy, and OpenCV or Pillow to read the picture. Numba is taken from NUMBA_WHEELS=DIR (a folder
of wheels, unpacked into the build folder), from this Python, or from PyPI into a virtual environment
in the build folder (not with --no-install). What cannot run is a row with the reason.

Each row is a process of its own, and counts from a picture in memory to edges in memory: float32 to
uint8 for the tutorials' (their copies to a GPU and back included), 8 bit gray to 8 bit for edged.
"""

import argparse
import ctypes
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
BUILD = pathlib.Path(os.environ.get("EDGED_BUILD", ROOT / "build"))
EDGED = BUILD / "tests/bench/tutorials/edged_edges"
PICTURE = ROOT / "tests/data/astronaut.png"
RUNS = 101
STATUS_NOT_HERE = 3
INNER_ALONE = ("opencv", "cuda_manual")  # whose outermost pixels are not the definition's

ROWS = [
    ("python", "plain Python loops"),
    ("numba_jit", "Numba @jit"),
    ("numba_typed", "Numba @jit, typed signature"),
    ("numba_parallel", "Numba @jit, parallel=True"),
    ("opencv", "OpenCV, Sobel twice, magnitude"),
    ("cuda_automatic", "Numba CUDA, automatic copies"),
    ("cuda_manual", "Numba CUDA, manual copies"),
    ("cpu", "edged CPU, one thread"),
    ("cuda", "edged CUDA"),
]


def read_gray(path):
    """8 bit gray; the few gray levels in which readers may differ do not matter here."""
    try:
        import cv2

        return cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
    except ImportError:
        from PIL import Image

        return np.asarray(Image.open(path).convert("L"))


def read_picture(width, height):
    """The astronaut, mirrored at its borders until the size is full: no pixel is made up."""
    gray = read_gray(PICTURE)[:height, :width]
    more = ((0, height - gray.shape[0]), (0, width - gray.shape[1]))
    return np.ascontiguousarray(np.pad(gray, more, mode="symmetric"))


def squares(gray):
    """gx² + gy² of every pixel with neighbours on all sides, in integers."""
    g = gray.astype(np.int64)
    gx = (g[:-2, 2:] + 2 * g[1:-1, 2:] + g[2:, 2:]) - (g[:-2, :-2] + 2 * g[1:-1, :-2] + g[2:, :-2])
    gy = (g[2:, :-2] + 2 * g[2:, 1:-1] + g[2:, 2:]) - (g[:-2, :-2] + 2 * g[:-2, 1:-1] + g[:-2, 2:])
    return gx * gx + gy * gy


def tutorials_definition(gray):
    """Cut to whole numbers; the outermost pixels stay black."""
    return np.pad(np.minimum(255, np.floor(np.sqrt(squares(gray)))).astype(np.uint8), 1)


def edged_definition(gray):
    """Rounded; the outermost pixels are repeated outwards. A root of a whole number is no half."""
    around = squares(np.pad(gray, 1, mode="edge"))
    return np.minimum(255, np.floor(np.sqrt(around) + 0.5)).astype(np.uint8)


def imports_numba(python):
    probe = f"import runpy; runpy.run_path({str(HERE / 'rows.py')!r})['import_numba']()"
    return subprocess.run([python, "-c", probe], capture_output=True).returncode == 0


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def unpack_wheels(folder):
    """Without pip: a wheel is an archive of what belongs into a folder of packages."""
    site = BUILD / "tutorials/site"
    site.mkdir(parents=True, exist_ok=True)
    for wheel in sorted(pathlib.Path(folder).glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
    return {"TUTORIALS_SITE": str(site)}


def install_numba():
    """From PyPI; the Python of the virtual environment, or None."""
    folder = BUILD / "tutorials/venv"
    python = folder / "bin/python"
    packages = ["numba", "numba-cuda"] if has_driver() else ["numba"]
    print("installing", *packages, "into", folder, file=sys.stderr)
    for command in ([sys.executable, "-m", "venv", folder],
                    [python, "-m", "pip", "install", "--quiet", "--retries", "1", *packages]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        except (OSError, subprocess.TimeoutExpired) as error:
            print(error, file=sys.stderr)
            return None
        if done.returncode != 0:
            print((done.stderr or done.stdout).strip().splitlines()[-1], file=sys.stderr)
            return None
    return python


def find_numba(may_install):
    """The Python for Numba's rows, and what its environment needs."""
    if os.environ.get("NUMBA_WHEELS"):
        return sys.executable, unpack_wheels(os.environ["NUMBA_WHEELS"])
    installed = BUILD / "tutorials/venv/bin/python"
    for python in (sys.executable, installed):
        if pathlib.Path(python).exists() and imports_numba(python):
            return python, {}
    return (may_install and install_numba()) or sys.executable, {}


def run_tutorial(name, gray, folder, python, extra):
    """The row's figures and picture, or the reason why there are none."""
    np.save(folder / "in.npy", gray.astype(np.float32))
    done = subprocess.run([python, HERE / "rows.py", name, folder / "in.npy", folder / "out.npy"],
                          env={**os.environ, **extra}, capture_output=True, text=True)
    if done.returncode == STATUS_NOT_HERE:
        return done.stdout.strip()
    if done.returncode != 0:
        return "failed: " + (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    return {**json.loads(done.stdout.splitlines()[-1]), "picture": np.load(folder / "out.npy")}


def run_edged(backend, gray, folder):
    (folder / "in.gray").write_bytes(gray.tobytes())
    height, width = gray.shape
    done = subprocess.run([EDGED, backend, str(width), str(height), str(RUNS), folder / "in.gray",
                           folder / "out.gray"], capture_output=True, text=True)
    if done.returncode == STATUS_NOT_HERE:
        return done.stderr.strip().splitlines()[-1]
    assert done.returncode == 0, done.stderr
    times = [float(line) / 1000 for line in done.stdout.split()]
    picture = np.frombuffer((folder / "out.gray").read_bytes(), np.uint8).reshape(gray.shape)
    return {"what": "edged", "first_ms": times[0], "times_ms": times, "picture": picture}


def measure(gray, may_install):
    python, extra = find_numba(may_install)
    own, theirs = edged_definition(gray), tutorials_definition(gray)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for key, title in ROWS:
            if key in ("cpu", "cuda"):
                row, expected = run_edged(key, gray, folder), own
            else:
                where = (sys.executable, {}) if key in ("python", "opencv") else (python, extra)
                row, expected = run_tutorial(key, gray, folder, *where), theirs
            if isinstance(row, str):
                yield {"row": key, "title": title, "reason": row}
                continue
            picture = row.pop("picture")
            if key in INNER_ALONE:
                picture, expected = picture[1:-1, 1:-1], expected[1:-1, 1:-1]
            apart = np.abs(picture.astype(int) - expected)
            times = row.pop("times_ms")
            yield {"row": key, "title": title, **row, "runs": len(times),
                   "ms": statistics.median(times[1:] or times),
                   "different": int(np.count_nonzero(apart)), "most": int(apart.max(initial=0))}


def show_row(row, python_ms):
    title = f"{row['title']:<32}"
    if "reason" in row:
        return f"{title}{row['reason']}"
    faster = f"{python_ms / row['ms']:.0f}" if python_ms else "-"
    note = "" if row["what"] == "edged" else f"  {row['what']}"
    return (f"{title}{row['first_ms']:>10.2f}{row['ms']:>10.3f}{faster:>9}{row['different']:>8}"
            f"{row['most']:>6}{note}")


def show_definitions(gray):
    apart = np.abs(edged_definition(gray).astype(int) - tutorials_definition(gray))[1:-1, 1:-1]
    print(f"""
different, most: pixels that differ from the row's definition, and by how many gray levels at most.
  tutorials  min(255, sqrt(gx² + gy²)) cut to a whole number, outermost pixels black (left out where
             OpenCV makes them of mirrored ones, or nobody writes what was allocated on the GPU)
  edged      the same rounded, outermost pixels repeated outwards
  The two definitions differ in {np.count_nonzero(apart)} of {apart.size} inner pixels, by {apart.max(initial=0)} at most.""")


def main():
    parser = argparse.ArgumentParser(usage=__doc__, add_help=False)
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--no-install", action="store_true")
    options = parser.parse_args()
    width, height = map(int, options.size.split("x"))
    gray = read_picture(width, height)
    rows, python_ms = [], None
    if not options.json:
        print(f"{PICTURE.name} mirrored to {width}x{height}, gray; {len(os.sched_getaffinity(0))} "
              f"CPUs; medians, first call apart\n")
        print(f"{'':<32}{'first ms':>10}{'ms':>10}{'x Python':>9}{'differ':>8}{'most':>6}")
    for row in measure(gray, not options.no_install):
        rows.append(row)
        python_ms = row.get("ms") if row["row"] == "python" else python_ms
        if not options.json:
            print(show_row(row, python_ms), flush=True)
    if options.json:
        print(json.dumps({"width": width, "height": height, "rows": rows}, indent=1))
    else:
        show_definitions(gray)
    # What others round is theirs: OpenCV's float arithmetic changes from version to version.
    return 1 if any(row.get("different") for row in rows if "edged" in row["title"]) else 0


if __name__ == "__main__":
    sys.exit(main())
