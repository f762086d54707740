"""The CPU's views beside what they are held against, in one run: a memcpy of the frame, OpenCV on one
thread, and themselves on one thread. Copy and view work on the same frame again and again, which the
caches may hold, and on frames out of memory, as a camera's are. Medians of rounds in turns, so that all
see the same machine. Never fails by time; prints what is wanted beside what was measured. Fails where
cv2.Canny finds another number of edges."""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("EDGED_BUILD", ROOT / "build"))
RUNS = 41
SIZES = {"1080p": (1920, 1080), "4K": (3840, 2160)}
VIEWS = [("edges l2", ["--view", "edges"]), ("edges l1", ["--view", "edges", "--set", "norm=l1"]),
         ("edges l2, blur 5", ["--view", "edges", "--set", "blur=5"]),
         ("binary", ["--view", "binary"]),
         ("binary otsu", ["--view", "binary", "--set", "threshold=otsu"]),
         ("motion", ["--view", "motion"]), ("canny", ["--view", "canny"]),
         ("gray", ["--view", "gray"]), ("camera", ["--view", "camera"])]
# Further views, of which edgectl bench makes its own pictures: the settings of each.
SETTINGS = [f'view = "edges"; {rest}' for rest in
            ('norm = "l2";', 'norm = "l1";', "gain = 1.5;", 'norm = "l1"; gain = 1.5;',
             'operator = "scharr";', 'operator = "prewitt";', 'operator = "sobel5";', "blur = 3;",
             "blur = 5;")]
SETTINGS += [f'view = "{rest}' for rest in
             ('binary"; threshold = 80;', 'binary"; threshold = "otsu";', 'motion"; erode = 4;',
              'gray";', 'camera";')]
CANNY = [(50, 150), (20, 60)]


def exact_magnitude(gray, target):
    gx, gy = cv2.spatialGradient(gray, borderType=cv2.BORDER_REPLICATE)
    magnitude = cv2.magnitude(gx.astype(np.float32), gy.astype(np.float32))
    cv2.convertScaleAbs(magnitude, dst=target)


def canny(gray, low, high):
    return cv2.Canny(gray, low, high, apertureSize=3, L2gradient=True)


def scaled(picture, width, height):
    """Pictures of another shape lose their border, not their proportions."""
    rows = min(picture.shape[0], picture.shape[1] * height // width)
    top = (picture.shape[0] - rows) // 2
    return cv2.resize(picture[top:top + rows], (width, height), interpolation=cv2.INTER_CUBIC)


def make_pictures(folder):
    """Gray pictures by name and size: two frames of a street, still pictures, noise. Arrays, and PGM
    files of them."""
    clip = cv2.VideoCapture(str(ROOT / "tests/data/street.mp4"))
    gray = {f"street {n}": cv2.cvtColor(clip.read()[1], cv2.COLOR_BGR2GRAY) for n in range(2)}
    for name in ("astronaut", "coffee", "chelsea"):
        gray[name] = cv2.imread(str(ROOT / f"tests/data/{name}.png"), cv2.IMREAD_GRAYSCALE)
    noise = np.random.default_rng(1).integers(0, 256, (2160, 3840), dtype=np.uint8)
    arrays = {}
    for size, (width, height) in SIZES.items():
        for name, picture in gray.items():
            arrays[f"{name} {size}"] = scaled(picture, width, height)
        arrays[f"noise {size}"] = np.ascontiguousarray(noise[:height, :width])
    paths = {}
    for name, array in arrays.items():
        paths[name] = f"{folder}/{name.replace(' ', '-')}.pgm"
        cv2.imwrite(paths[name], array)
    return arrays, paths


def bench_view(words, threads=1):
    """Microseconds of the copy, of the view by one thread, by `threads`, and of as many that make one
    each at once; how many of the view's pixels are set."""
    command = [BUILD / "tests/bench/bench_view", "--runs", str(RUNS), "--threads", str(threads)]
    line = subprocess.run(command + words, capture_output=True, text=True, check=True).stdout.split()
    return tuple(map(float, line[1:6]))


def edgectl_bench(folder, size, pixel_format):
    """What edgectl bench measures of SETTINGS: a dict a row, its JSON."""
    path = Path(folder, "edged.conf")
    views = ", ".join(f'{{ name = "v{n}"; {text} }}' for n, text in enumerate(SETTINGS))
    path.write_text(f'cameras = ( {{ name = "bench"; source = "pattern"; views = ({views}); }} );')
    command = [BUILD / "edgectl", "bench", "--json", "--backend", "cpu", "--threads", "1",
               "--runs", str(RUNS), "--config", path, "--size", size, "--format", pixel_format]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def opencv_us(function):
    times_ns = []
    for _ in range(RUNS):
        begin_ns = time.perf_counter_ns()
        function()
        times_ns.append(time.perf_counter_ns() - begin_ns)
    return statistics.median(times_ns) / 1000


def one_thread_round(arrays, paths):
    """Rows: name, microseconds of edged and of the copy, in the caches and out of memory, and of OpenCV
    in the caches (None: not measured)."""
    street = arrays["street 0 1080p"]
    target = np.empty_like(street)
    frames = [paths["street 0 1080p"], paths["street 1 1080p"]]
    rows = {}

    def add(name, words, opencv=None):
        copy, view, *_ = bench_view(["--stream", *words])
        cold_copy, cold_view, *_ = bench_view(["--stream", "--cold", *words])
        rows[name] = (view, copy, cold_view, cold_copy, opencv_us(opencv) if opencv else None)

    add("edges l2", [frames[0]], lambda: exact_magnitude(street, target))
    add("edges l1", ["--set", "norm=l1", frames[0]])
    add("motion", ["--view", "motion", *frames])
    for name, path in (("street", "street 0 1080p"), ("noise", "noise 1080p")):
        picture = arrays[path]
        add(f"canny, {name}", ["--view", "canny", "--set", "low=50", "--set", "high=150", paths[path]],
            lambda picture=picture: canny(picture, 50, 150))
    return rows


# At most so many copies; at least so many times as fast as OpenCV.
WANTED = {"edges l2": (4, 15), "edges l1": (2.5, None), "motion": (5, None),
          "canny, street": (None, 3), "canny, noise": (None, 4)}


def median_rows(rounds):
    return {name: tuple(statistics.median(times) if None not in times else None
                        for times in zip(*(one[name] for one in rounds)))
            for name in rounds[0]}


def show_ratio(view, copy):
    return f"{view:>9.1f}{copy:>11.1f}{view / copy:>10.2f}" if view else " " * 30


def show_one_thread(rows):
    ratio = f"{'us':>9}{'memcpy us':>11}{'/ memcpy':>10}"
    print(f"{'':<16}{'in the caches':>30}{'':>9}{'out of memory':>30}")
    print(f"{'1080p, 1 thread':<16}{ratio}{'wanted':>9}{ratio}{'OpenCV us':>11}{'OpenCV /':>10}{'wanted':>9}")
    for name, (view, copy, cold_view, cold_copy, opencv) in rows.items():
        most, least = WANTED[name]
        print(f"{name:<16}{show_ratio(view, copy)}{f'<= {most:g}' if most else '':>9}"
              f"{show_ratio(cold_view, cold_copy)}"
              + (f"{opencv:>11.1f}{opencv / view:>10.2f}{f'>= {least:g}' if least else '':>9}"
                 if opencv else ""))


def threads_round(paths, threads):
    frames = [paths["street 0 4K"], paths["street 1 4K"]]
    return {name: bench_view(["--stream", *words, *(frames if name == "motion" else frames[:1])], threads)
            for name, words in VIEWS}


def show_threads(rows, threads):
    """`alone` is what as many threads do that have nothing in common: less than their number where the
    processors are one core's, or lent to others as well."""
    print(f"{'4K gray':<22}{'1 thread us':>13}{f'{threads} threads us':>14}{'speedup':>9}{'alone':>9}"
          f"{'memcpy us':>11}")
    for name, (copy, one, shared, each, _) in rows.items():
        print(f"{name:<22}{one:>13.1f}{shared:>14.1f}{one / shared:>9.2f}{threads * one / each:>9.2f}"
              f"{copy:>11.1f}" + ("  wanted >= 1.7" if name == "edges l2" and threads == 2 else ""))


def show_canny(arrays, paths):
    print(f"{'canny':<18}{'low high':<9}{'view us':>9}{'memcpy us':>11}{'/ memcpy':>10}{'OpenCV us':>11}"
          f"{'OpenCV /':>10}")
    for name, picture in arrays.items():
        for low, high in CANNY:
            copy, view, *_, edges = bench_view(["--view", "canny", "--set", f"low={low}", "--set",
                                                f"high={high}", paths[name]])
            assert edges == np.count_nonzero(canny(picture, low, high))
            opencv = opencv_us(lambda: canny(picture, low, high))
            print(f"{name:<18}{f'{low} {high}':<9}{show_ratio(view, copy)}{opencv:>11.1f}"
                  f"{opencv / view:>10.2f}", flush=True)


def show_stages(arrays, folder):
    """Stages and views of edgectl bench's own pictures; OpenCV's blur beside edged's."""
    gray = arrays["noise 1080p"]
    target = np.empty_like(gray)
    blurs = {f"blur = {side};": side for side in (3, 5)}
    print(f"{'edgectl bench':<72}{'us':>9}{'memcpy us':>11}{'/ memcpy':>10}{'OpenCV us':>11}")
    for size in ("1280x720", "1920x1080", "3840x2160"):
        for pixel_format in ("GREY", "NV12", "YUYV"):
            for row in edgectl_bench(folder, size, pixel_format):
                settings = SETTINGS[int(row["view"][1:])]
                name = f"{pixel_format} {size} {settings} {row['what']} "
                name += row["name"] if row["what"] == "stage" else ""
                side = blurs.get(settings.split("; ")[-1]) if row["name"] == "blur" else None
                opencv = ""
                if side and size == "1920x1080":
                    opencv = opencv_us(lambda: cv2.GaussianBlur(
                        gray, (side, side), 0, dst=target, borderType=cv2.BORDER_REPLICATE))
                    opencv = f"{opencv:>11.1f}"
                print(f"{name:<72}{show_ratio(row['us'], row['memcpy_us'])}{opencv}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="turns of everything (default 5)")
    parser.add_argument("--threads", type=int, default=2, help="beside one (default 2)")
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    processors = os.sched_getaffinity(0)
    print(f"OpenCV {cv2.__version__} on one thread; medians of {arguments.rounds} rounds of {RUNS}")
    with tempfile.TemporaryDirectory() as folder:
        arrays, paths = make_pictures(folder)
        os.sched_setaffinity(0, {min(processors)})
        show_one_thread(median_rows([one_thread_round(arrays, paths) for _ in range(arguments.rounds)]))
        os.sched_setaffinity(0, processors)
        show_threads(median_rows([threads_round(paths, arguments.threads)
                                  for _ in range(arguments.rounds)]), arguments.threads)
        os.sched_setaffinity(0, {min(processors)})
        show_canny(arrays, paths)
        show_stages(arrays, folder)


if __name__ == "__main__":
    main()
