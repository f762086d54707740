"""Views that are limited to a part of the picture equal cv2.bitwise_and with the mask, bit for bit."""

import cv2
import numpy as np
import pytest

import oracle
from ffmpeg import complaints
from random_cases import random_cases
from test_canny import texture
from test_views import SIZES, assert_equal

# By view: its options, and what it makes of gray.
GRAY_VIEWS = {
    "gray": ({}, lambda gray: gray),
    "edges": ({"operator": "scharr", "gain": 0.3},
              lambda gray: oracle.edges(gray, gain=0.3, operator="scharr")),
    "binary": ({"threshold": "otsu", "morphology": "close", "times": 2},
               lambda gray: oracle.binary(oracle.edges(gray), "otsu", "close", 2)),
    "canny": ({"low": 50, "high": 150}, lambda gray: oracle.canny(gray, 50, 150)),
}
COLOUR = (255, 128, 16)


def window(height, width):
    """A mask picture of another size: a disc with a soft rim, and a hole in it."""
    y, x = np.mgrid[:height, :width]
    far = np.hypot((x + 0.5) / width - 0.5, (y + 0.5) / height - 0.45)
    return np.where(far < 0.1, 0, np.clip(255 * (1.2 - 2.4 * far), 0, 255)).astype(np.uint8)


def compute(process, tmp_path, view, image, mask, options, previous=None, kind="png"):
    suffix = "pgm" if image.ndim == 2 else "ppm"
    source, before, limit = (tmp_path / name for name in (f"in.{suffix}", f"before.{suffix}",
                                                          f"mask.{kind}"))
    out = tmp_path / ("out.ppm" if view in ("overlay", "motion") else "out.pgm")
    assert cv2.imwrite(str(source), image)
    words = ["--view", view]
    if isinstance(mask, list):
        words += ["--set", "polygon=" + ",".join(f"{x!r}:{y!r}" for x, y in mask)]
    else:
        assert cv2.imwrite(str(limit), mask)
        words += ["--set", f"mask={limit}"]
    for key, value in options.items():
        words += ["--set", f"{key}={value}"]
    if previous is not None:
        assert cv2.imwrite(str(before), previous)
        words += ["--previous", before]
    result = process(*words, source, out)
    assert result.returncode == 0, result.stderr
    return cv2.imread(str(out), cv2.IMREAD_UNCHANGED)


@pytest.fixture(scope="module", params=oracle.PICTURES)
def picture(request):
    return oracle.picture(request.param)


@pytest.mark.parametrize("view", GRAY_VIEWS)
@pytest.mark.parametrize("kind", ["png", "pgm"])
def test_a_view_of_a_real_picture_is_its_own_inside_the_mask(process, tmp_path, picture, view, kind):
    options, make = GRAY_VIEWS[view]
    mask = window(90, 133)
    limit = oracle.stretched(mask, picture.shape[1], picture.shape[0])
    got = compute(process, tmp_path, view, picture, mask, options, kind=kind)
    whole = make(oracle.gray(picture))
    assert_equal(got, oracle.limited(whole, limit))
    assert (got != whole).any() and got.any()


def test_an_overlay_is_drawn_inside_the_mask_alone(process, tmp_path, picture):
    mask = window(1000, 700)
    limit = oracle.stretched(mask, picture.shape[1], picture.shape[0])
    got = compute(process, tmp_path, "overlay", picture, mask,
                  {"threshold": 60, "colour": "#%02x%02x%02x" % COLOUR})
    assert_equal(got, oracle.overlay(picture, 60, COLOUR, limit))
    assert (got != oracle.overlay(picture, 60, COLOUR)).any()


def test_motion_is_marked_inside_the_mask_alone(process, tmp_path):
    previous, image = map(oracle.picture, oracle.PAIRS[1])
    height, width = image.shape[:2]
    mask = np.zeros((4, 4), np.uint8)
    mask[:, :2] = 255
    got = compute(process, tmp_path, "motion", image, mask, {"threshold": 10, "erode": 1}, previous)
    whole = oracle.motion(previous, image, 10, 1)
    expected = oracle.motion(previous, image, 10, 1, oracle.stretched(mask, width, height))
    assert_equal(got, expected)
    assert (expected != whole).any() and (expected != image).any()


@pytest.mark.parametrize("stages", [["blur5", "scharr", "mask", "threshold"], ["mask", "canny"],
                                    ["canny", "mask", "dilate"], ["mask"]], ids="-".join)
def test_a_mask_among_stages_is_applied_where_it_stands(process, tmp_path, picture, stages):
    mask = window(61, 97)
    limit = oracle.stretched(mask, picture.shape[1], picture.shape[0])
    steps = {"blur5": lambda gray: oracle.blurred(gray, 5),
             "scharr": lambda gray: oracle.edges(gray, operator="scharr"),
             "threshold": lambda gray: oracle.binary(gray, 80),
             "canny": lambda gray: oracle.canny(gray, 50, 150),
             "dilate": lambda gray: cv2.dilate(gray, np.ones((3, 3), np.uint8)),
             "mask": lambda gray: oracle.limited(gray, limit)}
    expected = oracle.gray(picture)
    for stage in stages:
        expected = steps[stage](expected)
    got = compute(process, tmp_path, "custom", picture, mask, {"stages": ",".join(stages)})
    assert_equal(got, expected)


def test_random_masks_and_polygons_equal_numpy(process, tmp_path):
    for count, chance in random_cases(200):
        width, height = SIZES[count % len(SIZES)] if count % 3 == 0 else chance.integers(1, 200, 2)
        image = np.resize(texture(chance, height, width), (height, width))
        view = str(chance.choice(list(GRAY_VIEWS)))
        if chance.integers(2):
            mask = [tuple(float(v) for v in corner)
                    for corner in chance.random((chance.integers(3, 9), 2)).round(4)]
            limit = oracle.enclosed(mask, width, height)
        else:
            mask = chance.integers(0, 256, chance.integers(1, 60, 2)).astype(np.uint8)
            limit = oracle.stretched(mask, width, height)
        options, make = GRAY_VIEWS[view]
        print(f"{width}x{height} {view} {mask if isinstance(mask, list) else mask.shape}")
        assert_equal(compute(process, tmp_path, view, image, mask, options),
                     oracle.limited(make(image), limit))


def test_a_clip_is_masked_frame_by_frame(process, tmp_path):
    mask = np.zeros((2, 2), np.uint8)
    mask[0, 0] = 255
    assert cv2.imwrite(str(tmp_path / "mask.png"), mask)
    result = process("--view", "edges", "--set", f"mask={tmp_path / 'mask.png'}",
                     oracle.DATA / "street.mp4", tmp_path / "out.mp4")
    assert result.returncode == 0, result.stderr
    clip, frames = cv2.VideoCapture(str(tmp_path / "out.mp4")), 0
    while True:
        more, image = clip.read()
        if not more:
            break
        height, width = image.shape[0] // 2, image.shape[1] // 2
        assert image[:height - 8, :width - 8].max() > 150
        assert image[height + 8:].max() < 24 and image[:, width + 8:].max() < 24  # coded
        frames += 1
    assert frames > 100


WRONG = [
    (["--set", "mask=none.png"], "mask: none.png: No such file or directory"),
    (["--set", "mask=text.png"], "mask: text.png: "),
    (["--set", "mask=short.pgm"], "mask: short.pgm: truncated, row 2 of 3 is missing"),
    (["--view", "camera", "--set", "mask=m.png"], 'mask: no effect with view = "camera", only with'),
    (["--view", "split", "--set", "mask=m.png"], 'mask: no effect with view = "split", only with'),
    (["--set", "mask=m.png", "--set", "view=camera"], "--set view=camera: --view camera says it"),
    (["--set", "stages=sobel,mask"], 'stages: got "mask", but the view has none, allowed: with mask'),
    (["--set", "stages=sobel", "--set", "mask=m.png"], 'mask: got a mask, but no "mask" among the'),
    (["--set", "polygon=0:0,1:0"], 'polygon: got "0:0,1:0", allowed: 3 to 64 corners X:Y'),
    (["--set", "polygon=0:0,1:0,1:1", "--set", "mask=m.png"], "mask: got a mask beside a polygon"),
]


@pytest.mark.parametrize("words, message", WRONG)
def test_wrong_masks_say_what_is_wrong(edgectl_process, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    assert cv2.imwrite("in.pgm", np.zeros((3, 3), np.uint8))
    assert cv2.imwrite("m.png", np.zeros((3, 3), np.uint8))
    (tmp_path / "text.png").write_text("no picture")
    (tmp_path / "short.pgm").write_bytes(b"P5 3 3 255\nabcd")
    result = edgectl_process(*words, "in.pgm", "out.pgm")
    assert result.returncode == 2
    assert message in result.stderr and len(complaints(result.stderr)) == 1
    assert not list(tmp_path.glob("out*"))
