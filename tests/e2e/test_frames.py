"""Every frame reaches every viewer, in order, and looks as OpenCV says."""

import pytest

import daemon
import pattern
from windows import watch_all

SIZE = (640, 360) if daemon.sanitized() else (1280, 720)
CAMERA = {"width": SIZE[0], "height": SIZE[1]}
PSNR_MIN_DB = 32
CHECK_EVERY = 10  # pictures compared with the oracle: one in so many


def assert_pictures_match(viewer, view, size=SIZE, least=2, among=None):
    """The pictures kept, or those with a number `among` the frames, look as OpenCV says."""
    pictures = viewer.pictures()
    if among is not None:
        seen = {number for number, _ in among}
        pictures = {number: picture for number, picture in pictures.items() if number in seen}
    assert len(pictures) >= least
    for number, picture in pictures.items():
        assert picture.shape == (size[1], size[0])
        psnr = pattern.psnr_db(picture, pattern.expected_luma(view, number, *size))
        assert psnr >= PSNR_MIN_DB, f"frame {number}: {psnr:.1f} dB"


@pytest.mark.parametrize("transport", ["udp", "tcp"])
@pytest.mark.parametrize("program", ["gstreamer", "ffmpeg"])
def test_viewer_gets_every_frame_and_opencv_edges(edged, watch, seconds, program, transport):
    server = edged([daemon.camera(**CAMERA)])
    viewer = watch(
        server.url("/front/edges"), program=program, transport=transport, size=SIZE,
        keep_every=CHECK_EVERY,
    )
    count = int(seconds * pattern.FPS)
    frames, = watch_all(server, lambda: [viewer.next_frames(count, seconds + 20)])
    assert viewer.stop()
    assert_pictures_match(viewer, "edges", least=count // CHECK_EVERY, among=frames)
    assert viewer.messages == []


def test_four_viewers_share_one_encoder_and_get_every_frame(edged, watch, seconds):
    server = edged([daemon.camera(**CAMERA)])
    kinds = [(p, t) for p in ("gstreamer", "ffmpeg") for t in ("udp", "tcp")]
    viewers = [
        watch(server.url("/front/edges"), program=p, transport=t, size=SIZE) for p, t in kinds
    ]
    for viewer in viewers:
        # Who joins others may first decode what depends on the key frame before.
        viewer.skip_unreadable(most=pattern.FPS // 2)
    before = server.mount()
    count = int(seconds * pattern.FPS)
    watch_all(server, lambda: [viewer.next_frames(count, seconds + 20) for viewer in viewers])
    after = server.wait_mount("/front/edges", lambda m: m["encoded"] >= before["encoded"] + count)
    status = server.status()
    assert all(viewer.watching for viewer in viewers)
    assert after["viewers"] == status["viewers"] == 4
    assert len(status["mounts"]) == 1
    # Telemetry comes once a second. Four encoders would have made four times as many.
    longest = max(len(viewer.numbers()) for viewer in viewers)
    assert after["encoded"] <= longest + after["dropped"] + 3 * pattern.FPS


@pytest.mark.parametrize("view", ["camera", "gray", "binary", "canny"])
def test_other_views_look_like_their_definition(edged, watch, view):
    keys = pattern.CANNY if view == "canny" else {}
    server = edged([daemon.camera(views=[{"name": view, "view": view, **keys}], **CAMERA)])
    viewer = watch(server.url(f"/front/{view}"), view=view, keep_every=CHECK_EVERY)
    watch_all(server, lambda: [viewer.next_frames(2 * pattern.FPS)])
    viewer.stop()
    assert_pictures_match(viewer, view)


@pytest.mark.parametrize("size", [(640, 480), (322, 242), (1920, 1080)])
def test_other_sizes_stream_opencv_edges(edged, watch, size):
    server = edged([daemon.camera(width=size[0], height=size[1])])
    viewer = watch(server.url("/front/edges"), size=size, keep_every=CHECK_EVERY)
    viewer.wait_frames(2 * pattern.FPS)
    viewer.stop()
    assert_pictures_match(viewer, "edges", size)


def test_three_views_of_one_camera_stream_at_once(edged, watch):
    server = edged([daemon.camera(views=["camera", "gray", "edges"], width=640, height=360)])
    viewers = {
        view: watch(server.url(f"/front/{view}"), view=view, size=(640, 360), keep_every=5)
        for view in ("camera", "gray", "edges")
    }
    for view, viewer in viewers.items():
        watch_all(server, lambda one=viewer: [one.next_frames(pattern.FPS)])
        viewer.stop()
        assert_pictures_match(viewer, view, (640, 360))


def test_no_copy_on_the_way_from_pattern_to_encoder(edged, watch):
    server = edged([daemon.camera()])
    watch(server.url("/front/edges")).wait_frames(pattern.FPS)
    camera = server.wait_camera("front", lambda c: c["frames"] > pattern.FPS)
    assert camera["copies_per_frame"] == 0
    assert camera["path"].endswith(", 0 copies a frame"), camera["path"]


def test_two_cameras_stream_side_by_side(edged, watch):
    server = edged(
        [
            daemon.camera("left", width=640, height=360),
            daemon.camera("right", width=320, height=240),
        ]
    )
    left = watch(server.url("/left/edges"), keep_every=CHECK_EVERY)
    right = watch(server.url("/right/edges"), keep_every=CHECK_EVERY)
    for viewer, size in ((left, (640, 360)), (right, (320, 240))):
        watch_all(server, lambda one=viewer: [one.next_frames(2 * pattern.FPS)])
        viewer.stop()
        assert_pictures_match(viewer, "edges", size)
