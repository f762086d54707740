"""Frames reach every viewer, in order, and look as OpenCV says. That none is lost while a machine has
time for all of them is shown by tests/soak."""

import pytest

import daemon
import pattern
from sanitized import once

SIZE = (640, 360)
CAMERA = {"width": SIZE[0], "height": SIZE[1]}
PSNR_MIN_DB = 32
CHECK_EVERY = 5  # pictures compared with the oracle: one in so many


def likeness_db(viewer, view, size):
    """PSNR of the pictures kept against the oracle, by frame number."""
    pictures = viewer.pictures()
    assert all(picture.shape == (size[1], size[0]) for picture in pictures.values())
    return {
        number: pattern.psnr_db(picture, pattern.expected_luma(view, number, *size))
        for number, picture in pictures.items()
    }


def assert_pictures_match(viewer, view, size=SIZE, least=3):
    """What is kept, so many pictures at least, looks as OpenCV says."""
    viewer.wait_kept(least)
    assert viewer.stop()
    found = likeness_db(viewer, view, size)
    assert len(found) >= least and min(found.values()) >= PSNR_MIN_DB, found


def test_four_viewers_share_one_encoder_and_see_opencv_edges(edged, watch):
    # Few bytes a frame: a client that a busy machine keeps from its socket loses no datagram. And
    # ffmpeg, which would take another rate at its start for the stream's, sees one rate.
    views = [{"name": "edges", "view": "edges", "bitrate_kbps": 1500}]
    server = edged([daemon.camera(views=views, **CAMERA)])
    viewers = {
        (program, transport): watch(
            server.url("/front/edges"), program=program, transport=transport, size=SIZE,
            keep_every=CHECK_EVERY,
        )
        for program in ("gstreamer", "ffmpeg") for transport in ("udp", "tcp")
    }
    for viewer in viewers.values():
        viewer.wait_numbers(2 * pattern.FPS)
    mount = server.wait_mount("/front/edges", lambda m: m["encoded"] >= 2 * pattern.FPS)
    status = server.status()
    assert mount["viewers"] == status["viewers"] == 4 and len(status["mounts"]) == 1
    # Four encoders would have made four times as many.
    assert mount["encoded"] <= server.camera()["frames"] + pattern.FPS
    assert server.camera()["copies_per_frame"] == 0
    assert server.camera()["path"].endswith(", 0 copies a frame"), server.camera()["path"]
    for (_, transport), viewer in viewers.items():
        assert viewer.stop()
        found = likeness_db(viewer, "edges", SIZE).values()
        assert sum(psnr >= PSNR_MIN_DB for psnr in found) >= 5, found
        if transport == "tcp":  # a client that is not run for long loses datagrams
            assert viewer.messages == []
            server.assert_accounted(viewer)


def test_all_views_of_a_camera_at_once_look_like_their_definitions(edged, watch):
    kinds = ["camera", "gray", "edges", "binary", "canny"]
    keys = {"canny": pattern.CANNY}
    views = [{"name": kind, "view": kind, **keys.get(kind, {})} for kind in kinds]
    server = edged([daemon.camera(views=views, **CAMERA)])
    viewers = {
        kind: watch(server.url(f"/front/{kind}"), view=kind, size=SIZE, keep_every=CHECK_EVERY)
        for kind in kinds
    }
    for kind, viewer in viewers.items():
        assert_pictures_match(viewer, kind, least=8)
        server.assert_accounted(viewer)


@pytest.mark.parametrize("size", once((322, 242), (640, 480), (1920, 1080)))
def test_other_sizes_stream_opencv_edges(edged, watch, size):
    server = edged([daemon.camera(width=size[0], height=size[1])])
    viewer = watch(server.url("/front/edges"), size=size, keep_every=CHECK_EVERY)
    assert_pictures_match(viewer, "edges", size)


def test_two_cameras_stream_side_by_side(edged, watch):
    server = edged([
        daemon.camera("left", width=640, height=360), daemon.camera("right", width=320, height=240)
    ])
    left = watch(server.url("/left/edges"), keep_every=CHECK_EVERY)
    right = watch(server.url("/right/edges"), keep_every=CHECK_EVERY)
    for viewer, size in ((left, (640, 360)), (right, (320, 240))):
        assert_pictures_match(viewer, "edges", size, least=8)
        server.assert_accounted(viewer)
