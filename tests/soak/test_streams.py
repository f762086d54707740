"""Streams that are watched for long: no frame is lost, none is late."""

import pathlib
import subprocess

import pytest

import daemon
import pattern
from streams import assert_whole

SIZE = (1280, 720)
KINDS = [(p, t) for p in ("gstreamer", "ffmpeg") for t in ("udp", "tcp")]


def watch_for(seconds, viewers):
    """Watches until each viewer has seen so many seconds, and returns these frames of each."""
    for viewer in viewers:
        # Who joins others may first decode what depends on the key frame before.
        viewer.skip_unreadable(most=pattern.FPS // 2)
    count = int(seconds * pattern.FPS)
    return [viewer.next_frames(count, seconds + 20) for viewer in viewers]


def test_four_viewers_of_one_encoder_get_every_frame_in_time(edged, watch, seconds):
    server = edged([daemon.camera(width=SIZE[0], height=SIZE[1])])
    viewers = [
        watch(server.url("/front/edges"), program=p, transport=t, size=SIZE) for p, t in KINDS
    ]
    for frames in watch_for(seconds, viewers):
        assert_whole(frames)
    assert all(viewer.watching and viewer.messages == [] for viewer in viewers)
    mount = server.wait_mount("/front/edges", lambda m: m["encoded"] >= seconds * pattern.FPS)
    assert (mount["viewers"], mount["dropped"], server.camera()["dropped"]) == (4, 0, 0)
    # Four encoders would have made four times as many.
    assert mount["encoded"] <= server.camera()["frames"] + pattern.FPS


@pytest.fixture
def pattern_clip(tmp_path):
    """One second of the moving pattern, all but lossless."""
    path = tmp_path / "pattern.mp4"
    pictures = b"".join(
        b"".join(plane.tobytes() for plane in pattern.frame(number, *SIZE))
        for number in range(pattern.FPS)
    )
    command = ["ffmpeg", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "yuv420p"]
    command += ["-s", f"{SIZE[0]}x{SIZE[1]}", "-r", str(pattern.FPS), "-color_range", "tv"]
    command += ["-i", "-", "-c:v", "libx264", "-preset", "ultrafast", "-crf", "4", path]
    subprocess.run(command, input=pictures, check=True)
    return pathlib.Path(path)


def test_a_clip_plays_at_its_own_rate_again_and_again(edged, watch, seconds, pattern_clip):
    server = edged([daemon.camera(source="file", path=pattern_clip)])
    server.wait_camera("front", lambda c: c["state"] == "live")
    frames, = watch_for(seconds, [watch(server.url("/front/edges"), size=SIZE)])
    assert_whole(frames, period=pattern.FPS)
    span_s = (frames[-1][1] - frames[0][1]) / 1e9
    assert span_s == pytest.approx((len(frames) - 1) / pattern.FPS, rel=0.01, abs=0.1)
