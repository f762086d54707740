"""The direction view equals numpy's arctan2 in hue and value, bit for bit, and OpenCV's angles."""

import cv2
import numpy as np
import pytest

import oracle
from random_cases import random_cases
from test_motion import assert_equal


def compute(process, tmp_path, image, **options):
    source = tmp_path / ("in.pgm" if image.ndim == 2 else "in.ppm")
    assert cv2.imwrite(str(source), image)
    words = [word for key, value in options.items() for word in ("--set", f"{key}={value}")]
    result = process("--view", "direction", *words, source, tmp_path / "out.ppm")
    assert result.returncode == 0, result.stderr
    return cv2.imread(str(tmp_path / "out.ppm"), cv2.IMREAD_UNCHANGED)


@pytest.mark.parametrize("name", oracle.PICTURES)
@pytest.mark.parametrize("options", [{}, {"operator": "scharr", "gain": 0.1}, {"norm": "l1"},
                                     {"operator": "sobel5", "blur": 5, "gain": 0.05},
                                     {"operator": "prewitt", "blur": 3}],
                         ids=lambda options: "-".join(map(str, options.values())) or "default")
def test_directions_of_a_real_picture_are_numpys(process, tmp_path, name, options):
    image = oracle.picture(name)
    expected = oracle.direction(oracle.gray(image), **options)
    assert_equal(compute(process, tmp_path, image, **options), expected)


def test_hues_are_opencvs_angles_within_what_is_documented():
    reach = np.arange(-1020, 1021, dtype=np.float32)
    gx, gy = np.meshgrid(reach, reach)
    exact = cv2.phase(gx, gy, angleInDegrees=True).astype(np.float64)
    hue = oracle.hue(gx.astype(int), gy.astype(int)) * 360 / 1536
    away = np.abs((hue - exact + 180) % 360 - 180)
    away[1020, 1020] = 0  # no gradient, no angle
    assert away.max() < 0.58 + 0.03  # cv2.phase itself is up to 0.03 degrees off


def test_bright_pixels_have_the_hue_of_their_angle_in_opencvs_hsv(process, tmp_path):
    gray = oracle.gray(oracle.picture("coffee.png"))
    got = cv2.cvtColor(compute(process, tmp_path, gray), cv2.COLOR_BGR2HSV)
    gx, gy = oracle.derivative(gray, "sobel", 1, 0), oracle.derivative(gray, "sobel", 0, 1)
    exact = cv2.phase(gx.astype(np.float32), gy.astype(np.float32), angleInDegrees=True)
    bright = got[:, :, 2] > 100
    away = np.abs((got[:, :, 0] * 2.0 - exact + 180) % 360 - 180)
    assert bright.sum() > 10000
    assert away[bright].max() < 2.5 and (got[:, :, 1][bright] == 255).all()
    assert_equal(got[:, :, 2], oracle.edges(gray))


def test_random_pictures_and_settings_equal_numpy(process, tmp_path):
    for _, chance in random_cases(200):
        height, width = chance.integers(1, chance.choice([8, 200]), 2)
        image = chance.integers(0, chance.integers(2, 257), (height, width)).astype(np.uint8)
        options = {"operator": str(chance.choice(oracle.OPERATORS)),
                   "norm": str(chance.choice(["l1", "l2"])), "blur": int(chance.choice([0, 3, 5])),
                   "gain": float(chance.choice([1.0, round(chance.uniform(0.01, 2), 3)]))}
        print(f"{width}x{height} {options}")
        assert_equal(compute(process, tmp_path, image, **options),
                     oracle.direction(image, **options))
