"""V4L2 cameras that behave and that do not, played by the preloaded tests/fakes/v4l2."""

import re
import time

import cv2
import numpy as np
import pytest

import daemon
import pattern
import rtsp
import slate

SIZE = (320, 240)
CAMERA = daemon.camera(
    source="v4l2", device="/dev/video0", width=SIZE[0], height=SIZE[1], views=["camera"]
)


def fake(description):
    return {"LD_PRELOAD": daemon.FAKE_V4L2, "EDGED_FAKE_V4L2": f"device=/dev/video0 {description}"}


def fake_luma(number):
    """Frame `number` of the fake camera, by its definition."""
    x, y = np.meshgrid(np.arange(SIZE[0]), np.arange(SIZE[1]))
    return (16 + (3 * x + 5 * y + 7 * number) % 220).astype(np.uint8)


def assert_shows_fake_camera(pictures, made_of=lambda luma: luma):
    """Every picture is made of some frame of the fake camera; the frames repeat after 220."""
    frames = [made_of(fake_luma(number)) for number in range(220)]
    assert pictures
    for picture in pictures:
        likest = max(frames, key=lambda frame: pattern.psnr_db(picture[::9, ::9], frame[::9, ::9]))
        assert pattern.psnr_db(picture, likest) >= 32


@pytest.fixture
def jpeg(tmp_path):
    path = tmp_path / "picture.jpg"
    assert cv2.imwrite(str(path), cv2.merge([fake_luma(n) for n in range(3)]))
    return path


def assert_no_signal_says(server, *parts):
    def fits(camera):
        return camera["state"] == "no signal" and all(part in camera["error"] for part in parts)

    camera = server.wait_camera("front", fits)
    for part in parts:
        server.wait_stderr(re.escape(part))
    assert camera["process"]["restarts"] == 0
    assert rtsp.wait_served(server.url("/front/camera"))[0] == 200


@pytest.mark.parametrize(
    ("description", "kind", "copies", "told"),
    [
        ("format=NV12", "USERPTR NV12", {}, "0 copies"),
        ("format=YUYV", "USERPTR YUYV", {}, "0 copies"),
        ("format=YUYV userptr=no", "MMAP YUYV", {"mmap-fallback": 1}, "1 copy"),
    ],
)
def test_camera_streams_with_the_copies_it_needs(edged, watch, description, kind, copies, told):
    size = f"size={SIZE[0]}x{SIZE[1]} fps=30"
    server = edged([CAMERA], **fake(f"{description} {size}"))
    viewer = watch(server.url("/front/camera"), view="camera", keep_every=1)
    pictures = viewer.camera_pictures(20)
    camera = server.wait_camera(
        "front", lambda c: c["frames"] > 20 and c["path"].endswith(f", {told} a frame")
    )
    assert camera["state"] == "live"
    assert f"{kind} {SIZE[0]}x{SIZE[1]}@30" in camera["path"]
    for name, count in camera["copies"].items():
        # A frame may be copied before it is counted.
        assert abs(count["total"] - copies.get(name, 0) * camera["frames"]) <= 1, name
    assert_shows_fake_camera(pictures[-5:])


def test_a_camera_that_is_plugged_in_again_is_noticed_by_its_node(edged, watch, tmp_path):
    """By a name that udev gives it, as in /dev/v4l/by-path."""
    node = tmp_path / "usb-camera-index0"
    camera = {**CAMERA, "device": str(node)}
    spec = f"device={node} plugged={node} format=YUYV size={SIZE[0]}x{SIZE[1]} fps=30"
    server = edged([camera], LD_PRELOAD=daemon.FAKE_V4L2, EDGED_FAKE_V4L2=spec)
    viewer = watch(server.url("/front/camera"), view="camera", keep_every=1)
    for _ in range(3):
        server.wait_camera("front", lambda c: c["state"] == "no signal" and str(node) in c["error"])
        node.touch()
        frames = server.camera()["frames"]
        server.wait_camera("front", lambda c: c["state"] == "live" and c["frames"] > frames + 20)
        node.unlink()
    assert viewer.watching and server.camera()["process"]["restarts"] == 0


def test_mjpeg_camera_streams_with_one_decode_a_frame(edged, watch, jpeg):
    spec = f"format=MJPG size={SIZE[0]}x{SIZE[1]} fps=30 mjpg={jpeg}"
    server = edged([CAMERA], **fake(spec))
    watch(server.url("/front/camera"), view="camera").wait_frames(20)
    camera = server.wait_camera("front", lambda c: c["frames"] > 20)
    assert camera["state"] == "live"
    assert abs(camera["copies"]["mjpeg-decode"]["total"] - camera["frames"]) <= 1


def test_camera_without_usb_bandwidth_for_yuyv_streams_mjpg(edged, watch, jpeg):
    spec = f"format=YUYV,MJPG size={SIZE[0]}x{SIZE[1]} fps=30 mjpg={jpeg} nospc=YUYV"
    server = edged([CAMERA], **fake(spec))
    watch(server.url("/front/camera"), view="camera").wait_frames(20)
    camera = server.wait_camera("front", lambda c: c["frames"] > 20)
    assert camera["state"] == "live"
    assert "V4L2 MMAP MJPG" in camera["path"]
    assert "not enough USB bandwidth for YUYV" in server.stderr()


def test_a_camera_that_begins_late_is_told_of_as_others_are(edged):
    server = edged([CAMERA], **fake("format=YUYV late=1"))
    server.wait_stderr("front: V4L2 USERPTR YUYV .* -> host -> CPU -> ")


def test_busy_camera_is_named(edged):
    server = edged([CAMERA], **fake("format=YUYV busy=stream"))
    assert_no_signal_says(server, "/dev/video0 is busy: another program streams from it")


def test_camera_that_delivers_nothing_is_named(edged):
    server = edged([CAMERA], **fake("format=YUYV silent=1"))
    assert_no_signal_says(server, "V4L2 USERPTR YUYV", "delivers no frames")


@pytest.mark.parametrize("damage", ["garbage", "truncated"])
def test_camera_that_sends_only_jpeg_garbage_is_named(edged, jpeg, damage):
    spec = f"format=MJPG size={SIZE[0]}x{SIZE[1]} fps=30 mjpg={jpeg} damage={damage}"
    server = edged([CAMERA], **fake(spec))
    assert_no_signal_says(server, "MJPG", "delivers only broken frames")


def test_one_broken_jpeg_in_five_is_counted_and_the_rest_streams(edged, watch, jpeg):
    spec = f"format=MJPG size={SIZE[0]}x{SIZE[1]} fps=30 mjpg={jpeg} damage=garbage damage-every=5"
    server = edged([CAMERA], **fake(spec))
    watch(server.url("/front/camera"), view="camera").wait_frames(40)
    camera = server.wait_camera("front", lambda c: c["corrupted"] >= 25)
    assert camera["state"] == "live"
    # Of those that were looked at: a busy machine skips broken ones and others alike.
    share = camera["corrupted"] / (camera["frames"] + camera["corrupted"])
    assert 0.1 < share < 0.3


def test_unplugged_camera_shows_the_slate_and_comes_back(edged, watch):
    spec = f"format=YUYV size={SIZE[0]}x{SIZE[1]} fps=30 unplug-after=45"
    server = edged([CAMERA], **fake(spec))
    viewer = watch(server.url("/front/camera"), view="camera", keep_every=1)
    camera = server.wait_camera("front", lambda c: c["reconnects"] >= 1 and c["state"] == "live")
    assert "/dev/video0 is gone (unplugged)" in server.stderr()
    back_ns = time.monotonic_ns()
    viewer.wait_until(lambda frames: sum(t > back_ns for _, t in frames) >= 10)
    assert viewer.stop()
    assert camera["process"]["restarts"] == 0
    shown = [picture for _, picture in viewer.kept()]
    slates = [picture for picture in shown if slate.shows_no_signal(picture)]
    assert len(slates) < len(shown)
