"""Recording by the real programs: what is in clips, and what goes on without them."""

import os
import signal
import subprocess
import time

import daemon
import pattern
from recorded import (
    KEY_S, SIZE, Events, FrameClock, arm, clip_files, move, numbers_in, recorded, recorder_of,
    settings, start_recorder, wait_clips,
)

BEFORE_S, AFTER_S = 3.0, 2.0
FRAMES_OFF = 2  # by which a moment of a frame is known, from when a viewer got it


def live(server):
    server.wait_camera("front", lambda camera: camera["state"] == "live")
    return server


def assert_accounted(numbers, dropped):
    """No frame is missing but for those that edged has dropped where the machine was too busy, each
    of which may cost what depends on it."""
    missing, without = pattern.holes([(number, 0) for number in numbers])
    assert (missing == 0 or missing <= dropped * pattern.FPS) and without == 0, numbers


def test_a_clip_begins_at_the_key_frame_before_the_asked_time_and_lacks_nothing(
        edged, watch, tmp_path):
    server = live(edged([recorded(before_s=BEFORE_S, after_s=AFTER_S)],
                        settings=settings(tmp_path)))
    viewer = watch(server.url("/front/plain"), view="camera", size=SIZE)
    clock = FrameClock(viewer)
    viewer.wait_numbers(int((BEFORE_S + 2 * KEY_S) * pattern.FPS))
    with Events(server) as events:
        started, ended = move(server, events, 1.5)
    file, = wait_clips(server, tmp_path, 1)
    numbers = numbers_in(file)
    assert_accounted(numbers, server.dropped())
    asked = clock.number_at(started["started_ns"] - BEFORE_S * 1e9)
    assert asked - KEY_S * pattern.FPS - FRAMES_OFF <= numbers[0] <= asked + FRAMES_OFF
    assert numbers[-1] >= clock.number_at(ended["at_ns"] + AFTER_S * 1e9) - FRAMES_OFF - 1
    picture, = clip_files(tmp_path, ".jpg")
    shown, = numbers_in(picture)
    assert clock.number_at(started["started_ns"]) - FRAMES_OFF <= shown <= numbers[-1]


def test_a_recorded_view_is_encoded_without_viewers_and_is_none_itself(edged, tmp_path):
    server = live(edged([recorded("always")], settings=settings(tmp_path)))

    def encoded(path, count):
        server.wait_mount(path, lambda mount: mount["encoded"] >= count)

    encoded("/front/plain", 60)
    assert server.mount("/front/edges")["encoded"] == 0
    assert server.status()["viewers"] == 0
    checked = daemon.run_edged("--check", "--config", server.config)
    assert "front: the view plain is recorded (always), so it is computed all the time\n" \
        in checked.stdout


def test_a_camera_process_that_is_killed_is_a_gap_in_the_clip(edged, tmp_path):
    server = live(edged([recorded("always")], settings=settings(tmp_path)))
    server.wait_mount("/front/plain", lambda mount: mount["encoded"] >= 90)
    pid, before = server.camera()["process"]["pid"], server.dropped()
    os.kill(pid, signal.SIGKILL)
    server.wait_camera("front", lambda c: c["process"]["pid"] not in (0, pid) and c["state"] == "live")
    frames = server.camera()["frames"]
    server.wait_camera("front", lambda camera: camera["frames"] >= frames + 90)
    after = server.dropped()
    server.stop()
    numbers = [number for file in clip_files(tmp_path) for number in numbers_in(file)]
    assert None not in numbers  # no slate is kept
    again = next(i for i in range(1, len(numbers)) if numbers[i] < numbers[i - 1])
    assert_accounted(numbers[:again], before)
    assert_accounted(numbers[again:], after)
    assert again >= 45 and len(numbers) - again >= 45


def test_a_killed_recorder_costs_viewers_no_frame_and_comes_back(edged, watch, tmp_path):
    server = live(edged([recorded(before_s=1.0, after_s=1.0)], settings=settings(tmp_path)))
    viewer = watch(server.url("/front/plain"), view="camera", size=SIZE)
    viewer.wait_numbers(30)
    killed = recorder_of(server)
    os.kill(killed, signal.SIGKILL)
    server.wait_stderr("the recorder was killed by signal 9 .*, nothing is recorded, trying again")
    server.wait_stderr("the recorder is there again")
    assert recorder_of(server) != killed
    viewer.wait_after(time.monotonic_ns(), 60)
    with Events(server) as events:
        move(server, events, 1.0)
    file, = wait_clips(server, tmp_path, 1)
    assert_accounted(numbers_in(file), server.dropped())
    server.assert_accounted(viewer)


def test_changing_what_is_recorded_costs_viewers_no_frame(edged, watch, tmp_path):
    server = live(edged([recorded("off")], settings=settings(tmp_path)))
    viewer = watch(server.url("/front/plain"), view="camera", size=SIZE)
    viewer.wait_numbers(30)
    assert not (tmp_path / "clips").exists()  # nobody has wanted a recorder

    def change(mode):
        subprocess.run([daemon.EDGECTL, "set", f"cameras.front.record.mode={mode}", "--socket",
                        server.socket], check=True, capture_output=True,
                       timeout=daemon.PATIENCE_S, env=daemon.environment())

    change("always")
    daemon.wait_for(lambda: clip_files(tmp_path, ".part"), explain=server.stderr)
    viewer.wait_after(time.monotonic_ns(), 60)
    change("off")
    file, = wait_clips(server, tmp_path, 1)
    assert_accounted(numbers_in(file), server.dropped())
    viewer.wait_after(time.monotonic_ns(), 30)
    server.assert_accounted(viewer)


def test_a_recorder_that_listens_keeps_its_pre_roll_while_edged_is_restarted(edged, tmp_path):
    path = tmp_path / "recorder.sock"
    recorder = start_recorder(path)
    try:
        camera = recorded(before_s=20.0, after_s=1.0)
        first = live(edged([camera], settings=settings(tmp_path), EDGED_RECORDER=path))
        first.wait_mount("/front/plain", lambda mount: mount["encoded"] >= 90)
        before = first.dropped()
        first.stop()
        second = live(edged([camera], settings=settings(tmp_path), EDGED_RECORDER=path))
        second.wait_mount("/front/plain", lambda mount: mount["encoded"] >= 45)
        with Events(second) as events:
            move(second, events, 1.0)
        file, = wait_clips(second, tmp_path, 1)
        numbers = numbers_in(file)
        again = next(i for i in range(1, len(numbers)) if numbers[i] < numbers[i - 1])
        assert_accounted(numbers[:again], before)
        assert_accounted(numbers[again:], second.dropped())
        assert again >= 45
        second.stop()
        assert recorder.poll() is None
    finally:
        recorder.kill()
        recorder.communicate()


def test_an_edged_that_stops_closes_its_clips(edged, tmp_path):
    server = live(edged([recorded(before_s=2.0)], settings=settings(tmp_path)))
    server.wait_mount("/front/plain", lambda mount: mount["encoded"] >= 30)
    arm(server, True)
    daemon.wait_for(lambda: clip_files(tmp_path, ".part"), explain=server.stderr)
    dropped = server.dropped()
    server.stop()
    file, = clip_files(tmp_path)
    assert_accounted(numbers_in(file), dropped)
    assert not clip_files(tmp_path, ".part")
