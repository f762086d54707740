"""Views that are limited to a part of the picture: black outside, live changes, broken masks."""

import cv2
import numpy as np

import daemon
import pattern
from test_frames import PSNR_MIN_DB
from test_live_config import patch, view

SIZE = (640, 360)
SMALL = {"width": SIZE[0], "height": SIZE[1]}
CODED = 24  # what black may become on its way


def draw_mask(path, columns):
    """White, but for these eighths of its columns below the row that holds the frame's number."""
    mask = np.full((45, 80), 255, np.uint8)
    mask[5:, columns[0] * 10 : columns[1] * 10] = 0
    assert cv2.imwrite(str(path), mask)
    return cv2.resize(mask, SIZE, interpolation=cv2.INTER_NEAREST)  # whole pixels: 8 by 8


def masked_camera(mask, **view):
    return daemon.camera(views=[{"name": "edges", "view": "edges", "mask": mask, **view}], **SMALL)


def assert_masked(viewer, limit):
    viewer.wait_kept(3)
    viewer.stop()
    pictures = viewer.pictures()
    for number, picture in pictures.items():
        edges = pattern.sobel_magnitude(pattern.frame(number, *SIZE)[0])
        expected = pattern.limited_range(cv2.bitwise_and(edges, limit))
        assert pattern.psnr_db(picture, expected) >= PSNR_MIN_DB
        inside = cv2.erode(limit, np.ones((17, 17), np.uint8)) > 0
        outside = cv2.dilate(limit, np.ones((17, 17), np.uint8)) == 0
        assert picture[outside].max() <= CODED and picture[inside].max() > 200


def test_outside_the_mask_a_stream_is_black(edged, watch, tmp_path):
    limit = draw_mask(tmp_path / "mask.png", (4, 8))
    server = edged([masked_camera(tmp_path / "mask.png")])
    assert_masked(watch(server.url("/front/edges"), size=SIZE, keep_every=5), limit)


def test_another_mask_takes_effect_at_a_reload_and_viewers_stay(edged, watch, tmp_path):
    first, second = tmp_path / "a.png", tmp_path / "b.pgm"
    draw_mask(first, (4, 8))
    limit = draw_mask(second, (0, 4))
    server = edged([masked_camera(first)])
    viewer = watch(server.url("/front/edges"), size=SIZE)
    viewer.wait_numbers(pattern.FPS)
    pid = server.camera()["process"]["pid"]
    server.reload([masked_camera(second)])
    assert server.camera()["process"]["pid"] == pid
    assert_masked(watch(server.url("/front/edges"), size=SIZE, keep_every=5), limit)
    assert viewer.watching


def test_a_picture_that_changes_under_its_name_takes_effect_at_a_reload(edged, watch, tmp_path):
    mask = tmp_path / "mask.png"
    draw_mask(mask, (4, 8))
    server = edged([masked_camera(mask)])
    pid = server.camera()["process"]["pid"]
    limit = draw_mask(mask, (1, 3))
    server.reload()
    assert server.camera()["process"]["pid"] == pid
    assert_masked(watch(server.url("/front/edges"), size=SIZE, keep_every=5), limit)


def test_a_mask_that_is_missing_at_a_reload_changes_nothing(edged, watch, tmp_path):
    limit = draw_mask(tmp_path / "mask.png", (4, 8))
    server = edged([masked_camera(tmp_path / "mask.png")])
    pid = server.camera()["process"]["pid"]
    server.reload([masked_camera("none.png")])
    server.wait_stderr(r'error: cameras\[0\]\.views\[0\]\.mask: cannot read ".*/none\.png": No such '
                       r"file or directory; allowed: a \.pgm or \.png")
    assert server.camera()["process"]["pid"] == pid
    assert_masked(watch(server.url("/front/edges"), size=SIZE, keep_every=5), limit)


def test_a_view_that_a_change_builds_after_its_mask_has_gone_is_black_until_a_reload(edged, watch, tmp_path):
    """A change looks at no file: it is not refused for one that another key names, and shows nothing more."""
    limit = draw_mask(tmp_path / "mask.png", (4, 8))
    server = edged([masked_camera(tmp_path / "mask.png", gain=0.5)])
    viewer = watch(server.url("/front/edges"), size=SIZE)
    viewer.wait_numbers(pattern.FPS)
    (tmp_path / "mask.png").rename(tmp_path / "away")
    status, answer = patch(server, view(gain=1.0))
    assert (status, [change["key"] for change in answer["changed"]]) == (200, ["cameras.front.views.edges.gain"])
    server.wait_stderr('view "edges": cannot read its mask: .*/mask.png: No such file or directory')
    black = watch(server.url("/front/edges"), size=SIZE, keep_every=5)
    assert max(picture.max() for picture in black.camera_pictures(5)) <= CODED
    (tmp_path / "away").rename(tmp_path / "mask.png")
    server.reload([masked_camera(tmp_path / "mask.png", gain=1.0)])
    assert_masked(watch(server.url("/front/edges"), size=SIZE, keep_every=5), limit)
    assert viewer.watching


def test_a_mask_that_breaks_off_leaves_the_view_black_and_is_told_of_once(edged, watch, tmp_path):
    draw_mask(tmp_path / "whole.png", (4, 8))
    whole = (tmp_path / "whole.png").read_bytes()
    (tmp_path / "mask.png").write_bytes(whole[: len(whole) // 2])
    server = edged([masked_camera(tmp_path / "mask.png")])
    viewer = watch(server.url("/front/edges"), size=SIZE, keep_every=5)
    server.wait_camera("front", lambda c: c["state"] == "live" and c["frames"] > pattern.FPS)
    pictures = viewer.camera_pictures(pattern.FPS)
    assert max(picture.max() for picture in pictures) <= CODED
    assert server.stderr().count('view "edges": cannot read its mask: ') == 1
