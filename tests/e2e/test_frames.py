"""Every frame reaches every viewer, in order, and looks as OpenCV says."""

import pytest

import daemon
import pattern

SIZE = (1280, 720)
PSNR_MIN_DB = 32
CHECK_EVERY = 10  # pictures compared with the oracle: one in so many


def drops(server):
    """What the daemon itself knows to have dropped, and where."""
    status = server.status()
    cameras = {camera["name"]: camera["dropped"] for camera in status["cameras"]}
    mounts = {mount["path"]: mount["dropped"] for mount in status["mounts"]}
    return f"dropped by cameras {cameras}, by views {mounts}"


def assert_consecutive(frames, server, joined=False):
    """Frame numbers without a hole from the first to the last; nothing unreadable.

    A viewer that joined others may first decode up to half a second of what depends on the key
    frame before.
    """
    numbers = [number for number, _ in frames]
    begin = next(i for i, number in enumerate(numbers) if number is not None)
    assert begin <= (pattern.FPS // 2 if joined else 0), numbers[:20]
    numbers = numbers[begin:]
    expected = list(range(numbers[0], numbers[0] + len(numbers)))
    wrong = [(i, n) for i, (n, e) in enumerate(zip(numbers, expected)) if n != e]
    assert not wrong, (
        f"of {len(numbers)} frames from {numbers[0]}: (place, number) {wrong[:5]}; {drops(server)}"
    )


def assert_pictures_match(viewer, view, size=SIZE, least=2):
    pictures = viewer.pictures()
    assert len(pictures) >= least
    for number, picture in pictures.items():
        assert picture.shape == (size[1], size[0])
        psnr = pattern.psnr_db(picture, pattern.expected_luma(view, number, *size))
        assert psnr >= PSNR_MIN_DB, f"frame {number}: {psnr:.1f} dB"


@pytest.mark.parametrize("transport", ["udp", "tcp"])
@pytest.mark.parametrize("program", ["gstreamer", "ffmpeg"])
def test_viewer_gets_every_frame_and_opencv_edges(edged, watch, seconds, program, transport):
    server = edged([daemon.camera()])
    viewer = watch(
        server.url("/front/edges"), program=program, transport=transport, keep_every=CHECK_EVERY
    )
    count = int(seconds * pattern.FPS)
    frames = viewer.wait_frames(count, seconds + 20)
    assert viewer.stop()
    assert_consecutive(frames, server)
    assert_pictures_match(viewer, "edges", least=count // CHECK_EVERY)
    assert viewer.messages == []


def test_four_viewers_share_one_encoder_and_get_every_frame(edged, watch, seconds):
    server = edged([daemon.camera()])
    kinds = [(p, t) for p in ("gstreamer", "ffmpeg") for t in ("udp", "tcp")]
    viewers = [watch(server.url("/front/edges"), program=p, transport=t) for p, t in kinds]
    for viewer in viewers:
        viewer.wait_numbers(1)
    before = server.mount()
    count = int(seconds * pattern.FPS)
    wanted = [len(viewer.numbers()) + count for viewer in viewers]
    every = [v.wait_frames(number, seconds + 20) for v, number in zip(viewers, wanted)]
    after = server.wait_mount("/front/edges", lambda m: m["encoded"] >= before["encoded"] + count)
    status = server.status()
    for viewer, frames in zip(viewers, every):
        assert viewer.watching
        assert_consecutive(frames, server, joined=True)
    assert after["viewers"] == status["viewers"] == 4
    assert len(status["mounts"]) == 1
    # Telemetry comes once a second. Four encoders would have made four times as many.
    assert after["encoded"] <= max(len(frames) for frames in every) + 3 * pattern.FPS
    assert after["dropped"] == 0


@pytest.mark.parametrize("view", ["camera", "gray", "binary", "canny"])
def test_other_views_look_like_their_definition(edged, watch, view):
    keys = pattern.CANNY if view == "canny" else {}
    server = edged([daemon.camera(views=[{"name": view, "view": view, **keys}])])
    viewer = watch(server.url(f"/front/{view}"), view=view, keep_every=CHECK_EVERY)
    frames = viewer.wait_frames(2 * pattern.FPS)
    viewer.stop()
    assert_consecutive(frames, server)
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
        assert_consecutive(viewer.wait_frames(pattern.FPS), server)
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
        assert_consecutive(viewer.wait_frames(2 * pattern.FPS), server)
        viewer.stop()
        assert_pictures_match(viewer, "edges", size)
