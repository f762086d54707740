"""Recording by the real programs: what is in clips, and what goes on without them."""

import contextlib
import datetime
import errno
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import time

import pytest

import daemon
import fake_recorder
import pattern
from recorded import (
    KEY_S, SIZE, VIEWS, Events, FrameClock, arm, ask, clip_files, clips_of, edgectl, move, numbers_in, picture_lengths,
    read_line, recorded, recorder_of, settings, start_recorder, wait_clips,
)

BEFORE_S, AFTER_S = 3.0, 2.0
FRAMES_OFF = 2  # by which a moment of a frame is known, from when a viewer got it


def live(server):
    server.wait_camera("front", lambda camera: camera["state"] == "live")
    return server


def seconds_of(time_text):
    """Since 1970, of a time of RFC 3339."""
    return datetime.datetime.fromisoformat(time_text.replace("Z", "+00:00")).timestamp()


def assert_accounted(numbers, dropped):
    """No frame is missing but for those that edged has dropped where the machine was too busy, each
    of which may cost what depends on it."""
    missing, without = pattern.holes([(number, 0) for number in numbers])
    assert (missing == 0 or missing <= dropped * pattern.FPS) and without == 0, numbers


def assert_accounted_in(numbers, status):
    """The same of those frames that a status is about."""
    assert_accounted([number for number in numbers if number < status["cameras"][0]["frames"]], daemon.dropped_in(status))


def test_a_clip_begins_at_the_key_frame_before_the_asked_time_and_lacks_nothing(
        edged, watch, tmp_path):
    """Of as many events as EDGED_EVENTS says."""
    chance = random.Random(35)
    server = live(edged([recorded(before_s=BEFORE_S, after_s=AFTER_S)],
                        settings=settings(tmp_path)))
    viewer = watch(server.url("/front/plain"), view="camera", size=SIZE)
    clock = FrameClock(viewer)
    viewer.wait_numbers(int((BEFORE_S + 2 * KEY_S) * pattern.FPS))
    early = []
    for count in range(1, int(os.environ.get("EDGED_EVENTS", 3)) + 1):
        before = set(clip_files(tmp_path))
        with Events(server) as events:
            started, ended = move(server, events, 0.3 + chance.random())
        file, = set(wait_clips(server, tmp_path, count)) - before
        numbers, dropped = numbers_in(file), server.dropped_until_now()
        assert_accounted(numbers, dropped)
        asked = clock.number_at(started["started_ns"] - BEFORE_S * 1e9)
        early.append(asked - numbers[0])
        assert -FRAMES_OFF <= early[-1] <= KEY_S * pattern.FPS + FRAMES_OFF + dropped, (count, early)
        assert numbers[-1] >= clock.number_at(ended["at_ns"] + AFTER_S * 1e9) - FRAMES_OFF - 1 - dropped
        clip, = clips_of(server, "limit=1")
        assert clip["start"] <= clip["asked"] and clip["event"] == count
        assert abs(seconds_of(clip["motion"]) - seconds_of(started["started"])) < 0.1
        assert abs(seconds_of(clip["motion_end"]) - seconds_of(ended["time"])) < 0.1
    print(f"{count} clips begin {min(early) / pattern.FPS:.3f} to {max(early) / pattern.FPS:.3f} s "
          "before the asked time")
    clips = clips_of(server)
    begin = seconds_of(clips[-1]["start"]) - 2 - 0.5 / pattern.FPS  # no border is where a picture begins
    lane, = ask(server, "GET", f"/v1/timeline?from={begin:.6f}&to={begin + 50:.6f}&steps=50")["lanes"]

    def covers(ends, step):
        return any(seconds_of(clip[ends[0]]) < begin + step + 1 and seconds_of(clip[ends[1]]) > begin + step for clip in clips)

    assert lane == {"camera": "front", "steps": "".join(
        str(covers(("start", "end"), step) + covers(("motion", "motion_end"), step)) for step in range(50))}
    assert "2" in lane["steps"] and "1" in lane["steps"]
    picture, *_ = clip_files(tmp_path, ".jpg")
    shown, = numbers_in(picture)
    first, = numbers_in(clip_files(tmp_path)[0])[:1]
    assert shown > first + BEFORE_S * pattern.FPS - FRAMES_OFF


def test_a_signal_from_outside_starts_prolongs_and_stops_a_clip(edged, tmp_path):
    server = live(edged([recorded(before_s=1.0)], settings=settings(tmp_path)))
    server.wait_mount("/front/plain", lambda mount: mount["encoded"] >= 60)

    def signal_it(**body):
        return ask(server, "POST", "/v1/cameras/front/record", body)

    first = signal_it(duration_s=5)
    assert first == {"id": 1, "url": "/v1/clips/1.mp4"}
    assert signal_it(record=True, duration_s=600) == first
    file = daemon.wait_for(lambda: clip_files(tmp_path, ".mp4.part"), explain=server.stderr)
    daemon.wait_for(lambda: clips_of(server)[0]["duration"] > 8, explain=server.stderr)
    assert clip_files(tmp_path, ".mp4.part") == file  # 5 s alone would be over
    assert signal_it(record=False) == first
    wait_clips(server, tmp_path, 1)
    clip, = clips_of(server)
    assert clip["triggered"] and not clip["regions"] and clip["event"] is None
    assert signal_it(record=False) == {"id": None, "url": None}
    for body in ({"record": 1}, {"duration_s": 0}, {"duration_s": "x"}, {"path": "x"}):
        assert ask(server, "POST", "/v1/cameras/front/record", body, status=422)
    assert ask(server, "POST", "/v1/cameras/none/record", {}, status=404)


def test_a_signal_from_outside_makes_a_clip_where_nothing_else_is_recorded(edged, tmp_path):
    """It begins with a key frame, ends when asked to, is told of, and the view is not computed afterwards."""
    server = live(edged([recorded("off")], settings=settings(tmp_path)))

    def signal_it(**body):
        return ask(server, "POST", "/v1/cameras/front/record", body)

    assert signal_it(record=False) == {"id": None, "url": None}
    with Events(server) as events:
        assert events.next("camera_state")["live"]
        for number in (1, 2):
            assert signal_it(duration_s=60) == {"id": number, "url": f"/v1/clips/{number}.mp4"}
            assert signal_it(duration_s=600)["id"] == number  # prolongs it
            daemon.wait_for(lambda: clips_of(server)[0]["duration"] > 2, explain=server.stderr)
            assert signal_it(record=False)["id"] == number
            told, (clip, *_) = events.next("clip_ended"), clips_of(server)
            told["event"], told["picture"] = clip["event"], clip["picture"]  # its picture may come later
            assert {name: told[name] for name in clip} == clip
            assert clip["id"] == number and clip["triggered"] and not clip["regions"] and not clip["open"]
            wait_clips(server, tmp_path, number)

    def rests():
        before, frames = server.mount("/front/plain")["encoded"], server.camera()["frames"]
        server.wait_camera("front", lambda camera: camera["frames"] > frames + 2 * pattern.FPS)  # both are told once a second
        return server.mount("/front/plain")["encoded"] == before

    daemon.wait_for(rests)
    for file in clip_files(tmp_path):
        numbers = numbers_in(file)
        assert len(numbers) > 30 and None not in numbers
    # The recorder has ended: to begin takes longer than this clip, which is no shorter for that.
    assert signal_it(duration_s=1)["id"] == 3
    wait_clips(server, tmp_path, 3)
    assert clips_of(server)[0]["duration"] > 0.5


def test_a_signal_from_outside_is_told_why_there_is_no_clip(edged, tmp_path):
    (tmp_path / "clips").write_text("no folder")
    server = live(edged([recorded("off")], settings=settings(tmp_path)))
    told = ask(server, "POST", "/v1/cameras/front/record", {}, status=503)
    assert "clips" in told["detail"]


def test_a_jpeg_that_the_link_loses_costs_no_later_clip_its_picture(edged, tmp_path):
    server = live(edged([recorded(before_s=1.0)], settings=settings(tmp_path),
                        EDGED_CAMERA_PROGRAM=pathlib.Path(__file__).with_name("lossy_link.py"),
                        LOSSY_LINK_CAMERA=daemon.BUILD / "edged-camera"))
    for count in (1, 2, 3):
        ask(server, "POST", "/v1/cameras/front/record", {"duration_s": 4})
        wait_clips(server, tmp_path, count)
    assert server.stderr().count("lossy_link: lost a JPEG\n") == 1
    for clip in clip_files(tmp_path)[1:]:
        daemon.wait_for(clip.with_suffix(".jpg").exists, explain=server.stderr)


def test_status_and_metrics_show_the_recorder_and_what_is_recorded(edged, tmp_path):
    server = live(edged([recorded("always", max_clip_s=10)], settings=settings(tmp_path)))
    status = daemon.wait_for(
        lambda: server.status()["recorder"].get("clip_bytes", 0) > 0 and server.status(), explain=server.stderr)
    assert status["recorder"]["state"] == "ready" and status["recorder"]["open_clips"] == 1
    storage = status["storage"]
    space = os.statvfs(tmp_path)
    assert storage["total_bytes"] == space.f_blocks * space.f_frsize
    assert storage["free_bytes"] > 10**6 and storage["kept_bytes"] == storage["lost_clips"] == 0
    # A sync each 4.5 s at least, of 86,400 s, and as many bytes as were written since the start.
    assert storage["syncs_per_day"] > 10_000 and storage["written_bytes_per_day"] > status["recorder"]["written_bytes"]
    assert 0 <= storage["days"] < 1
    assert {mount["view"]: mount["recorded"] for mount in status["mounts"]} == {"edges": "off", "plain": "always"}
    shown = edgectl(server, "status")
    assert re.search(r"^recorder: ready, \d+ clips and 1 being written, [\d.]+.[kM]?B, [\d.]+.GB free$", shown, re.M)
    assert "/front/plain is recorded (always), so it is computed all the time\n" in shown
    metrics = dict(re.findall(r"^(edged_recorder_\w+) (\S+)$", server.http_get("/metrics"), re.M))
    assert metrics["edged_recorder_ready"] == "1" and metrics["edged_recorder_lost_units_total"] == "0"
    assert int(metrics["edged_recorder_written_bytes_total"]) > 0


def test_an_event_names_its_clip_to_programs(edged, tmp_path):
    server = live(edged([recorded(before_s=1.0, after_s=1.0)], settings=settings(tmp_path)))
    server.wait_mount("/front/plain", lambda mount: mount["encoded"] >= 60)
    told = tmp_path / "told"
    with subprocess.Popen([daemon.EDGECTL, "watch", "--json", "--region", "door", "--socket", server.socket,
                           "--exec", "sh", "-c", f'echo "$EDGED_EVENT $EDGED_CLIP" >> {told}'],
                          stdout=subprocess.PIPE, env=daemon.environment(), text=True) as watching:
        arm(server, True)
        started = json.loads(watching.stdout.readline())
        daemon.wait_for(lambda: clips_of(server), explain=server.stderr)
        arm(server, False)
        ended = json.loads(watching.stdout.readline())
        daemon.wait_for(lambda: told.exists() and len(told.read_text().splitlines()) == 2)
        watching.terminate()
    assert (started["event"], ended["event"], ended["clip"]) == (
        "motion_started", "motion_ended", "/v1/clips/1.mp4")
    assert told.read_text().splitlines()[1] == "motion_ended /v1/clips/1.mp4"


def test_what_lower_limits_would_delete_is_told_before(edged, tmp_path):
    server = live(edged([recorded("always", max_clip_s=10)], settings=settings(tmp_path)))
    daemon.wait_for(lambda: [clip for clip in clips_of(server) if not clip["open"]], explain=server.stderr)
    told = ask(server, "GET", "/v1/clips/excess?max_size=")
    assert told == {"clips": 0, "bytes": 0}
    assert "would delete" not in edgectl(server, "diff", config=True)
    assert ask(server, "GET", "/v1/clips/excess?max_size=1G&min_free=1M&max_age_days=3") == told
    least = ask(server, "GET", "/v1/clips/excess?max_size=1k")
    assert least["clips"] >= 1 and least["bytes"] > 1000
    assert ask(server, "GET", "/v1/clips/excess?min_free=lots", status=400)["key"] == "min_free"
    text = server.config.read_text()
    server.config.write_text(text.replace("storage = {", "storage = { min_free = \"900T\";"))
    shown = edgectl(server, "diff", config=True)
    assert re.search(r"^storage: a restart deletes \d+ clips, .*B, by the limits in ", shown, re.M), shown
    assert [clip for clip in clips_of(server) if not clip["open"]]


def test_without_a_home_edged_says_where_clips_could_be_kept(edged, tmp_path):
    server = live(edged([recorded("always")], XDG_STATE_HOME="", HOME="", XDG_CACHE_HOME=tmp_path))
    server.wait_stderr("no place for clips: set storage.path, .* or HOME, nothing is recorded")
    assert server.status()["recorder"]["state"] == "gone"


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
    before = server.status()
    pid = before["cameras"][0]["process"]["pid"]
    os.kill(pid, signal.SIGKILL)
    server.wait_camera("front", lambda c: c["process"]["pid"] not in (0, pid) and c["state"] == "live")
    frames = server.camera()["frames"]
    server.wait_camera("front", lambda camera: camera["frames"] >= frames + 90)
    after = server.status()
    server.stop()
    numbers = [number for file in clip_files(tmp_path) for number in numbers_in(file)]
    assert None not in numbers  # no slate is kept
    again = next(i for i in range(1, len(numbers)) if numbers[i] < numbers[i - 1])
    for status, run in ((before, numbers[:again]), (after, numbers[again:])):
        assert_accounted_in(run, status)
    assert again >= 45 and len(numbers) - again >= 45


def test_a_camera_that_is_gone_and_comes_back_is_a_gap_that_its_clip_names(edged, tmp_path):
    film, gone = tmp_path / "film.mp4", tmp_path / "gone.mp4"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"testsrc2=s=320x240:r={pattern.FPS}", "-t", "1",
                    "-pix_fmt", "yuv420p", film], check=True)
    pipeline = f"filesrc location={film} ! decodebin ! identity sync=true"
    server = live(edged([{**recorded("always"), "source": "gstreamer", "pipeline": pipeline}],
                        settings=settings(tmp_path)))
    daemon.wait_for(lambda: clip_files(tmp_path, ".mp4.part"), explain=server.stderr)
    film.rename(gone)
    server.wait_stderr("no signal: (?!the pipeline ended)")
    encoded = server.mount("/front/plain")["encoded"]
    server.wait_mount("/front/plain", lambda mount: mount["encoded"] >= encoded + 2)  # of the slate
    gone.rename(film)
    daemon.wait_for(lambda: any(clip["gap"] > 0 for clip in clips_of(server)), explain=server.stderr)
    dropped = server.dropped()
    server.stop()
    clip, *_ = map(read_line, (tmp_path / "clips/index.jsonl").read_text().splitlines()[1:])
    file, *_ = clip_files(tmp_path)
    long = [length - 1 / pattern.FPS for length in picture_lengths(file) if length > 0.25]
    assert long and abs(sum(long) - clip["gap_ns"] / 1e9) < 0.1 * len(long) + dropped / pattern.FPS


def pause(process, seconds):
    os.kill(process, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(process, signal.SIGCONT)


def record_through_a_stall(server, tmp_path, stall, size=SIZE):
    """Something moves before, during and after stall(). Returns for how many seconds each picture of the one clip is
    shown, and their numbers."""
    def wait_encoded(count):
        encoded = server.mount("/front/plain")["encoded"]
        server.wait_mount("/front/plain", lambda mount: mount["encoded"] >= encoded + count)

    with Events(server) as events:
        arm(server, True)
        assert events.next()["event"] == "motion_started"
        wait_encoded(20)
        stall()
        wait_encoded(90)
        assert server.camera()["regions"][0]["moving"]
        arm(server, False)
        assert events.next()["event"] == "motion_ended"
    file, = wait_clips(server, tmp_path, 1)
    numbers = numbers_in(file, size)
    assert None not in numbers  # no slate is kept
    return picture_lengths(file), numbers


@pytest.mark.parametrize("seconds", [0.8, 2.0])
def test_a_camera_process_that_stalls_while_something_moves_ends_no_recording(edged, tmp_path, seconds):
    server = live(edged([recorded(before_s=1.0, after_s=1.0)], settings=settings(tmp_path)))
    server.wait_mount("/front/plain", lambda mount: mount["encoded"] >= 30)
    lengths, _ = record_through_a_stall(server, tmp_path, lambda: pause(server.camera()["process"]["pid"], seconds))
    gap = lengths.index(max(lengths))
    assert lengths[gap] > seconds / 2 and len(lengths) - gap > 60


def test_a_network_camera_that_stalls_while_something_moves_ends_no_recording(edged, tmp_path):
    serves = daemon.camera(views=[VIEWS[1]], width=SIZE[0], height=SIZE[1])
    first = live(edged([serves]))
    camera = {**recorded(before_s=1.0, after_s=1.0), "source": "rtsp", "url": first.url("/front/plain"),
              "transport": "tcp", "fps": pattern.FPS}
    server = live(edged([camera], settings=settings(tmp_path)))
    server.wait_mount("/front/plain", lambda mount: mount["encoded"] >= 30)
    lengths, _ = record_through_a_stall(server, tmp_path, lambda: pause(first.process.pid, 1.4))
    assert sum(lengths) > 1.4 + 110 / pattern.FPS


def test_a_recorder_that_stalls_while_something_moves_goes_on_and_counts_what_it_lost(edged, tmp_path):
    """What neither the link to it nor the view's ring has room for, with so many key frames."""
    camera, size = recorded(before_s=1.0, after_s=1.0), (1280, 720)
    camera.update(width=size[0], height=size[1])
    camera["views"][1].update(keyframe_s=0.1, bitrate_kbps=20000)
    server = live(edged([camera], settings=settings(tmp_path)))
    server.wait_mount("/front/plain", lambda mount: mount["encoded"] >= 30)
    came = []

    def stall():
        before = server.mount("/front/plain")["encoded"]
        pause(recorder_of(server), 8)
        came.append(server.mount("/front/plain")["encoded"] - before)

    lengths, numbers = record_through_a_stall(server, tmp_path, stall, size)
    gap = lengths.index(max(lengths))
    assert len(lengths) - gap > 60
    missing, _ = pattern.holes([(number, 0) for number in numbers])
    lost = server.status()["recorder"]["lost_units"]
    elsewhere = server.dropped_until_now() - lost  # which counts what the ring had no room for as well
    assert lost > 0 or came[0] < 5 * pattern.FPS, "a busy machine makes so few that there is room for them"
    assert lost <= missing <= lost + elsewhere * pattern.FPS


def test_all_that_is_to_be_recorded_is_said_again_each_second(edged, tmp_path):
    """So one that is lost, or a recorder that is new, is told the same a second later."""
    with contextlib.closing(fake_recorder.Recorder(tmp_path / "recorder.sock")) as recorder:
        server = live(edged([recorded()], settings=settings(tmp_path), EDGED_RECORDER=recorder.path))

        def wait_repeated(said):
            """Until the same was said three times."""
            def look():
                last = recorder.wanted[-3:]
                return len(last) == 3 and len({bytes(one) for one in last}) == 1 and said(last[0]) and last[0]

            return daemon.wait_for(look, explain=server.stderr)

        wait_repeated(lambda said: not said.region_count and not said.asked_until_ns)
        before_ns = time.monotonic_ns()
        assert ask(server, "POST", "/v1/cameras/front/record", {"duration_s": 60})["id"] == 1
        asked = wait_repeated(lambda said: said.asked_until_ns)
        assert 60e9 <= asked.asked_until_ns - before_ns < 90e9 and asked.asked_by == recorder.asked[-1].request
        recorder.trigger_error = errno.EAGAIN
        assert ask(server, "POST", "/v1/cameras/front/record", {"duration_s": 600}, status=503)
        del recorder.wanted[:]
        assert bytes(wait_repeated(lambda said: True)) == bytes(asked)
        with Events(server) as events:
            started, ended = move(server, events, 1.0)
        region = wait_repeated(lambda said: said.region_count == 1 and said.regions[0].ended_ns).regions[0]
        assert (region.region, region.number) == (b"door", 1) and region.peak > 0
        assert abs(region.started_ns - started["started_ns"]) < 1e6 and abs(region.ended_ns - ended["at_ns"]) < 1e6


def test_another_folder_waits_for_a_restart_and_is_said_to(edged, tmp_path):
    server = live(edged([recorded("always")], settings=settings(tmp_path)))
    daemon.wait_for(lambda: clip_files(tmp_path, ".mp4.part"), explain=server.stderr)
    file, = clip_files(tmp_path, ".mp4.part")
    before, other = tmp_path / "before.conf", tmp_path / "other"
    before.write_text(server.config.read_text())
    server.reload(storage={"path": str(other)})
    server.wait_stderr(r"when edged is started again: .*storage\.path")
    told = daemon.run_edged("--check", "--diff", before, "--config", server.config).stdout
    assert re.search('storage.path: .*, when edged is started again', told), told
    size = file.stat().st_size
    daemon.wait_for(lambda: file.stat().st_size > size, explain=server.stderr)
    assert not other.exists()
    server.stop()
    first, = clip_files(tmp_path)
    live(server.start())
    daemon.wait_for(lambda: list(other.rglob("*.part")), explain=server.stderr)
    assert [clip["open"] for clip in clips_of(server)] == [True] and clip_files(tmp_path) == [first]


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
    assert_accounted(numbers_in(file), server.dropped_until_now())
    server.assert_accounted(viewer)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
def test_a_file_system_that_is_full_or_read_only_stops_recording_alone_until_it_is_not(edged, watch, tmp_path):
    folder = tmp_path / "clips"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", folder], check=True)
    try:
        server = live(edged([recorded("always", max_clip_s=10)],
                            settings={"storage": {"path": str(folder), "min_free": "1M"}}))
        viewer = watch(server.url("/front/plain"), view="camera", size=SIZE)
        viewer.wait_numbers(30)

        def recorder(state):
            daemon.wait_for(lambda: server.status()["recorder"]["state"] == state, explain=server.stderr)

        def writes():
            recorder("ready")
            before = server.status()["recorder"]["written_bytes"]
            daemon.wait_for(lambda: server.status()["recorder"]["written_bytes"] > before, explain=server.stderr)

        def assert_said_once():
            said = re.findall(r".*nothing is recorded, trying again every.*", server.stderr())
            assert said and len(said) == len(set(said)), said

        writes()
        ballast = folder / "ballast"
        with ballast.open("wb", buffering=0) as file:
            with pytest.raises(OSError):
                while True:
                    file.write(bytes(4096))
        recorder("stopped")
        viewer.wait_after(time.monotonic_ns(), 90)  # edged tries again in that time
        assert_said_once()
        ballast.unlink()
        writes()
        # The clip that is open keeps a file system from being made read-only.
        edgectl(server, "set", "cameras.front.record.mode=off")
        daemon.wait_for(lambda: server.status()["recorder"]["open_clips"] == 0, explain=server.stderr)
        daemon.wait_for(lambda: subprocess.run(["mount", "-o", "remount,ro", folder], check=False).returncode == 0)
        edgectl(server, "set", "cameras.front.record.mode=always")
        recorder("stopped")
        viewer.wait_after(time.monotonic_ns(), 90)
        assert_said_once()
        assert "Read-only file system" in server.stderr()
        subprocess.run(["mount", "-o", "remount,rw", folder], check=True)
        writes()
        server.assert_accounted(viewer)
        server.stop()
        for file in clip_files(tmp_path):
            assert None not in numbers_in(file)
    finally:
        subprocess.run(["umount", "--lazy", folder], check=True)


def test_changing_what_is_recorded_costs_viewers_no_frame(edged, watch, tmp_path):
    server = live(edged([recorded("off")], settings=settings(tmp_path)))
    viewer = watch(server.url("/front/plain"), view="camera", size=SIZE)
    viewer.wait_numbers(30)
    assert not (tmp_path / "clips").exists()  # nobody has wanted a recorder

    def change(mode):
        edgectl(server, "set", f"cameras.front.record.mode={mode}")

    change("always")
    daemon.wait_for(lambda: clip_files(tmp_path, ".mp4.part"), explain=server.stderr)
    viewer.wait_after(time.monotonic_ns(), 60)
    change("off")
    file, = wait_clips(server, tmp_path, 1)
    assert_accounted(numbers_in(file), server.dropped_until_now())
    viewer.wait_after(time.monotonic_ns(), 30)
    server.assert_accounted(viewer)


def test_a_recorder_that_listens_keeps_its_pre_roll_while_edged_is_restarted(edged, tmp_path):
    path = tmp_path / "recorder.sock"
    recorder = start_recorder(path)
    try:
        camera = recorded(before_s=20.0, after_s=1.0)
        first = live(edged([camera], settings=settings(tmp_path), EDGED_RECORDER=path))
        first.wait_mount("/front/plain", lambda mount: mount["encoded"] >= 90)
        before = first.status()
        first.stop()
        second = live(edged([camera], settings=settings(tmp_path), EDGED_RECORDER=path))
        second.wait_mount("/front/plain", lambda mount: mount["encoded"] >= 45)
        with Events(second) as events:
            move(second, events, 1.0)
        file, = wait_clips(second, tmp_path, 1)
        numbers = numbers_in(file)
        again = next(i for i in range(1, len(numbers)) if numbers[i] < numbers[i - 1])
        assert_accounted_in(numbers[:again], before)
        assert_accounted(numbers[again:], second.dropped_until_now())
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
    daemon.wait_for(lambda: clip_files(tmp_path, ".mp4.part"), explain=server.stderr)
    status = server.status()
    server.stop()
    file, = clip_files(tmp_path)
    numbers = numbers_in(file)
    assert_accounted_in(numbers, status)
    assert len(numbers) > 1
    assert not clip_files(tmp_path, ".part")
