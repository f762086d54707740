"""Flipped pictures equal numpy's, of every format and of sizes that hurt, odd ones of shared chroma
included."""

import subprocess

import cv2
import numpy as np
import pytest

import oracle
import programs

TURNS = {
    "horizontal": np.fliplr,
    "vertical": np.flipud,
    "rotate-90": lambda plane: np.rot90(plane, -1),
    "rotate-180": lambda plane: np.rot90(plane, 2),
    "rotate-270": np.rot90,
}
SIZES = [(1, 1), (2, 1), (1, 2), (3, 5), (16, 16), (17, 33), (64, 48), (101, 64), (130, 67)]


def mean(a, b):
    return ((a.astype(int) + b + 1) >> 1).astype(np.uint8)


def below(plane):
    """Every second row, and the row below each: of an odd number the last one is its own."""
    padded = np.concatenate([plane, plane[-1:]])
    return plane[::2], padded[1:1 + 2 * len(plane[::2]):2]


def squares(plane):
    """Means of two by two; a column or row that is missing counts as its neighbour."""
    wide = np.concatenate([plane, plane[:, -1:]], axis=1)
    top, under = below(wide[:, :plane.shape[1] // 2 * 2 + 2 * (plane.shape[1] % 2)].astype(int))
    total = top[:, ::2] + top[:, 1::2] + under[:, ::2] + under[:, 1::2]
    return ((total + 2) >> 2).astype(np.uint8)


def pairs(u, v):
    return np.stack([u, v], axis=2)


def make(fourcc, width, height, rng):
    """The bytes of a picture, and what becomes of it before it is turned: planes of NV12, of RGB or
    of gray."""
    across, down = (width + 1) // 2, (height + 1) // 2

    def noise(*shape):
        return rng.integers(0, 256, shape, dtype=np.uint8)

    if fourcc == "GREY":
        planes = [noise(height, width)]
        return planes, planes
    if fourcc in ("RGB3", "BGR3", "XR24"):
        pixels = noise(height, width, 4 if fourcc == "XR24" else 3)
        return [pixels], [pixels if fourcc == "RGB3" else pixels[:, :, 2::-1]]
    if fourcc in ("YUYV", "UYVY"):
        groups = noise(height, across, 4)
        first, chroma = (0, 1) if fourcc == "YUYV" else (1, 0)
        luma = groups[:, :, first::2].reshape(height, 2 * across)[:, :width]
        top, under = below(groups[:, :, chroma::2])
        return [groups], [luma, mean(top, under)]
    luma = noise(height, width)
    if fourcc in ("NV12", "NV21"):
        chroma = noise(down, across, 2)
        return [luma, chroma], [luma, chroma if fourcc == "NV12" else chroma[:, :, ::-1]]
    if fourcc == "YU12":
        u, v = noise(down, across), noise(down, across)
        return [luma, u, v], [luma, pairs(u, v)]
    if fourcc == "422P":
        u, v = noise(height, across), noise(height, across)
        return [luma, u, v], [luma, pairs(mean(*below(u)), mean(*below(v)))]
    u, v = noise(height, width), noise(height, width)
    return [luma, u, v], [luma, pairs(squares(u), squares(v))]


def flipped(planes, fourcc, width, height, flip, *threads):
    command = [programs.FLIP_RAW, fourcc, str(width), str(height), flip, *threads]
    return subprocess.run(command, input=b"".join(plane.tobytes() for plane in planes),
                          stdout=subprocess.PIPE, check=True, timeout=300).stdout


@pytest.mark.parametrize("flip", TURNS)
@pytest.mark.parametrize(
    "fourcc", ["YUYV", "UYVY", "NV12", "NV21", "YU12", "422P", "444P", "GREY", "RGB3", "BGR3", "XR24"])
def test_every_format_and_flip_is_numpys(fourcc, flip):
    rng = np.random.default_rng(7)
    for width, height in SIZES:
        planes, upright = make(fourcc, width, height, rng)
        expected = b"".join(TURNS[flip](plane).tobytes() for plane in upright)
        assert flipped(planes, fourcc, width, height, flip) == expected, (width, height)


@pytest.mark.parametrize("flip", TURNS)
def test_threads_share_the_rows(flip):
    planes, upright = make("YUYV", 322, 481, np.random.default_rng(8))
    expected = b"".join(TURNS[flip](plane).tobytes() for plane in upright)
    for threads in ("2", "5"):
        assert flipped(planes, "YUYV", 322, 481, flip, threads) == expected


@pytest.mark.parametrize("flip", TURNS)
@pytest.mark.parametrize("view", ["gray", "edges"])
def test_a_view_sees_the_flipped_picture(process, tmp_path, view, flip):
    image = oracle.picture(oracle.PICTURES[0])
    assert cv2.imwrite(str(tmp_path / "in.ppm"), image)
    result = process("--view", view, "--flip", flip, tmp_path / "in.ppm", tmp_path / "out.pgm")
    assert result.returncode == 0, result.stderr
    gray = oracle.gray(np.ascontiguousarray(TURNS[flip](image)))
    expected = gray if view == "gray" else oracle.edges(gray)
    assert np.array_equal(cv2.imread(str(tmp_path / "out.pgm"), cv2.IMREAD_UNCHANGED), expected)


def test_a_mask_is_that_of_the_flipped_picture(process, tmp_path):
    image = np.full((40, 60), 200, np.uint8)
    assert cv2.imwrite(str(tmp_path / "in.pgm"), image)
    result = process("--view", "gray", "--flip", "rotate-90", "--set", "polygon=0:0,1:0,1:0.5,0:0.5",
                     tmp_path / "in.pgm", tmp_path / "out.pgm")
    assert result.returncode == 0, result.stderr
    got = cv2.imread(str(tmp_path / "out.pgm"), cv2.IMREAD_UNCHANGED)
    assert got.shape == (60, 40)
    assert got[:29].min() == 200 and got[31:].max() == 0


def test_an_unknown_flip_is_refused(process, tmp_path):
    assert cv2.imwrite(str(tmp_path / "in.pgm"), np.zeros((4, 4), np.uint8))
    result = process("--flip", "sideways", tmp_path / "in.pgm", tmp_path / "out.pgm")
    assert result.returncode == 2
    assert "none, rotate-90, rotate-180, rotate-270, horizontal, vertical" in result.stderr
