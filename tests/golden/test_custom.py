"""Views of one's own stages equal OpenCV's, stage after stage, bit for bit."""

import cv2
import numpy as np
import pytest

import oracle
from ffmpeg import complaints
from random_cases import random_cases
from test_canny import texture
from test_views import SIZES, assert_equal

GRAY = ["blur3", "blur5", *oracle.OPERATORS]
MASK = ["threshold", "canny", "difference"]
SHAPES = list(oracle.MORPHOLOGY)


def expected_of(stages, previous, image, options):
    """Both BGR or both gray. A difference compares with what the stages made of `previous`."""
    gray, before = (oracle.gray(picture) if picture.ndim == 3 else picture
                    for picture in (image, previous))
    for stage in stages:
        if stage == "mark":
            return oracle.marked(image, gray, options["mark"])
        if stage == "difference":
            gray, before = difference(before, gray, options["threshold"]), np.zeros_like(gray)
        else:
            gray, before = (step(stage, picture, options) for picture in (gray, before))
    return gray


def difference(before, gray, threshold):
    apart = cv2.absdiff(gray, before)
    if threshold == "otsu":
        return oracle.binary(apart, "otsu")
    return cv2.threshold(apart, threshold, 255, cv2.THRESH_BINARY)[1]


def step(stage, gray, options):
    if stage.startswith("blur"):
        return oracle.blurred(gray, int(stage[4:]))
    if stage in oracle.OPERATORS:
        return oracle.edges(gray, options["norm"], options["gain"], stage)
    if stage == "threshold":
        return oracle.binary(gray, options["threshold"])
    if stage == "canny":
        return oracle.canny(gray, options["low"], options["high"])
    if stage in SHAPES:
        return cv2.morphologyEx(gray, oracle.MORPHOLOGY[stage], np.ones((3, 3), np.uint8),
                                iterations=options["times"])
    assert stage == "gray"
    return gray


OPTIONS = {"norm": "l2", "gain": 1.0, "threshold": 80, "low": 50, "high": 150, "times": 1,
           "mark": "tint"}


def compute(process, tmp_path, stages, previous, image, options):
    kind = "pgm" if image.ndim == 2 else "ppm"
    assert cv2.imwrite(str(tmp_path / f"before.{kind}"), previous)
    assert cv2.imwrite(str(tmp_path / f"in.{kind}"), image)
    words = ["--set", f"stages={','.join(stages)}"]
    for key, value in options.items():
        words += ["--set", f"{key}={value!r}"]
    words = [word.replace("'", "") for word in words]
    if "difference" in stages:
        words += ["--previous", tmp_path / f"before.{kind}"]
    out = tmp_path / ("out.ppm" if "mark" in stages else "out.pgm")
    result = process(*words, tmp_path / f"in.{kind}", out)
    assert result.returncode == 0, result.stderr
    return cv2.imread(str(out), cv2.IMREAD_UNCHANGED)


@pytest.mark.parametrize("stages", [
    ["blur5", "scharr", "threshold"], ["canny", "dilate"], ["blur3", "canny", "close", "mark"],
    ["sobel", "blur5", "sobel5"], ["gray"], ["gray", "erode", "prewitt"], ["canny", "canny"],
    ["blur5", "difference", "open", "mark"], ["scharr", "difference"], ["threshold", "blur3"],
    ["difference", "mark"], ["open"] * 12, ["threshold", "open", "canny", "threshold", "mark"],
], ids="-".join)
@pytest.mark.parametrize("threshold", [80, "otsu"])
def test_stages_of_a_real_picture_are_opencvs(process, tmp_path, stages, threshold):
    previous, image = map(oracle.picture, oracle.PAIRS[1])
    options = dict(OPTIONS, threshold=threshold)
    assert_equal(compute(process, tmp_path, stages, previous, image, options),
                 expected_of(stages, previous, image, options))


def random_stages(chance):
    stages, mask = [], False
    for _ in range(chance.integers(1, 12)):
        stage = str(chance.choice(GRAY + MASK + SHAPES))
        if stage == "difference" and stage in stages:
            continue
        mask = stage in MASK or (mask and stage in SHAPES)
        stages.append(stage)
    if not stages or (mask and chance.integers(3) == 0):
        stages.append("mark" if mask else "gray")
    return stages


def test_random_stages_equal_opencv(process, tmp_path):
    for count, chance in random_cases(150):
        width, height = SIZES[count % len(SIZES)] if count % 3 == 0 else chance.integers(1, 150, 2)
        shape = (height, width, 3) if chance.integers(2) else (height, width)
        image = np.resize(texture(chance, height, width * 3 if len(shape) == 3 else width), shape)
        previous = np.where(chance.random(shape) < 0.8, image,
                            chance.integers(0, 256, shape).astype(np.uint8))
        options = {"norm": str(chance.choice(["l1", "l2"])),
                   "mark": str(chance.choice(["tint", "red"])),
                   "gain": float(chance.choice([1.0, 0.25, 1.7])),
                   "threshold": int(chance.integers(1, 256)) if chance.integers(3) else "otsu",
                   "low": int(chance.integers(0, 300)), "high": int(chance.integers(0, 600)),
                   "times": int(chance.integers(1, 9))}
        stages = random_stages(chance)
        print(f"{width}x{height} {stages} {options}")
        assert_equal(compute(process, tmp_path, stages, previous, image, options),
                     expected_of(stages, previous, image, options))


WRONG = [
    (["--view", "custom"], "--view custom: name its stages"),
    (["--set", "stages="], 'stages: got [], allowed: an array'),
    (["--set", "stages=blur4"], 'did you mean "blur3"?'),
    (["--set", "stages=blur5,cany,mark"], '"direction"; did you mean "canny"?\n'),
    (["--set", "stages=sobel,mark"], 'got "mark" after "sobel", which makes gray, allowed there: '),
    (["--view", "edges", "--set", "stages=sobel"], 'no effect with view = "edges", only with "cus'),
    (["--set", "stages=sobel", "--set", "erode=1"], 'no effect with view = "custom", only with "mo'),
    (["--set", "stages=sobel", "--previous", "in.pgm"], "the custom view looks at one picture only"),
]


@pytest.mark.parametrize("words, message", WRONG)
def test_wrong_stages_say_what_is_allowed(process, tmp_path, words, message):
    assert cv2.imwrite(str(tmp_path / "in.pgm"), np.zeros((3, 3), np.uint8))
    result = process(*words, tmp_path / "in.pgm", tmp_path / "out.pgm")
    assert result.returncode == 2
    assert message in result.stderr and len(complaints(result.stderr)) == 1
    assert not list(tmp_path.glob("out*"))


def test_a_difference_needs_a_picture_before(process, tmp_path):
    assert cv2.imwrite(str(tmp_path / "in.pgm"), np.zeros((3, 3), np.uint8))
    result = process("--set", "stages=difference", tmp_path / "in.pgm", tmp_path / "out.pgm")
    assert result.returncode == 1
    assert "the custom view compares two pictures, name the one before" in result.stderr
