"""The canny view beside cv2.Canny on one thread and beside a copy of the picture, one core, in the
same run: noise, and real pictures scaled up."""

import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import cv2
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
BENCH = Path(os.environ.get("EDGED_BUILD", ROOT / "build")) / "tests/bench/bench_view"
ROUNDS, RUNS = 5, 9
THRESHOLDS = [(50, 150), (20, 60)]
SIZES = {"1080p": (1920, 1080), "4K": (3840, 2160)}


def pictures():
    """Name and gray picture; pictures of another shape lose their border, not their proportions."""
    yield "noise", np.random.default_rng(1).integers(0, 256, (2160, 3840), dtype=np.uint8)
    for name in ("astronaut", "coffee", "chelsea"):
        yield name, cv2.imread(str(ROOT / f"tests/data/{name}.png"), cv2.IMREAD_GRAYSCALE)
    _, frame = cv2.VideoCapture(str(ROOT / "tests/data/street.mp4")).read()
    yield "street", cv2.cvtColor(frame, cv2.COLOR_BGR2GRAY)


def scaled(picture, width, height):
    if picture.shape == (2160, 3840):
        return np.ascontiguousarray(picture[:height, :width])
    rows = min(picture.shape[0], picture.shape[1] * height // width)
    top = (picture.shape[0] - rows) // 2
    return cv2.resize(picture[top:top + rows], (width, height), interpolation=cv2.INTER_CUBIC)


def opencv_us(picture, low, high):
    times_ns = []
    for _ in range(RUNS):
        begin_ns = time.perf_counter_ns()
        edges = cv2.Canny(picture, low, high, apertureSize=3, L2gradient=True)
        times_ns.append(time.perf_counter_ns() - begin_ns)
    return statistics.median(times_ns) / 1000, np.count_nonzero(edges)


def edged_us(path, low, high):
    command = [BENCH, "--runs", str(3 * RUNS), "--view", "canny"]
    command += ["--set", f"low={low}", "--set", f"high={high}", path]
    words = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    return float(words[1]), float(words[2]), int(words[5])


def main():
    cv2.setNumThreads(1)
    print(f"canny view and OpenCV {cv2.__version__}, one core, medians of {ROUNDS} rounds in turns")
    print(f"{'picture':<11}{'size':<7}{'low high':<9}{'copy us':>9}{'view us':>9}{'opencv us':>11}"
          f"{'/ copy':>8}{'opencv /':>10}")
    for name, source in pictures():
        for size, shape in SIZES.items():
            picture = scaled(source, *shape)
            with tempfile.NamedTemporaryFile(suffix=".pgm") as file:
                cv2.imwrite(file.name, picture)
                for low, high in THRESHOLDS:
                    rounds = []
                    for _ in range(ROUNDS):
                        copy, view, edges = edged_us(file.name, low, high)
                        theirs, expected = opencv_us(picture, low, high)
                        assert edges == expected
                        rounds.append((copy, view, theirs))
                    copy, view, theirs = map(statistics.median, zip(*rounds))
                    print(f"{name:<11}{size:<7}{f'{low} {high}':<9}{copy:>9.1f}{view:>9.1f}"
                          f"{theirs:>11.1f}{view / copy:>8.1f}{theirs / view:>10.1f}", flush=True)


if __name__ == "__main__":
    main()
