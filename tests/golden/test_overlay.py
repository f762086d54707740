"""The overlay is the picture, and the colour where the edges by OpenCV and numpy are strong."""

import cv2
import numpy as np
import pytest

import oracle
from random_cases import random_cases
from test_motion import assert_equal


def compute(process, tmp_path, image, threshold, colour, **options):
    source = tmp_path / ("in.pgm" if image.ndim == 2 else "in.ppm")
    assert cv2.imwrite(str(source), image)
    keys = {"threshold": threshold, "colour": "#%02x%02x%02x" % colour, **options}
    words = [word for key, value in keys.items() for word in ("--set", f"{key}={value}")]
    result = process("--view", "overlay", *words, source, tmp_path / "out.ppm")
    assert result.returncode == 0, result.stderr
    return cv2.imread(str(tmp_path / "out.ppm"), cv2.IMREAD_UNCHANGED)


@pytest.mark.parametrize("name", oracle.PICTURES)
@pytest.mark.parametrize("threshold", [1, 80, 255, "otsu"])
def test_strong_edges_of_a_real_picture_are_in_the_colour(process, tmp_path, name, threshold):
    image, colour = oracle.picture(name), (255, 136, 1)
    expected = oracle.overlay(image, threshold, colour)
    assert (expected != image).any() and (expected == image).any()
    assert_equal(compute(process, tmp_path, image, threshold, colour), expected)


@pytest.mark.parametrize("operator, blur", [("scharr", 5), ("sobel5", 0), ("prewitt", 3)])
def test_every_operator_is_drawn(process, tmp_path, operator, blur):
    image, options = oracle.picture("coffee.png"), {"operator": operator, "blur": blur, "gain": 0.3}
    expected = oracle.overlay(image, 60, (0, 255, 0), **options)
    assert_equal(compute(process, tmp_path, image, 60, (0, 255, 0), **options), expected)


def test_random_pictures_and_settings_equal_opencv(process, tmp_path):
    for _, chance in random_cases(200):
        height, width = chance.integers(1, chance.choice([8, 200]), 2)
        shape = (height, width, 3) if chance.integers(2) else (height, width)
        image = chance.integers(0, chance.integers(2, 257), shape).astype(np.uint8)
        threshold = int(chance.integers(1, 256)) if chance.integers(4) else "otsu"
        colour = tuple(map(int, chance.integers(0, 256, 3)))
        options = {"operator": str(chance.choice(oracle.OPERATORS)),
                   "norm": str(chance.choice(["l1", "l2"])), "blur": int(chance.choice([0, 3, 5])),
                   "gain": float(chance.choice([1.0, round(chance.uniform(0.01, 2), 3)]))}
        print(f"{width}x{height} threshold={threshold} colour={colour} {options}")
        got = compute(process, tmp_path, image, threshold, colour, **options)
        assert_equal(got, oracle.overlay(image, threshold, colour, **options))
