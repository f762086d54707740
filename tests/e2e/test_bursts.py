"""Cameras in the network that send in bursts: none of their pictures is lost, and each keeps its time."""

import subprocess

import numpy as np
import pytest

import daemon
import pattern
from fake_camera import FPS, NUMBERED, PERIODS_S, FakeCamera
from recorded import KEY_S, clip_files, numbers_in, picture_lengths, settings
from rtsp_camera import SIZE, is_live, starting, watching

SECONDS = 8  # after the first two bursts
OFF_S = 0.25  # a busy machine may see the end of a burst that much later than that of the next


@pytest.fixture
def fake_camera():
    with starting(FakeCamera) as start:
        yield start


def recorded(camera):
    return {**camera, "views": [{"name": "plain", "view": "camera", "keyframe_s": KEY_S}],
            "record": {"view": "plain", "mode": "always"}}


def paused(camera, seconds):
    """Whether a busy machine kept a camera from sending for so long that edged, as it should, asked it anew."""
    return lambda: camera.longest_pause_s() > seconds


def numbers_of(server, tmp_path, pictures, was_silent=lambda: False):
    """Stops when a camera has brought so many. Returns the numbers in its clip, and how many are missing."""
    server.wait_camera("front", lambda c: is_live(c) and c["frames"] > pictures)
    status = server.status()
    server.stop()
    file, = clip_files(tmp_path)
    numbers, dropped = numbers_in(file), daemon.dropped_in(status)
    assert None not in numbers
    accounted = [number for number in numbers if number < status["cameras"][0]["frames"]]
    missing, of_these = (pattern.holes([(number, 0) for number in each], NUMBERED)[0] for each in (numbers, accounted))
    assert of_these <= dropped * FPS or was_silent(), numbers
    assert dropped < len(numbers) // 2, "as a busy machine may"
    return numbers, missing


def copied(camera, path):
    """What ffmpeg copies from the camera in 4 s."""
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-rtsp_transport", "tcp", "-i", camera.url, "-t", "4", "-c",
                    "copy", path], check=True, timeout=daemon.PATIENCE_S)
    return path


def spread_s(path, first, pictures):
    """How far the times of so many pictures in a row are from even ones, from one end to the other: of the evenest row, as
    a busy machine may see the end of a burst late."""
    lengths = picture_lengths(path)[first:-1]
    off = np.cumsum(lengths) - np.arange(1, len(lengths) + 1) / FPS
    return min(np.ptp(off[begin:begin + pictures]) for begin in range(0, max(1, len(off) - pictures + 1), FPS))


@pytest.mark.parametrize(
    ("quirk", "transport", "first_s"),
    [("burst03", "tcp", 2), ("burst1", "tcp", 3), ("burst1", "udp", 3), ("gap", "tcp", 2), ("burst3", "tcp", 7),
     ("burst3", "udp", 7)],
)
def test_every_picture_of_a_burst_is_recorded_at_its_time(edged, fake_camera, tmp_path, quirk, transport, first_s):
    """Nothing tells when the pictures of the first burst were captured: these are dated as they come."""
    camera = fake_camera(quirk)
    server = edged([recorded(watching(camera.url, transport=transport))], settings=settings(tmp_path))
    was_silent = paused(camera, max(2, 3 * PERIODS_S.get(quirk, 0)) - 0.1)
    numbers, missing = numbers_of(server, tmp_path, (first_s + 2 * SECONDS) * FPS, was_silent)
    file, = clip_files(tmp_path)
    off_s = spread_s(file, first_s * FPS, SECONDS * FPS)
    copied_off_s = spread_s(copied(camera, tmp_path / "copy.mp4"), FPS, 4 * FPS)
    print(f"{len(numbers)} pictures, {missing} missing; off by {off_s:.3f} s, as copied by ffmpeg {copied_off_s:.3f} s")
    assert off_s < copied_off_s + OFF_S + missing / FPS or was_silent()
    assert "no signal" not in server.stderr() or was_silent()
    assert camera.connections == 2 or was_silent(), "edged's and ffmpeg's"


def test_every_picture_of_a_burst_from_a_pipeline_is_recorded(edged, fake_camera, tmp_path):
    camera = fake_camera("burst1")
    pipeline = f"rtspsrc location={camera.url} latency=0 protocols=tcp ! decodebin"
    server = edged([recorded(daemon.camera(source="gstreamer", pipeline=pipeline))], settings=settings(tmp_path))
    was_silent = paused(camera, 2.5)
    numbers, missing = numbers_of(server, tmp_path, SECONDS * FPS, was_silent)
    print(f"{len(numbers)} pictures, {missing} missing")
    assert "no signal" not in server.stderr() or was_silent()


def test_a_network_that_stands_still_costs_a_recording_no_picture(edged, fake_camera, tmp_path):
    """Viewers see NO SIGNAL meanwhile."""
    camera = fake_camera("stall")
    server = edged([recorded(watching(camera.url, transport="tcp"))], settings=settings(tmp_path))
    server.wait_stderr("no signal")
    camera.goes_on.set()
    was_silent = paused(camera, 3.5)
    numbers, missing = numbers_of(server, tmp_path, 2 * SECONDS * FPS, was_silent)
    print(f"{len(numbers)} pictures, {missing} missing")
    assert was_silent() or camera.connections == 1 and max(picture_lengths(clip_files(tmp_path)[0])) < 0.2 + missing / FPS


def slow_encoder(tmp_path, elements, picture_s):
    """The settings of an edged whose encoder takes so long for a picture while the file is there."""
    slowness = tmp_path / "slowness"
    slowness.write_text(str(picture_s * 1e9 / (SIZE[0] * SIZE[1])))
    return slowness, {"FAKE_ENCODER": f"slow:{slowness}", **elements("encoder")}


def test_an_encoder_that_does_not_keep_up_shows_the_present(edged, watch, elements, fake_camera, tmp_path):
    camera = fake_camera("even")
    slowness, extra = slow_encoder(tmp_path, elements, 2 / FPS)
    server = edged([watching(camera.url, transport="tcp")], **extra)
    viewer = watch(server.url("/front/camera"), view="camera", size=SIZE)

    def age():
        *_, shown = (number for number, _ in viewer.wait_numbers(1) if number is not None)
        return (len(camera.sent_ns) - shown) % NUMBERED

    daemon.wait_for(lambda: server.dropped() > 5 * FPS)
    assert age() < 4 * FPS, "5 s would wait if nothing were left out"
    slowness.unlink()
    daemon.wait_for(lambda: age() < FPS)
    server.assert_accounted(viewer, NUMBERED)
    assert "no signal" not in server.stderr()


def test_a_slow_encoder_gives_up_rate_and_costs_another_view_nothing(edged, watch, elements, fake_camera, tmp_path):
    camera = fake_camera("even")
    slowness, extra = slow_encoder(tmp_path, elements, 2 / FPS)
    views = [{"name": "slow", "view": "camera", "governor": "rate-size"},
             {"name": "fast", "view": "camera", "encoder": "x264enc"}]
    server = edged([{**watching(camera.url, transport="tcp"), "views": views}], **extra)
    watch(server.url("/front/slow"), size=SIZE)
    viewer = watch(server.url("/front/fast"), view="camera", size=SIZE)
    slow = server.wait_mount("/front/slow", lambda m: "rate 1/" in m["governor"])
    assert slow["encoder"] == "v4l2h264enc"

    def others():
        """What a busy machine may leave out, but not as many of them as the slow encoder does, which goes on and on."""
        return server.camera()["dropped"] + server.mount("/front/fast")["dropped"]

    daemon.wait_for(lambda: server.mount("/front/slow")["dropped"] > others() + 5 * FPS)
    missing, _ = pattern.holes(viewer.frames[FPS // 2:], NUMBERED)
    server.dropped_until_now()
    assert missing <= others() * FPS
    slowness.unlink()
    server.wait_mount("/front/slow", lambda m: m["governor"] == "")


def test_of_more_than_fits_whole_units_go_up_to_a_key_frame(edged, watch, elements, fake_camera, tmp_path):
    camera = fake_camera("burst6")
    _, extra = slow_encoder(tmp_path, elements, 0.004)
    server = edged([watching(camera.url, transport="tcp")], **extra)
    viewer = watch(server.url("/front/camera"), view="camera", size=SIZE)

    def longest_hole():
        """Of the second six seconds of each twelve, which come at once: how many pictures are missing, and the one
        after them. A busy machine leaves out some elsewhere, too, and a few here."""
        numbers = [number for number, _ in viewer.frames if number is not None]
        steps = [(a, b) for a, b in zip(numbers, numbers[1:]) if (b - 1) % (12 * FPS) >= 6 * FPS]
        return max((((b - a - 1) % NUMBERED, b) for a, b in steps), default=(0, 0))

    daemon.wait_for(lambda: viewer.frames and longest_hole()[0] > FPS, explain=server.stderr)
    shown = server.camera()["frames"]
    server.wait_camera("front", lambda c: c["frames"] > shown + 4 * FPS)
    missing, after = longest_hole()
    assert after % FPS == 0, (missing, viewer.numbers())
    assert pattern.holes(viewer.frames, NUMBERED)[0] <= server.dropped_until_now()
    assert camera.connections == 1


def test_of_a_burst_of_large_units_no_more_than_16_mib_wait(edged, watch, elements, fake_camera, tmp_path):
    """Three seconds of others are shown whole; those of this camera are 67 MB. Whole units go up to a key frame."""
    camera = fake_camera("heavy")
    _, extra = slow_encoder(tmp_path, elements, 0.004)
    server = edged([watching(camera.url, transport="tcp")], **extra)
    viewer = watch(server.url("/front/camera"), view="camera", size=SIZE)
    shown = server.wait_camera("front", lambda c: c["dropped"] > 0)["frames"]
    server.wait_camera("front", lambda c: c["frames"] > shown + FPS)
    server.assert_accounted(viewer, NUMBERED)
    assert camera.connections == 1 and "no signal" not in server.stderr()
