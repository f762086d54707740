"""What viewers read in a view's label."""

import calendar
import time

import numpy as np
import pytest

import daemon
import pattern
from test_frames import PSNR_MIN_DB
from test_nvmm import jetson, wait_path  # noqa: F401

SIZE = (640, 360)
SMALL = {"width": SIZE[0], "height": SIZE[1]}
DOT = 2  # pixels, of size 3 in pictures so high
ROWS = 12  # of dots in a line: 3 for the accents of capitals, 7, 2 below the line
# Drawn by hand: a character is 5 dots wide, and a dot apart from the next.
TEXT = "Süd, Ég!"
DRAWN = """
.................................#.............
................................#..............
...............................................
.####..#.#......#.............#####.........#..
#...............#.............#.............#..
#.....#...#..##.#.............#......####...#..
.###..#...#.#..##.............####..#...#...#..
....#.#...#.#...#.............#.....#...#...#..
....#.#..##.#...#..##.........#.....#...#......
####...##.#..####..##.........#####..####...#..
....................#...................#......
...................#.................###.......
"""
DIGITS = {
    "0": ".###. #...# #..## #.#.# ##..# #...# .###.",
    "1": "..#.. .##.. ..#.. ..#.. ..#.. ..#.. .###.",
    "2": ".###. #...# ....# ..##. .#... #.... #####",
    "3": "##### ...#. ..#.. ...#. ....# #...# .###.",
    "4": "...#. ..##. .#.#. #..#. ##### ...#. ...#.",
    "5": "##### #.... ####. ....# ....# #...# .###.",
    "6": "..##. .#... #.... ####. #...# #...# .###.",
    "7": "##### ....# ...#. ..#.. .#... .#... .#...",
    "8": ".###. #...# #...# .###. #...# #...# .###.",
    "9": ".###. #...# #...# .#### ....# ...#. .##..",
    "-": "..... ..... ..... ##### ..... ..... .....",
    ":": "..... .##.. .##.. ..... .##.. .##.. .....",
    " ": "..... ..... ..... ..... ..... ..... .....",
}


def dots(drawing):
    return np.array([[dot == "#" for dot in row] for row in drawing.split()])


def box_size(characters, lines=1):
    """Pixels: two dots beside the text, and one row below it."""
    return (characters * 6 + 3) * DOT, (lines * ROWS + 1) * DOT


def read(picture, left, top, characters):
    """The dots of a line in a box."""
    rows = picture[top : top + ROWS * DOT, left + 2 * DOT :][:, : (characters * 6 - 1) * DOT]
    return rows.reshape(ROWS, DOT, -1, DOT).mean(axis=(1, 3)) > 128


def read_clock(picture, left, top):
    """The time that a line says, in seconds; None where that is no time."""
    found = read(picture, left, top, 19)[3:10]
    text = ""
    for i in range(19):
        one = found[:, 6 * i : 6 * i + 5]
        text += min(DIGITS, key=lambda digit: np.sum(dots(DIGITS[digit]) != one))
    try:
        return calendar.timegm(time.strptime(text, "%Y-%m-%d %H:%M:%S"))
    except ValueError:
        return None


def camera(label, *kinds, **settings):
    views = [{"name": kind, "view": kind, **({"label": label} if label else {})} for kind in kinds]
    return daemon.camera(views=views, **{**SMALL, **settings})


def assert_is_the_view_beside(view, number, picture, box):
    """`box`: left, top, width, height."""
    expected = pattern.expected_luma(view, number, *SIZE)
    left, top, width, height = box
    beside = np.ones(picture.shape, bool)
    beside[top : top + height, left : left + width] = False
    assert pattern.psnr_db(picture[beside], expected[beside]) >= PSNR_MIN_DB


@pytest.mark.parametrize("corner", ["bottom-left", "bottom-right"])
def test_viewers_read_the_text_in_its_corner(edged, watch, corner):
    label = {"text": TEXT, "size": 3, "corner": corner}
    server = edged([camera(label, "camera", "edges")])
    width, height = box_size(len(TEXT))
    left = 0 if corner == "bottom-left" else SIZE[0] - width
    for view in ("camera", "edges"):
        viewer = watch(server.url(f"/front/{view}"), view=view, size=SIZE, keep_every=5)
        viewer.wait_kept(3)
        viewer.stop()
        for number, picture in viewer.pictures().items():
            assert np.array_equal(read(picture, left, SIZE[1] - height, len(TEXT)), dots(DRAWN))
            assert_is_the_view_beside(view, number, picture, (left, SIZE[1] - height, width, height))
    assert server.camera()["copies_per_frame"] == 0


def test_the_clock_is_local_and_goes_on_each_second(edged, watch):
    label = {"clock": True, "camera": True, "size": 3, "corner": "bottom-left"}
    begin = time.time()
    server = edged([camera(label, "edges")], TZ="XYZ-5:30")
    width, height = box_size(len("2026-01-01 00:00:00  front"))
    viewer = watch(server.url("/front/edges"), size=SIZE, keep_every=1)
    viewer.wait_numbers(3 * pattern.FPS)
    viewer.stop()
    shown = {}
    for number, picture in viewer.pictures().items():
        seconds = read_clock(picture, 0, SIZE[1] - height)
        assert seconds is not None
        seconds -= 5.5 * 3600
        assert begin - 2 <= seconds <= time.time()
        shown.setdefault(seconds, number)
        # A picture's time is when it was captured, not when it was seen.
        first = min(shown)
        assert abs((seconds - first) - (number - shown[first]) / pattern.FPS) <= 1.1
        assert_is_the_view_beside("edges", number, picture, (0, SIZE[1] - height, width, height))
    assert len(shown) >= 3


def test_a_reload_writes_and_wipes_between_two_frames(edged, watch):
    def label(text, corner):
        return {"text": text, "corner": corner, "size": 3}

    def corners(picture):
        return [corner for corner, left in (("left", 0), ("right", SIZE[0] - width))
                if picture[SIZE[1] - height :, left : left + DOT].max() < 35]

    server = edged([camera(None, "camera")])
    viewer = watch(server.url("/front/camera"), view="camera", size=SIZE, keep_every=1)
    viewer.wait_numbers(1)
    pid = server.camera()["process"]["pid"]
    width, height = box_size(1)
    for now, where in ((label("I", "bottom-left"), ["left"]), (label("I", "bottom-right"), ["right"]), (None, [])):
        server.reload([camera(now, "camera")])
        daemon.wait_for(lambda: corners(viewer.newest()[1]) == where)
    server.assert_accounted(viewer)
    viewer.stop()
    assert server.camera()["process"]["pid"] == pid
    seen = []
    for number, picture in viewer.pictures().items():
        where = corners(picture)
        assert len(where) <= 1
        if not where:
            expected = pattern.expected_luma("camera", number, *SIZE)
            assert pattern.psnr_db(picture, expected) >= PSNR_MIN_DB
        if seen[-1:] != [where]:
            seen.append(where)
    assert seen == [[], ["left"], ["right"], []]


@pytest.mark.parametrize("memory", ["registered", "managed"])
def test_the_gpu_has_the_same_label(board, watch, memory):
    label = {"text": TEXT, "size": 3, "corner": "bottom-left"}
    server = board("orin-nano", [camera(label, "camera", "edges")], settings={"memory": memory})
    server.wait_camera("front", lambda c: "CUDA" in c["path"])
    width, height = box_size(len(TEXT))
    for view in ("camera", "edges"):
        viewer = watch(server.url(f"/front/{view}"), view=view, size=SIZE, keep_every=5)
        viewer.wait_kept(2)
        viewer.stop()
        for number, picture in viewer.pictures().items():
            assert np.array_equal(read(picture, 0, SIZE[1] - height, len(TEXT)), dots(DRAWN))
            assert_is_the_view_beside(view, number, picture, (0, SIZE[1] - height, width, height))


def test_a_label_is_in_the_surfaces_that_a_jetsons_encoder_reads(jetson, watch):  # noqa: F811
    label = {"text": TEXT, "size": 4, "corner": "bottom-left"}  # a dot is 2 pixels of 240 rows, too
    views = ({"name": "plain", "view": "camera", "label": label},
             {"name": "edges", "label": label})
    server = jetson(views=views, source="argus")
    wait_path(server, "-> nvmm -> nvv4l2h264enc, 0 copies a frame")
    _, height = box_size(len(TEXT))
    for view in ("plain", "edges"):
        viewer = watch(server.url(f"/front/{view}"), keep_every=1)
        for picture in viewer.camera_pictures(20)[-3:]:
            assert np.array_equal(read(picture, 0, 240 - height, len(TEXT)), dots(DRAWN))
