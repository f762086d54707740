"""What is private is black in every format, whichever way the picture is flipped behind it: all that
a polygon touches, as OpenCV fills it at sixteen times the size, and nothing that is not next to it."""

import subprocess

import cv2
import numpy as np
import pytest

import mosaics
import programs
from test_flip import TURNS

FINE = 16
SIZES = [(1, 1), (33, 17), (64, 48), (130, 67), (16, 16), (2, 3)]
POLYGONS = [
    [(0.1, 0.2), (0.55, 0.2), (0.55, 0.8), (0.1, 0.8)],
    [(0.25, 0.25), (0.75, 0.25), (0.75, 0.75), (0.25, 0.75)],
    [(0.62, 0.07), (0.97, 0.91), (0.31, 0.63)],
    [(0.501, 0.003), (0.502, 0.003), (0.502, 0.997), (0.501, 0.997)],  # thinner than a pixel
    [(0.0, 0.0), (1.0, 1.0), (1.0, 0.99)],
    [(0.5, 0.02), (0.8, 0.95), (0.03, 0.37), (0.97, 0.37), (0.2, 0.95)],  # a star in one line
]
YUV = {"NV12", "NV21", "YU12", "422P", "444P", "YUYV", "UYVY"}
MOSAICS = {"RGGB": 1, "GB10": 2, "BG12": 2, "GR16": 2, "pRAA": 10, "pGCC": 12}
TURNS = {"none": lambda plane: plane, **TURNS}


def shapes(fourcc, width, height):
    """What rows and columns of bytes each plane has."""
    across, down = (width + 1) // 2, (height + 1) // 2
    if fourcc in MOSAICS:
        packed = {10: (width + 3) // 4 * 5, 12: across * 3}
        return [(height, packed.get(MOSAICS[fourcc], width * MOSAICS[fourcc]))]
    return {"NV12": [(height, width), (down, 2 * across)],
            "NV21": [(height, width), (down, 2 * across)],
            "YU12": [(height, width), (down, across), (down, across)],
            "422P": [(height, width), (height, across), (height, across)],
            "444P": [(height, width)] * 3,
            "GREY": [(height, width)],
            "RGB3": [(height, 3 * width)], "BGR3": [(height, 3 * width)],
            "XR24": [(height, 4 * width)],
            "YUYV": [(height, 4 * across)], "UYVY": [(height, 4 * across)]}[fourcc]


def wound_around(polygon, width, height):
    """The points of the fine canvas around which a polygon winds, as often as not: the edges to their
    right, downwards less upwards. OpenCV leaves out what is enclosed twice."""
    corners = np.array(polygon) * (width * FINE, height * FINE)
    rows, columns = np.arange(height * FINE) + 0.5, np.arange(width * FINE) + 0.5
    winding = np.zeros((len(rows), len(columns)), np.int8)
    for (ax, ay), (bx, by) in zip(corners, np.roll(corners, -1, axis=0)):
        crossed = (ay <= rows) != (by <= rows)
        at = ax + (bx - ax) * (rows[crossed] - ay) / (by - ay) if crossed.any() else rows[crossed]
        winding[crossed] += ((columns < at[:, None]) * (1 if by > ay else -1)).astype(np.int8)
    return winding != 0


def touched(polygon, width, height):
    """The pixels of which a polygon covers something, by OpenCV; a polygon thinner than its sixteenth
    of a pixel by its corners and sides."""
    canvas = np.zeros((height * FINE, width * FINE), np.uint8)
    points = np.round(np.array(polygon) * (width, height) * FINE * 256).astype(np.int32)
    # Pixel n of the canvas covers n to n + 1, OpenCV has its centre at n.
    cv2.fillPoly(canvas, [points - 128], 255, shift=8)
    canvas[wound_around(polygon, width, height)] = 255
    inner = cv2.erode(canvas, np.ones((3, 3), np.uint8), borderValue=255)
    inner = inner if inner.any() else canvas

    def by_pixel(fine):
        return fine.reshape(height, FINE, width, FINE).max(axis=(1, 3)) > 0

    return by_pixel(inner), by_pixel(cv2.dilate(canvas, np.ones((3, 3), np.uint8)))


def spread(mask, fourcc, plane):
    """The mask of a plane's bytes, of one of pixels."""
    height, width = mask.shape
    squares = np.zeros(((height + 1) // 2 * 2, (width + 1) // 2 * 2), bool)
    squares[:height, :width] = mask
    squares[:height, width:] = mask[:, -1:]  # what stands in a group beside the last column
    if fourcc == "pRAA":
        groups = np.zeros((height, (width + 3) // 4 * 4), bool)
        groups[:, :width] = mask
        return groups.reshape(height, -1, 4).any(axis=2).repeat(5, axis=1)
    if fourcc == "pGCC":
        return squares[:height].reshape(height, -1, 2).any(axis=2).repeat(3, axis=1)
    if fourcc in MOSAICS:
        return mask.repeat(MOSAICS[fourcc], axis=1)
    if fourcc in ("YUYV", "UYVY"):
        pair = squares[:height].reshape(height, -1, 2)
        luma = pair.repeat(2, axis=2).reshape(height, -1)
        chroma = pair.any(axis=2).repeat(4, axis=1)
        at = np.arange(luma.shape[1]) % 2 == (0 if fourcc == "YUYV" else 1)
        return np.where(at, luma, chroma)
    if plane == 0 or fourcc == "444P":
        return mask.repeat({"RGB3": 3, "BGR3": 3, "XR24": 4}.get(fourcc, 1), axis=1)
    across = squares.reshape(len(squares), -1, 2).any(axis=2)
    if fourcc == "422P":
        return across[:height]
    down = across.reshape(-1, 2, across.shape[1]).any(axis=1)
    return down.repeat(2, axis=1) if fourcc in ("NV12", "NV21") else down


def black(fourcc, plane, shape, full):
    luma = 0 if full else 16
    value = np.zeros(shape, np.uint8)
    if fourcc in YUV or fourcc == "GREY":
        value[:] = luma if plane == 0 else 128
    if fourcc in ("YUYV", "UYVY"):
        value[:, 1 if fourcc == "YUYV" else 0::2] = 128
    return value


def blackened(fourcc, width, height, flip, range_, planes, polygons):
    texts = [",".join(f"{x}:{y}" for x, y in polygon) for polygon in polygons]
    command = [programs.PRIVACY_RAW, fourcc, str(width), str(height), flip, range_, *texts]
    data = subprocess.run(command, input=b"".join(plane.tobytes() for plane in planes),
                          stdout=subprocess.PIPE, check=True, timeout=300).stdout
    result = []
    for plane in planes:
        result.append(np.frombuffer(data[:plane.size], np.uint8).reshape(plane.shape))
        data = data[plane.size:]
    assert not data
    return result


def unflipped(mask, flip):
    """A mask of the flipped picture in front of the flip: five of the six are undone by themselves or
    by each other."""
    back = {"rotate-90": "rotate-270", "rotate-270": "rotate-90"}.get(flip, flip)
    return TURNS[back](mask)


def check(fourcc, width, height, flip, range_, polygons):
    rng = np.random.default_rng(11)
    planes = [rng.integers(1, 255, shape, dtype=np.uint8) for shape in shapes(fourcc, width, height)]
    seen = (height, width) if flip in ("rotate-90", "rotate-270") else (width, height)
    must, may = np.zeros((height, width), bool), np.zeros((height, width), bool)
    for polygon in polygons:
        inner, outer = touched(polygon, *seen)
        must |= unflipped(inner, flip)
        may |= unflipped(outer, flip)
    # A square more, and two where the demosaic or the flip needs it; four samples share a byte.
    wider = fourcc in MOSAICS or (flip != "none" and (width % 2 or height % 2))
    far = (2 if wider else 1) + (2 if fourcc == "pRAA" else 0)
    may = cv2.dilate(may.astype(np.uint8), np.ones((2 * far + 1, 2 * far + 1), np.uint8)) > 0
    result = blackened(fourcc, width, height, flip, range_, planes, polygons)
    for i, (before, after) in enumerate(zip(planes, result)):
        expected = black(fourcc, i, before.shape, range_ == "full")
        inside, beside = spread(must, fourcc, i), spread(may, fourcc, i)
        where = (fourcc, width, height, flip, i)
        assert np.array_equal(after[inside], expected[inside]), where
        assert np.array_equal(after[~beside], before[~beside]), where
        changed = after != before
        assert np.array_equal(after[changed], expected[changed]), where


@pytest.mark.parametrize("flip", TURNS)
@pytest.mark.parametrize("fourcc", [*sorted(YUV), "GREY", "RGB3", "BGR3", "XR24", *MOSAICS])
def test_what_a_polygon_touches_is_black_and_little_else(fourcc, flip):
    for i, (width, height) in enumerate(SIZES):
        check(fourcc, width, height, flip, "limited", [POLYGONS[i % len(POLYGONS)]])
    check(fourcc, 130, 66, flip, "full", POLYGONS[:3])


def test_whole_squares_are_black_and_no_pixel_more():
    """A polygon whose corners are corners of squares covers these alone."""
    luma, chroma = np.full((40, 80), 99, np.uint8), np.full((20, 80), 77, np.uint8)
    for flip in TURNS:
        sides = (80, 40) if flip in ("none", "horizontal", "vertical", "rotate-180") else (40, 80)
        corners = [(0.1, 0.2), (0.3, 0.2), (0.3, 0.6), (0.1, 0.6)]
        expected = np.zeros(sides[::-1], bool)
        expected[round(0.2 * sides[1]):round(0.6 * sides[1]),
                 round(0.1 * sides[0]):round(0.3 * sides[0])] = True
        y, uv = blackened("NV12", 80, 40, flip, "limited", [luma, chroma], [corners])
        assert np.array_equal(y == 16, unflipped(expected, flip)), flip
        assert np.array_equal(uv == 128, spread(unflipped(expected, flip), "NV12", 1)), flip


@pytest.mark.parametrize(("order", "fourcc"), zip(mosaics.CODES, mosaics.FOURCCS[8, False]))
def test_a_mosaic_gives_what_a_polygon_touches_nothing_of_its_neighbours(order, fourcc):
    """The picture that OpenCV makes of the samples, each pixel by those around it, is black there."""
    samples = np.random.default_rng(7).integers(128, 255, (47, 64), dtype=np.uint8)
    for polygon in POLYGONS:
        after, = blackened(fourcc, 64, 47, "none", "full", [samples], [polygon])
        seen = cv2.cvtColor(after, mosaics.CODES[order])
        inner, _ = touched(polygon, 64, 47)
        assert inner.any() and not seen[inner].any(), polygon
        assert seen[~inner].any()


def test_what_a_polygon_encloses_twice_is_black():
    """In the middle of a star and where the lobes of a loop lie on each other."""
    luma, chroma = np.full((100, 100), 99, np.uint8), np.full((50, 100), 77, np.uint8)
    loop = [(0.1, 0.1), (0.7, 0.1), (0.7, 0.7), (0.3, 0.7), (0.3, 0.3), (0.9, 0.3), (0.9, 0.9), (0.1, 0.9)]
    for flip in TURNS:
        for polygon in (POLYGONS[-1], loop):
            y, _ = blackened("NV12", 100, 100, flip, "limited", [luma, chroma], [polygon])
            assert (y[40:60, 40:60] == 16).all(), (flip, polygon)


def test_random_polygons():
    rng = np.random.default_rng(5)
    for _ in range(60):
        polygon = rng.random((rng.integers(3, 9), 2)).round(3)
        fourcc = rng.choice(["NV12", "YUYV", "RGB3", "pRAA"])
        width, height = (int(side) for side in rng.integers(2, 90, 2))
        if cv2.contourArea(polygon.astype(np.float32)) > 0.01:
            check(fourcc, width, height, rng.choice(list(TURNS)), "limited", [polygon.tolist()])
