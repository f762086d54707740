"""Cameras and camera processes fail; viewers stay and the front answers at once."""

import contextlib
import http.client
import os
import pathlib
import re
import signal
import time

import pytest

import daemon
import held
import pattern
import rtsp
import slate
from ports import free_port
from recorded import Events

SIZE = (640, 360)
CAMERA = daemon.camera(width=SIZE[0], height=SIZE[1])
NO_CAMERA = daemon.camera(source="v4l2", device="/dev/video-none", width=SIZE[0], height=SIZE[1])

STALLED_MAX_MIB = 40  # for four of them; what the library lets wait would be six times that


def resident_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(int(x.split()[1]) // 1024 for x in status if x.startswith("VmRSS"))


def camera_pid(server, name="front"):
    return server.wait_camera(name, lambda c: c["process"]["pid"])["process"]["pid"]


def wait_replaced(server, pid):
    """Waits until another camera process than `pid` delivers frames."""
    server.wait_camera("front", lambda c: c["process"]["pid"] not in (0, pid)
                       and c["state"] == "live" and c["frames"] > 0)


def test_killed_camera_process_costs_four_viewers_no_session(edged, watch):
    server = edged([CAMERA])
    kinds = [(p, t) for p in ("gstreamer", "ffmpeg") for t in ("udp", "tcp")]
    viewers = [
        watch(server.url("/front/edges"), program=p, transport=t, size=SIZE) for p, t in kinds
    ]
    for viewer in viewers:
        viewer.wait_numbers(2 * pattern.FPS)
    victim = camera_pid(server)
    os.kill(victim, signal.SIGKILL)
    wait_replaced(server, victim)
    for viewer in viewers:
        viewer.wait_after(time.monotonic_ns(), pattern.FPS)
        assert viewer.watching
    assert server.status()["viewers"] == 4
    assert server.camera()["process"]["restarts"] == 1
    assert "was killed by signal 9" in server.stderr()


@pytest.mark.parametrize("codec", ["h265", "mjpeg"])
def test_slates_of_a_codec_hold_its_viewers(edged, watch, codec):
    view = {"name": "edges", "view": "edges", "codec": codec}
    server = edged([daemon.camera(views=[view], width=SIZE[0], height=SIZE[1])])
    viewer = watch(server.url("/front/edges"), program="ffmpeg", size=SIZE, keep_every=1000)
    viewer.wait_numbers(pattern.FPS)
    victim = camera_pid(server)
    os.kill(victim, signal.SIGSTOP)
    viewer.wait_until(lambda seen: sum(n is None for n, _ in seen) >= 2)
    with contextlib.suppress(ProcessLookupError):  # edged may have been first
        os.kill(victim, signal.SIGKILL)
    wait_replaced(server, victim)
    viewer.wait_after(time.monotonic_ns(), pattern.FPS)
    assert viewer.watching and viewer.stop()
    assert any(map(slate.shows_no_signal, viewer.unreadable_pictures()))


def thread_of(pid, name):
    """The kernel's list leaves threads out while others begin and end."""
    while True:
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
                if (task / "comm").read_text() == f"{name}\n":
                    return int(task.name)
        time.sleep(0.01)


def test_hanging_camera_process_is_replaced_and_viewers_stay(edged, watch):
    server = edged([CAMERA])
    viewer = watch(server.url("/front/edges"), keep_every=1000)
    viewer.wait_numbers(pattern.FPS)
    pid = camera_pid(server)
    os.kill(pid, signal.SIGSTOP)
    # The front's own slates: another process comes later.
    viewer.wait_until(lambda seen: sum(n is None for n, _ in seen) >= 2)
    wait_replaced(server, pid)
    viewer.wait_after(time.monotonic_ns(), pattern.FPS)
    assert viewer.watching and viewer.stop()
    assert any(map(slate.shows_no_signal, viewer.unreadable_pictures()))
    assert server.camera()["process"]["restarts"] == 1


def test_no_signal_is_said_as_the_slate_comes_before_the_camera_is_opened_again(edged):
    camera = daemon.camera(source="gstreamer", width=SIZE[0], height=SIZE[1],
                           pipeline="videotestsrc is-live=true name=source")
    server = edged([camera])
    server.wait_camera("front", lambda c: c["state"] == "live")
    with held.stopped(thread_of(camera_pid(server), "source:src")):
        server.wait_stderr("front: no signal: .* delivers no frames, opening it again if none come")
        server.wait_camera("front", lambda c: c["state"] == "no signal")
    server.wait_camera("front", lambda c: c["state"] == "live")


def test_a_lane_that_hangs_is_told_and_its_process_replaced(edged, watch):
    """It stands in a call, as of a driver; the process's other threads go on."""
    server = edged([CAMERA])
    viewer = watch(server.url("/front/edges"), keep_every=1000)
    viewer.wait_numbers(pattern.FPS)
    pid = camera_pid(server)
    with Events(server) as events:
        assert events.next("camera_state")["state"] == "live"
        with held.stopped(thread_of(pid, "lane")):
            hanging = events.next("camera_state")
            server.wait_stderr("the camera process hangs: a driver or plugin has not returned for 5 s")
    assert hanging["state"] == "hanging" and "has not returned for" in hanging["error"]
    wait_replaced(server, pid)
    viewer.wait_after(time.monotonic_ns(), pattern.FPS)
    assert viewer.watching and viewer.stop()


def test_snapshots_that_hang_are_told_and_their_process_replaced(edged, watch):
    """The thread that makes them stands in a call, and viewers miss nothing until it is replaced."""
    server = edged([CAMERA], settings={"http": {"port": free_port()}})
    viewer = watch(server.url("/front/edges"), keep_every=1000)
    viewer.wait_numbers(pattern.FPS)
    pid, port = camera_pid(server), server.settings["http"]["port"]

    def snapshot():
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=daemon.PATIENCE_S)) as asking:
            asking.request("GET", "/snapshot.jpg")
            return asking.getresponse().status

    daemon.wait_for(lambda: snapshot() == 200)
    with held.stopped(thread_of(pid, "snapshots")):
        # Whoever wants one asks again: a hang is one while a snapshot is waited for.
        daemon.wait_for(lambda: snapshot() and
                        "the camera process hangs: no snapshot was made for 20 s" in server.stderr())
    wait_replaced(server, pid)
    daemon.wait_for(lambda: snapshot() == 200)
    assert viewer.watching and viewer.stop()


def test_a_slow_encoder_gives_up_rate_then_size_and_takes_them_back(
        edged, elements, watch, tmp_path):
    """Nanoseconds a pixel: at 30 frames/s the whole picture has 145, a quarter of that rate 580."""
    slowness = tmp_path / "slowness"
    views = [{"name": "edges", "view": "edges", "governor": "rate-size"}]
    camera = daemon.camera(width=SIZE[0], height=SIZE[1], views=views)
    server = edged([camera], FAKE_ENCODER=f"slow:{slowness}", **elements("encoder"))
    viewer = watch(server.url("/front/edges"), program="ffmpeg", size=SIZE)
    viewer.wait_numbers(pattern.FPS)
    server.wait_mount("/front/edges", lambda m: m["governor"] == "")
    # At 200 half the rate would do where nothing else runs.
    for ns, governor in ("200", "rate 1/"), ("900", "rate 1/4, size 1/2"):
        slowness.write_text(ns)
        server.wait_mount("/front/edges", lambda m: governor in m["governor"])
        viewer.wait_after(time.monotonic_ns())
    slowness.unlink()
    server.wait_mount("/front/edges", lambda m: m["governor"] == "")
    viewer.wait_after(time.monotonic_ns(), pattern.FPS)
    assert server.camera()["process"]["restarts"] == 0
    assert re.search('view "edges": v4l2h264enc keeps up again, encoding all of it',
                     server.stderr())


def test_an_encoder_that_fails_is_its_views_fault_alone(edged, elements, watch):
    """It is made again, and when that one fails, too, the next kind takes its place."""
    views = [{"name": "edges", "view": "edges"}, {"name": "good", "view": "edges", "encoder": "x264enc"}]
    camera = daemon.camera(views=views, width=SIZE[0], height=SIZE[1])
    server = edged([camera], FAKE_ENCODER="fail:30", **elements("encoder"))
    viewer, good = watch(server.url("/front/edges")), watch(server.url("/front/good"))
    server.wait_mount("/front/edges", lambda m: m["encoder"] == "x264enc")
    for each in viewer, good:
        each.wait_after(time.monotonic_ns(), pattern.FPS)
        assert each.watching
    missing, _ = pattern.holes(good.frames[pattern.FPS // 2 :], 1 << pattern.NUMBER_BITS)
    daemon.wait_for(lambda: missing <= pattern.FPS * (server.camera()["dropped"] + server.mount("/front/good")["dropped"]),
                    explain=lambda: f"{missing} are missing: {good.frames}")
    camera = server.camera()
    assert (camera["process"]["restarts"], camera["reconnects"]) == (0, 0)
    assert re.findall('"edges": (v4l2h264enc failed: .*)', server.stderr()) == [
        "v4l2h264enc failed: the fake encoder fails, making it anew",
        "v4l2h264enc failed: the fake encoder fails, trying the next encoder",
    ]


def test_a_view_whose_only_encoder_fails_goes_and_the_others_stay(edged, elements, watch):
    views = [{"name": "good", "view": "edges"}, {"name": "bad", "view": "edges", "encoder": "v4l2h264enc"}]
    camera = daemon.camera(views=views, width=SIZE[0], height=SIZE[1])
    server = edged([camera], FAKE_ENCODER="fail:30", **elements("encoder"))
    good = watch(server.url("/front/good"))
    watch(server.url("/front/bad"))
    server.wait_mount("/front/bad", lambda m: m["encoder"] == "none works")
    good.wait_after(time.monotonic_ns(), pattern.FPS)
    assert good.watching and server.camera()["reconnects"] == 0
    server.wait_stderr('view "bad": no encoder works; v4l2h264enc: it failed twice while it encoded, going on')


@pytest.mark.parametrize("fault", ("hang:0", "swallow:60", "hang:60"))
def test_an_encoder_that_hangs_gives_way_to_the_next_one(edged, elements, watch, fault):
    """In the trial, and later; x264enc is the next, and the viewer stays."""
    server = edged([CAMERA], FAKE_ENCODER=fault, **elements("encoder"))
    viewer = watch(server.url("/front/edges"))
    server.wait_camera("front", lambda c: c["encoders_passed_over"])
    server.wait_camera("front", lambda c: c["state"] == "live")
    viewer.wait_after(time.monotonic_ns(), pattern.FPS)
    assert viewer.watching
    camera = server.camera()
    assert (camera["encoder_hangs"], camera["process"]["restarts"]) == (1, 1)
    assert camera["encoders_passed_over"] == ["v4l2h264enc"]
    assert server.mount()["encoder"] == "x264enc"
    assert server.stderr().count("v4l2h264enc hung") == 1


def test_an_encoder_that_gives_nothing_back_costs_no_process(edged, elements, watch):
    """Each trial takes 8 s, and a lane that waits for an encoder is given 10 s."""
    views = [{"name": name, "view": "edges"} for name in ("edges", "again", "more")]
    server = edged([daemon.camera(views=views, width=SIZE[0], height=SIZE[1])], FAKE_ENCODER="swallow:0",
                   **elements("encoder"))
    viewer = watch(server.url("/front/more"))
    viewer.wait_numbers(pattern.FPS)
    server.wait_mount("/front/more", lambda m: m["encoder"] == "x264enc")
    assert server.camera()["process"]["restarts"] == 0


def test_a_camera_process_that_cannot_be_killed_is_left_behind(edged, watch):
    """One that hangs in a driver: viewers get the next one's pictures, systemd its watchdog."""
    server = edged([CAMERA], WATCHDOG_USEC=200_000)
    viewer = watch(server.url("/front/edges"))
    viewer.wait_numbers(pattern.FPS)
    pid = camera_pid(server)
    with held.unkillable(pid):
        os.kill(pid, signal.SIGKILL)
        server.wait_stderr(f"cannot be killed, leaving process {pid} behind, starting it again")
        server.wait_camera("front", lambda c: c["process"]["pid"] not in (0, pid))
        viewer.wait_after(time.monotonic_ns(), pattern.FPS)
        told = server.notify.told.count("WATCHDOG=1")
        daemon.wait_for(lambda: server.notify.told.count("WATCHDOG=1") > told)
        assert pathlib.Path(f"/proc/{pid}").exists()
    assert viewer.watching


def test_a_main_loop_that_hangs_misses_the_watchdog_until_it_goes_on(edged):
    server = edged([CAMERA], WATCHDOG_USEC=200_000)
    count = lambda: server.notify.told.count("WATCHDOG=1")  # noqa: E731
    daemon.wait_for(count)
    with held.stopped(server.process.pid):
        server.notify.flush()
        told = count()
        time.sleep(1)  # ten intervals
        assert count() <= told + 1
    daemon.wait_for(lambda: count() > told + 1)


def test_stalled_viewers_are_hung_up_on_and_disturb_nobody(edged, watch):
    # AddressSanitizer keeps what was freed, 256 MiB of it, which is not what is measured.
    sanitizer = f"{os.environ.get('ASAN_OPTIONS', '')}:quarantine_size_mb=8"
    server = edged([daemon.camera()], ASAN_OPTIONS=sanitizer)
    viewer = watch(server.url("/front/edges"))
    viewer.wait_numbers(pattern.FPS)
    before_mib = resident_mib(server.process.pid)
    stalled = [rtsp.play_and_stall(server.url("/front/edges")) for _ in range(4)]
    daemon.wait_for(lambda: server.status()["viewers"] == 1)
    assert resident_mib(server.process.pid) < before_mib + STALLED_MAX_MIB
    for connection in stalled:
        assert rtsp.read_to_end(connection) < STALLED_MAX_MIB << 20
        connection.close()
    server.assert_accounted(viewer)


def test_absent_camera_shows_no_signal_and_says_why(edged, watch):
    server = edged([NO_CAMERA])
    viewer = watch(server.url("/front/edges"), keep_every=1)
    viewer.wait_frames(6)
    viewer.stop()
    pictures = viewer.unreadable_pictures()
    assert [slate.shows_no_signal(picture) for picture in pictures] == [True] * len(pictures)
    camera = server.wait_camera("front", lambda c: c["state"] == "no signal")
    assert "/dev/video-none does not exist" in camera["error"]
    assert "/dev/video-none does not exist" in server.stderr()


def test_slate_counts_the_time_since_loss(edged, watch):
    server = edged([NO_CAMERA])
    viewer = watch(server.url("/front/edges"), keep_every=1)

    def changes():
        first, *later = viewer.unreadable_pictures() or [None]
        return [abs(picture.astype(int) - first) > 40 for picture in later]

    daemon.wait_for(lambda: any(changed.any() for changed in changes()))
    # Letters and ground stand still; digits of the clock go by.
    assert all(changed.mean() < 0.05 for changed in changes())


def test_slate_goes_on_while_the_camera_process_is_dead(edged, watch):
    server = edged([NO_CAMERA])
    viewer = watch(server.url("/front/edges"), keep_every=1)
    viewer.wait_frames(3)
    os.kill(camera_pid(server), signal.SIGKILL)
    killed_ns = time.monotonic_ns()
    viewer.wait_until(lambda frames: sum(t > killed_ns for _, t in frames) >= 4)
    assert viewer.stop()
    assert all(slate.shows_no_signal(picture) for picture in viewer.unreadable_pictures())


def test_memory_that_runs_out_costs_the_camera_process_first(edged):
    server = edged([daemon.camera()])

    def oom_score_adj(pid):
        with open(f"/proc/{pid}/oom_score_adj", encoding="ascii") as file:
            return int(file.read())

    front = oom_score_adj(server.process.pid)
    server.wait_camera("front", lambda c: oom_score_adj(c["process"]["pid"]) == max(front, 500))


def test_one_dead_camera_leaves_the_other_alone(edged, watch):
    server = edged(
        [
            daemon.camera("good", width=640, height=360),
            daemon.camera("bad", width=640, height=360),
        ]
    )
    viewer = watch(server.url("/good/edges"))
    viewer.wait_numbers(pattern.FPS)

    os.kill(camera_pid(server, "bad"), signal.SIGKILL)
    server.wait_camera("bad", lambda c: c["process"]["restarts"] == 1)
    viewer.wait_after(time.monotonic_ns(), pattern.FPS)
    server.assert_accounted(viewer)
    assert server.camera("good")["process"]["restarts"] == 0
