"""Motion equals OpenCV's absdiff, threshold and erode, and numpy's tint or red, bit for bit."""

import cv2
import numpy as np
import pytest

import oracle
from ffmpeg import complaints
from random_cases import random_cases


def pair(names):
    """Two real pictures of one size."""
    first, second = map(oracle.picture, names)
    height, width = np.minimum(first.shape, second.shape)[:2]
    return first[:height, :width], second[:height, :width]


def compute(process, tmp_path, previous, image, threshold, erode, *words):
    suffix = "pgm" if image.ndim == 2 else "ppm"
    before, source = tmp_path / f"before.{suffix}", tmp_path / f"in.{suffix}"
    assert cv2.imwrite(str(before), previous) and cv2.imwrite(str(source), image)
    result = process("--view", "motion", "--set", f"threshold={threshold}",
                     "--set", f"erode={erode}", *words, "--previous", before, source, tmp_path / "out.ppm")
    assert result.returncode == 0, result.stderr
    return cv2.imread(str(tmp_path / "out.ppm"), cv2.IMREAD_UNCHANGED)


def assert_equal(got, expected):
    assert got.shape == expected.shape
    wrong = np.argwhere(got != expected)
    assert len(wrong) == 0, f"{len(wrong)} values differ, the first at {wrong[0]}"


@pytest.mark.parametrize("names", oracle.PAIRS, ids="-".join)
@pytest.mark.parametrize("threshold, erode", [(25, 1), (1, 0), (25, 0), (10, 2), (60, 8), (255, 1),
                                              ("otsu", 1), ("otsu", 0)])
def test_motion_between_real_pictures_is_opencvs(process, tmp_path, names, threshold, erode):
    previous, image = pair(names)
    expected = oracle.motion(previous, image, threshold, erode)
    assert_equal(compute(process, tmp_path, previous, image, threshold, erode), expected)
    if threshold != 255 and erode <= 1:
        assert (expected != image).any()


def test_what_moves_on_white_shows_unless_it_is_marked_by_red_alone(process, tmp_path):
    previous, white = (np.full((9, 9, 3), level, np.uint8) for level in (0, 255))
    assert_equal(compute(process, tmp_path, previous, white, 25, 1),
                 np.full((9, 9, 3), (127, 127, 255), np.uint8))
    assert_equal(compute(process, tmp_path, previous, white, 25, 1, "--set", "mark=red"), white)


def test_motion_through_the_whole_street_is_opencvs(process, tmp_path):
    frames = list(oracle.street())
    assert len(frames) > 100
    moved = 0
    for previous, image in zip(frames, frames[1:]):
        expected = oracle.motion(previous, image, 25, 1)
        assert_equal(compute(process, tmp_path, previous, image, 25, 1), expected)
        moved += (expected != image).any()
    assert moved > 50


def test_gray_pictures_turn_red_where_they_move(process, tmp_path):
    previous, image = map(oracle.gray, pair(oracle.PAIRS[0]))
    assert_equal(compute(process, tmp_path, previous, image, 25, 1),
                 oracle.motion(previous, image, 25, 1))


def test_random_pictures_equal_opencv(process, tmp_path):
    for _, chance in random_cases(200):
        height, width = chance.integers(1, 200, 2)
        shape = (height, width, 3) if chance.integers(2) else (height, width)
        spread = chance.integers(1, 257)
        previous, image = chance.integers(0, spread, (2, *shape)).astype(np.uint8)
        image[: height // 2] = 255 - previous[: height // 2]  # moves as a whole
        threshold, erode = int(chance.integers(1, 256)), int(chance.integers(0, 9))
        threshold = threshold if chance.integers(4) else "otsu"
        mark = str(chance.choice(["tint", "red"]))
        assert_equal(compute(process, tmp_path, previous, image, threshold, erode,
                             "--set", f"mark={mark}"),
                     oracle.motion(previous, image, threshold, erode, mark=mark))


def test_each_frame_of_a_clip_is_compared_with_the_one_before(process, tmp_path):
    source, target = oracle.DATA / "street.mp4", tmp_path / "out.mp4"
    result = process("--view", "motion", "--set", "bitrate_kbps=20000", source, target)
    assert result.returncode == 0, result.stderr
    before, after = cv2.VideoCapture(str(source)), cv2.VideoCapture(str(target))
    previous, marked = None, 0
    for count in range(80):
        _, image = before.read()
        _, got = after.read()
        expected = oracle.motion(image if previous is None else previous, image, 25, 1)
        if count % 20 == 0:
            assert cv2.PSNR(got, expected) > 25, f"frame {count}"
        # Red that is nowhere in the picture is there, and far from it there is none.
        mask = (expected != image).any(axis=2)
        inside = cv2.erode(mask.astype(np.uint8), np.ones((5, 5)))
        if inside.sum() > 20:
            excess = got[:, :, 2].astype(int) - image[:, :, 2]
            assert excess[inside > 0].mean() > 40 > excess[~mask].mean(), f"frame {count}"
            marked += 1
        previous = image
    assert marked > 10


WRONG = [
    (["in.ppm", "out.ppm"], "name the one before with --previous"),
    (["--previous", "in.mp4", "in.ppm", "out.ppm"], "allowed is a picture in a file"),
    (["--previous", "none.ppm", "in.ppm", "out.ppm"], "No such file"),
    (["--previous", "small.ppm", "in.ppm", "out.ppm"], "both must be alike"),
    (["--previous", "in.pgm", "in.ppm", "out.ppm"], "both must be alike"),
    (["--previous", "in.ppm", "in.mp4", "out.mp4"], "each frame of a clip has one before it"),
    (["--previous", "in.pgm", "in.pgm", "out.pgm"], "does not fit a .pgm"),
]


@pytest.mark.parametrize("words, message", WRONG)
def test_wrong_pictures_before_are_named(process, tmp_path, words, message):
    image = oracle.picture("coffee.png")
    assert cv2.imwrite(str(tmp_path / "in.ppm"), image)
    assert cv2.imwrite(str(tmp_path / "in.pgm"), oracle.gray(image))
    assert cv2.imwrite(str(tmp_path / "small.ppm"), image[1:])
    (tmp_path / "in.mp4").write_bytes((oracle.DATA / "street.mp4").read_bytes())
    result = process("--view", "motion", *(tmp_path / word if "." in word else word
                                           for word in words))
    assert result.returncode == 1
    assert message in result.stderr and len(complaints(result.stderr)) == 1
    assert not list(tmp_path.glob("out*"))
