"""What edged computes in OpenCV on one thread, beside a copy of the frame in the same run: the exact
gradient magnitude (bench_edges shows edged's `edges` view), and single stages (bench_stages)."""

import statistics
import time

import cv2
import numpy as np

RUNS = 101
SIZES = {"720p": (720, 1280), "1080p": (1080, 1920), "4K": (2160, 3840)}


def exact_magnitude(gray, target):
    gx, gy = cv2.spatialGradient(gray, borderType=cv2.BORDER_REPLICATE)
    magnitude = cv2.magnitude(gx.astype(np.float32), gy.astype(np.float32))
    cv2.convertScaleAbs(magnitude, dst=target)


def blur(gray, target, side):
    cv2.GaussianBlur(gray, (side, side), 0, dst=target, borderType=cv2.BORDER_REPLICATE)


SQUARE = np.ones((3, 3), np.uint8)
STAGES = {
    "blur 3": lambda gray, target: blur(gray, target, 3),
    "blur 5": lambda gray, target: blur(gray, target, 5),
    "erode 1": lambda gray, target: cv2.erode(gray, SQUARE, dst=target),
    "erode 4": lambda gray, target: cv2.erode(gray, SQUARE, dst=target, iterations=4),
    "dilate 1": lambda gray, target: cv2.dilate(gray, SQUARE, dst=target),
}


def median_us(function):
    times_ns = []
    for _ in range(RUNS):
        begin_ns = time.perf_counter_ns()
        function()
        times_ns.append(time.perf_counter_ns() - begin_ns)
    return statistics.median(times_ns) / 1000


def show(name, gray, function):
    target = np.empty_like(gray)
    copy_us = median_us(lambda: np.copyto(target, gray))
    opencv_us = median_us(lambda: function(gray, target))
    print(f"{name:<12}{copy_us:>10.1f}{opencv_us:>12.1f}{opencv_us / copy_us:>8.1f}")


def main():
    cv2.setNumThreads(1)
    pictures = {name: np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)
                for name, shape in SIZES.items()}
    print(f"OpenCV {cv2.__version__}, exact L2 magnitude, medians of {RUNS} runs")
    print(f"{'size':<12}{'copy us':>10}{'opencv us':>12}{'ratio':>8}")
    for name, gray in pictures.items():
        show(name, gray, exact_magnitude)
    print(f"OpenCV {cv2.__version__}, stages over 1080p, medians of {RUNS} runs")
    print(f"{'stage':<12}{'copy us':>10}{'opencv us':>12}{'ratio':>8}")
    for name, stage in STAGES.items():
        show(name, pictures["1080p"], stage)


if __name__ == "__main__":
    main()
