"""The canny view equals cv2.Canny(..., apertureSize=3, L2gradient=True) bit for bit."""

import cv2
import numpy as np
import pytest

import oracle
from random_cases import random_cases
from test_views import SIZES, assert_equal, compute

# Pairs in order, equal, swapped, nothing and everything, and beyond what OpenCV limits.
THRESHOLDS = [(50, 150), (20.5, 60.25), (100, 100), (150, 50), (0, 0), (0, 300), (1, 1442),
              (0.99, 1.01), (1500, 3000), (0, 32767)]


def options(low, high):
    return ["--view", "canny", "--set", f"low={low!r}", "--set", f"high={high!r}"]


@pytest.mark.parametrize("low, high", THRESHOLDS)
@pytest.mark.parametrize("name", oracle.PICTURES)
def test_thin_edges_of_a_real_picture_are_opencvs(process, tmp_path, name, low, high):
    gray = oracle.gray(oracle.picture(name))
    expected = oracle.canny(gray, low, high)
    assert (low > 1000 or high > 1000) or expected.any()
    assert_equal(compute(process, tmp_path, gray, *options(low, high)), expected)


BY_MEDIAN = ["--view", "canny", "--set", "thresholds=median"]


@pytest.mark.parametrize("name", oracle.PICTURES)
def test_thresholds_by_the_median_are_those_of_auto_canny(process, tmp_path, name):
    bgr = oracle.picture(name)
    expected = oracle.canny_by_median(oracle.gray(bgr))
    assert expected.any()
    assert_equal(compute(process, tmp_path, bgr, *BY_MEDIAN), expected)
    assert_equal(compute(process, tmp_path, oracle.gray(bgr), *BY_MEDIAN), expected)


def test_a_colour_picture_is_turned_gray_first(process, tmp_path):
    bgr = oracle.picture("coffee.png")
    got = compute(process, tmp_path, bgr, *options(50, 150))
    assert_equal(got, oracle.canny(oracle.gray(bgr), 50, 150))


@pytest.mark.parametrize("blur", [3, 5])
def test_a_blur_before_it_is_opencvs(process, tmp_path, blur):
    bgr = oracle.picture("chelsea.png")
    expected = oracle.canny(oracle.blurred(oracle.gray(bgr), blur), 20, 60)
    got = compute(process, tmp_path, bgr, *options(20, 60), "--set", f"blur={blur}")
    assert_equal(got, expected)
    assert (expected != oracle.canny(oracle.gray(bgr), 20, 60)).any()


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
def test_noise_of_every_size_gives_the_same_edges(process, tmp_path, size):
    width, height = size
    chance = np.random.default_rng(width * 10007 + height)
    image = chance.integers(0, 256, (height, width)).astype(np.uint8)
    for low, high in [(50, 150), (300, 700), (0, 0)]:
        got = compute(process, tmp_path, image, *options(low, high))
        assert_equal(got, oracle.canny(image, low, high))


def texture(chance, height, width):
    """Noise, soft shapes, blocks with ties everywhere, or black and white."""
    kind = chance.integers(4)
    noise = chance.integers(0, chance.integers(2, 257), (height, width)).astype(np.uint8)
    if kind == 1:
        return cv2.GaussianBlur(noise, (0, 0), chance.uniform(0.5, 4))
    if kind == 2:
        tiles = chance.integers(0, 256, chance.integers(1, 30, 2)).astype(np.uint8)
        return cv2.resize(tiles, (width, height), interpolation=int(chance.integers(3)))
    if kind == 3:
        return ((chance.random((height, width)) < chance.random()) * 255).astype(np.uint8)
    return noise


def test_random_pictures_and_thresholds_equal_opencv(process, tmp_path):
    for _, chance in random_cases(200):
        height, width = map(int, chance.integers(1, chance.choice([8, 300]), 2))
        image = texture(chance, height, width)
        low, high = map(float, chance.uniform(0, chance.choice([10, 300, 1500]), 2))
        if chance.integers(2):
            low, high = round(low), round(high)
        blur = int(chance.choice([0, 0, 3, 5]))
        print(f"{width}x{height} low={low} high={high} blur={blur}")
        got = compute(process, tmp_path, image, *options(low, high), "--set", f"blur={blur}")
        assert_equal(got, oracle.canny(oracle.blurred(image, blur), low, high))
        got = compute(process, tmp_path, image, *BY_MEDIAN)
        assert_equal(got, oracle.canny_by_median(image))


def test_a_spiral_hangs_on_its_one_strong_end(process, tmp_path):
    """A faint line wound through the whole picture that is bright in its middle alone."""
    size, image = 300, np.zeros((300, 300), np.uint8)
    turns = np.linspace(2 * np.pi, 16 * np.pi, 4000)
    circle = np.array([np.cos(turns), np.sin(turns)])
    points = np.rint(size / 2 + turns * size / 36 / np.pi * circle).astype(int).T.tolist()
    points = [tuple(point) for point in points]  # OpenCV 4.2 takes no lists
    for i in range(len(points) - 1, 0, -1):
        cv2.line(image, points[i], points[i - 1], max(40, 255 - i), 4)
    image = cv2.GaussianBlur(image, (0, 0), 1.5)
    expected = oracle.canny(image, 20, 250)
    strong = oracle.canny(image, 250, 250)
    assert np.count_nonzero(expected) > 50 * np.count_nonzero(strong) > 0
    assert_equal(compute(process, tmp_path, image, *options(20, 250)), expected)
