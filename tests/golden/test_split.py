"""A split is two views of the picture, whole, side by side."""

import cv2
import numpy as np

import oracle
from random_cases import random_cases
from test_motion import assert_equal

VIEWS = {
    "camera": lambda image: image,
    "gray": oracle.gray,
    "edges": lambda image: oracle.edges(oracle.gray(image)),
    "binary": lambda image: oracle.binary(oracle.edges(oracle.gray(image)), 80),
    "canny": lambda image: oracle.canny(oracle.gray(image), 50, 150),
    "overlay": lambda image: oracle.overlay(image, 80, (0, 255, 0)),
    "direction": lambda image: oracle.direction(oracle.gray(image)),
}


def shown(name, image):
    picture = VIEWS[name](image)
    return cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR) if picture.ndim == 2 else picture


def assert_split(process, tmp_path, image, left, right):
    assert cv2.imwrite(str(tmp_path / "in.ppm"), image)
    result = process("--view", "split", "--set", f"left={left}", "--set", f"right={right}",
                     tmp_path / "in.ppm", tmp_path / "out.ppm")
    assert result.returncode == 0, result.stderr
    got = cv2.imread(str(tmp_path / "out.ppm"), cv2.IMREAD_UNCHANGED)
    assert_equal(got, np.hstack([shown(left, image), shown(right, image)]))


def test_every_view_stands_beside_every_other(process, tmp_path):
    image = oracle.picture("chelsea.png")
    for left in VIEWS:
        for right in VIEWS:
            assert_split(process, tmp_path, image, left, right)


def test_random_sizes_are_whole(process, tmp_path):
    for _, chance in random_cases(40):
        height, width = chance.integers(1, 100, 2)
        image = chance.integers(0, 256, (height, width, 3)).astype(np.uint8)
        left, right = chance.choice(list(VIEWS), 2)
        print(f"{width}x{height} {left} {right}")
        assert_split(process, tmp_path, image, left, right)


def test_a_side_has_the_keys_of_the_split(process, tmp_path):
    image = oracle.picture("coffee.png")
    assert cv2.imwrite(str(tmp_path / "in.ppm"), image)
    result = process("--view", "split", "--set", "operator=scharr", "--set", "gain=0.2",
                     tmp_path / "in.ppm", tmp_path / "out.ppm")
    assert result.returncode == 0, result.stderr
    right = oracle.edges(oracle.gray(image), "l2", 0.2, "scharr")
    assert_equal(cv2.imread(str(tmp_path / "out.ppm")),
                 np.hstack([image, cv2.cvtColor(right, cv2.COLOR_GRAY2BGR)]))


def test_a_clip_becomes_twice_as_wide(process, tmp_path):
    target = tmp_path / "out.mp4"
    result = process("--view", "split", "--set", "bitrate_kbps=20000",
                     oracle.DATA / "street.mp4", target)
    assert result.returncode == 0, result.stderr
    image = oracle.picture("street.mp4:0")
    _, got = cv2.VideoCapture(str(target)).read()
    assert got.shape == (image.shape[0], 2 * image.shape[1], 3)
    assert cv2.PSNR(got[:, :image.shape[1]], image) > 25
    assert cv2.PSNR(got[:, image.shape[1]:], shown("edges", image)) > 25


def test_a_side_that_is_no_view_is_named(process, tmp_path):
    result = process("--view", "split", "--set", "right=edgse", oracle.DATA / "chelsea.png",
                     tmp_path / "out.png")
    assert result.returncode == 1
    assert 'right: got "edgse", allowed: the name of another view' in result.stderr
    assert not (tmp_path / "out.png").exists()
