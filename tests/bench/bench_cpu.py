"""The CPU's views beside what they are held against, in one run: a memcpy of the gray frame (width x
height bytes read, as many written), OpenCV on one thread, and themselves on one thread. Copy and view
work on the same frame again and again, which the caches may hold, and on frames out of memory, as a
camera's are. Medians of rounds in turns, so that all see the same machine. Never fails by time; prints
what is wanted beside what was measured."""

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np

import bench_opencv

ROOT = Path(__file__).resolve().parents[2]
BENCHES = Path(os.environ.get("EDGED_BUILD", ROOT / "build")) / "tests/bench"
RUNS = 41
SIZES = {"1080p": (1920, 1080), "4K": (3840, 2160)}
VIEWS = [("edges l2", ["--view", "edges"]), ("edges l1", ["--view", "edges", "--set", "norm=l1"]),
         ("edges l2, blur 5", ["--view", "edges", "--set", "blur=5"]),
         ("binary", ["--view", "binary"]),
         ("binary otsu", ["--view", "binary", "--set", "threshold=otsu"]),
         ("motion", ["--view", "motion"]), ("canny", ["--view", "canny"]),
         ("gray", ["--view", "gray"]), ("camera", ["--view", "camera"])]


def make_pictures(folder):
    """Two frames of a street, and noise, as PGM files by name; the arrays behind them."""
    clip = cv2.VideoCapture(str(ROOT / "tests/data/street.mp4"))
    gray = [cv2.cvtColor(clip.read()[1], cv2.COLOR_BGR2GRAY) for _ in range(2)]
    arrays = {}
    for size, shape in SIZES.items():
        for number, picture in enumerate(gray):
            arrays[f"street {number} {size}"] = cv2.resize(picture, shape, interpolation=cv2.INTER_CUBIC)
    arrays["noise 1080p"] = np.random.default_rng(1).integers(0, 256, (1080, 1920), dtype=np.uint8)
    paths = {}
    for name, array in arrays.items():
        paths[name] = f"{folder}/{name.replace(' ', '-')}.pgm"
        cv2.imwrite(paths[name], array)
    return arrays, paths


def bench_view(words, threads=1):
    """Microseconds of the copy, of the view by one thread, by `threads`, and of as many that make one
    each at once."""
    command = [BENCHES / "bench_view", "--runs", str(RUNS), "--stream", "--threads", str(threads)]
    line = subprocess.run(command + words, capture_output=True, text=True, check=True).stdout.split()
    return tuple(map(float, line[1:5]))


def bench_blur_5():
    command = [BENCHES / "bench_stages", "--runs", str(RUNS)]
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        if line.startswith("blur 5"):
            copy_us, stage_us = map(float, line.split()[2:4])
            return copy_us, stage_us


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
        copy, view, *_ = bench_view(words)
        cold_copy, cold_view, *_ = bench_view(["--cold", *words])
        rows[name] = (view, copy, cold_view, cold_copy, opencv_us(opencv) if opencv else None)

    add("edges l2", [frames[0]], lambda: bench_opencv.exact_magnitude(street, target))
    add("edges l1", ["--set", "norm=l1", frames[0]])
    copy, stage = bench_blur_5()
    rows["stage blur 5"] = (stage, copy, None, None,
                            opencv_us(lambda: bench_opencv.blur(street, target, 5)))
    add("motion", ["--view", "motion", *frames])
    for name, path in (("street", "street 0 1080p"), ("noise", "noise 1080p")):
        picture = arrays[path]
        add(f"canny, {name}", ["--view", "canny", "--set", "low=50", "--set", "high=150", paths[path]],
            lambda picture=picture: cv2.Canny(picture, 50, 150, apertureSize=3, L2gradient=True))
    return rows


# At most so many copies; at least so many times as fast as OpenCV.
WANTED = {"edges l2": (4, 15), "edges l1": (2.5, None), "stage blur 5": (None, 1),
          "motion": (5, None), "canny, street": (None, 3), "canny, noise": (None, 4)}


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
    return {name: bench_view([*words, *(frames if name == "motion" else frames[:1])], threads)
            for name, words in VIEWS}


def show_threads(rows, threads):
    """`alone` is what as many threads do that have nothing in common: less than their number where the
    processors are one core's, or lent to others as well."""
    print(f"{'4K gray':<22}{'1 thread us':>13}{f'{threads} threads us':>14}{'speedup':>9}{'alone':>9}"
          f"{'memcpy us':>11}")
    for name, (copy, one, shared, each) in rows.items():
        print(f"{name:<22}{one:>13.1f}{shared:>14.1f}{one / shared:>9.2f}{threads * one / each:>9.2f}"
              f"{copy:>11.1f}" + ("  wanted >= 1.7" if name == "edges l2" and threads == 2 else ""))


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


if __name__ == "__main__":
    main()
