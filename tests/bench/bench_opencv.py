"""The exact gradient magnitude in OpenCV on one thread, beside a copy of the frame in the same run:
what bench_edges shows of edged's own `edges` view."""

import statistics
import time

import cv2
import numpy as np

RUNS = 101
SIZES = {"720p": (720, 1280), "1080p": (1080, 1920), "4K": (2160, 3840)}


def exact_magnitude(gray):
    gx, gy = cv2.spatialGradient(gray, borderType=cv2.BORDER_REPLICATE)
    magnitude = cv2.magnitude(gx.astype(np.float32), gy.astype(np.float32))
    return cv2.convertScaleAbs(magnitude)


def median_us(function):
    times_ns = []
    for _ in range(RUNS):
        begin_ns = time.perf_counter_ns()
        function()
        times_ns.append(time.perf_counter_ns() - begin_ns)
    return statistics.median(times_ns) / 1000


def main():
    cv2.setNumThreads(1)
    print(f"OpenCV {cv2.__version__}, exact L2 magnitude, medians of {RUNS} runs")
    print(f"{'size':<8}{'copy us':>10}{'opencv us':>12}{'ratio':>8}")
    for name, shape in SIZES.items():
        gray = np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
        target = np.empty_like(gray)
        copy_us = median_us(lambda: np.copyto(target, gray))
        opencv_us = median_us(lambda: exact_magnitude(gray))
        print(f"{name:<8}{copy_us:>10.1f}{opencv_us:>12.1f}{opencv_us / copy_us:>8.1f}")


if __name__ == "__main__":
    main()
