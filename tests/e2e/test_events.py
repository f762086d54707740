"""Motion events from a camera process to those who listen: curl on the control socket, edgectl, the
log and the metrics."""

import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

import pytest

import daemon
from ports import free_port
from test_http import write_users

FAKE_CAMERA = daemon.BUILD / "tests/fakes/camera/fake_camera"
REGIONS = [{"name": "door"}, {"name": "yard"}]  # as the fake camera has them


@pytest.fixture
def moving(edged):
    """An edged whose camera process begins and ends motion in its region "door" on SIGUSR1."""
    server = edged([daemon.camera(regions=REGIONS)], EDGED_CAMERA_PROGRAM=FAKE_CAMERA,
                   FAKE_CAMERA="motion")
    server.wait_camera("front", lambda c: c["state"] == "live" and len(c["regions"]) == 2)
    return server


class Listener:
    """A program that prints lines, each kept as it comes."""

    def __init__(self, command):
        self.lines = []
        self.process = subprocess.Popen(
            [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, env=daemon.environment(TZ="UTC"),
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def wait(self, expression, timeout_s=daemon.PATIENCE_S):
        """The first line that matches."""

        def look():
            return next((line for line in list(self.lines) if re.search(expression, line)), None)

        return daemon.wait_for(look, timeout_s, lambda: "\n".join(self.lines))

    def events(self, kind="motion_"):
        events = [json.loads(x[len("data: "):]) for x in self.lines if x.startswith("data: ")]
        return [event for event in events if event["event"].startswith(kind)]

    def stop(self):
        """A program that it runs would keep its output open: it has to end that itself."""
        self.process.terminate()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()


@pytest.fixture
def listen():
    listeners = []

    def start(*command):
        listeners.append(Listener(command))
        return listeners[-1]

    yield start
    for listener in listeners:
        listener.stop()


def curl(server, listen, *options, query=""):
    return listen(
        "curl", "-sSN", "--unix-socket", server.socket, *options, f"http://edged/v1/events{query}"
    )


def toggle(server):
    """Wait for what one does before the next: signals that are not seen yet count as one."""
    camera = server.wait_camera("front", lambda c: c["process"]["pid"])
    os.kill(camera["process"]["pid"], signal.SIGUSR1)


def test_curl_hears_motion_begin_and_end(moving, listen):
    listener = curl(moving, listen)
    listener.wait("^id: ")
    begin = time.time_ns()
    toggle(moving)
    listener.wait("^event: motion_started$")
    toggle(moving)
    listener.wait("^event: motion_ended$")
    listener.wait('"motion_ended"')
    started, ended = listener.events()
    assert started["camera"] == ended["camera"] == "front"
    assert started["region"] == ended["region"] == "door"
    assert started["number"] == ended["number"] == 1
    assert started["box"] == {"x": 8, "y": 16, "width": 64, "height": 48}
    assert (started["share"], started["peak"]) == (0.25, 0.5)
    assert begin <= started["time_ns"] <= ended["time_ns"] <= time.time_ns()
    assert ended["reason"] == "still"
    # The fake camera says that it saw the motion half a second before it told of it.
    took_s = (ended["time_ns"] - started["time_ns"]) / 1e9 + 0.5
    assert ended["duration_s"] == pytest.approx(took_s, abs=0.25)
    seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(started["time_ns"] // 10**9))
    assert re.fullmatch(re.escape(seconds) + r"\.\d{6}Z", started["time"])


def test_each_user_hears_of_the_cameras_that_it_may_watch(edged, listen, tmp_path):
    """Inside TLS, also of events before, and until a reload takes the user away."""
    users, port = tmp_path / "users", free_port()
    write_users(users, vera="viewer", otto="operator")
    cameras = [daemon.camera("safe", regions=REGIONS,
                             views=[{"name": "edges", "view": "edges", "allow": ["operator"]}]),
               daemon.camera("front", regions=REGIONS)]
    server = edged(cameras, settings={"http": {"port": port, "tls": True}, "rtsp": {"users": str(users)}},
                   EDGED_CAMERA_PROGRAM=FAKE_CAMERA, FAKE_CAMERA="motion", STATE_DIRECTORY=tmp_path)
    for name in ("safe", "front"):
        camera = server.wait_camera(name, lambda c: c["state"] == "live" and len(c["regions"]) == 2)
        os.kill(camera["process"]["pid"], signal.SIGUSR1)
        server.wait_camera(name, daemon.is_moving)
    otto, vera = (
        listen("curl", "-sSkN", "-H", "Last-Event-ID: 0-0", "-u", f"{user}:pass",
               f"https://127.0.0.1:{port}/v1/events") for user in ("otto", "vera"))
    for listener in (otto, vera):
        listener.wait("^event: motion_started$")
        listener.wait('"front"')
    for name in ("safe", "front"):
        os.kill(server.wait_camera(name, daemon.is_moving)["process"]["pid"], signal.SIGUSR1)
        server.wait_camera(name, lambda c: not daemon.is_moving(c))
    for listener in (otto, vera):
        listener.wait('"front".*"motion_ended"|"motion_ended".*"front"')
    assert [event["camera"] for event in vera.events()] == ["front"] * 2
    assert [event["camera"] for event in otto.events()] == ["safe", "front"] * 2
    write_users(users, otto="operator")
    server.hang_up()
    vera.process.wait(daemon.PATIENCE_S)
    assert otto.process.poll() is None


def test_status_and_metrics_show_the_regions(moving):
    toggle(moving)
    door, yard = moving.wait_camera("front", daemon.is_moving)["regions"]
    assert (door["name"], yard["name"]) == ("door", "yard")
    assert door["events"] == 1
    assert not yard["moving"]
    metrics = moving.http_get("/metrics")
    assert 'edged_region_moving{camera="front",region="door"} 1\n' in metrics
    assert 'edged_region_moving{camera="front",region="yard"} 0\n' in metrics
    shown = subprocess.run(
        [daemon.EDGECTL, "status", "--socket", moving.socket], capture_output=True, text=True,
        timeout=daemon.PATIENCE_S, check=True, env=daemon.environment(),
    ).stdout
    assert re.search(r"^front/door +moving +25\.0% +1 +64x48 at 8,16$", shown, re.M)


def test_an_end_follows_when_the_camera_process_dies_and_counters_do_not_go_back(moving, listen):
    listener = curl(moving, listen)
    listener.wait("^id: ")
    toggle(moving)
    listener.wait("motion_started")
    victim = moving.camera()["process"]["pid"]
    os.kill(victim, signal.SIGKILL)
    listener.wait('"reason":"process-ended"')
    moving.wait_camera(
        "front", lambda c: c["state"] == "live" and c["process"]["pid"] not in (0, victim)
    )
    counter = 'edged_region_events_total{camera="front",region="door"}'
    assert f"{counter} 1\n" in moving.http_get("/metrics")
    toggle(moving)
    listener.wait('"number":2,')
    assert f"{counter} 2\n" in moving.http_get("/metrics")
    moving.wait_stderr(r"front: motion in door ended after .*because the camera process ended")


def test_a_listener_hears_of_a_lost_signal_and_of_the_end_of_edged(moving, listen):
    listener = curl(moving, listen)
    listener.wait("^id: ")
    toggle(moving)
    listener.wait("motion_started")
    os.kill(moving.camera()["process"]["pid"], signal.SIGUSR2)
    listener.wait('"reason":"no-signal"')
    toggle(moving)
    listener.wait('"number":2,')
    moving.stop()
    assert listener.process.wait(daemon.PATIENCE_S) == 0  # curl saw the end of the reply, not of the connection
    listener.wait('"number":2,.*"reason":"stopping"')
    assert len(listener.events()) == 4


def test_who_comes_back_with_the_last_id_misses_nothing(moving, listen):
    first = curl(moving, listen)
    first.wait("^id: ")
    toggle(moving)
    first.wait('"motion_started"')
    first.stop()
    last = [line for line in first.lines if line.startswith("id: ")][-1][len("id: "):]
    toggle(moving)
    moving.wait_camera("front", lambda c: not daemon.is_moving(c))
    toggle(moving)
    moving.wait_camera("front", lambda c: c["regions"][0]["events"] == 2)
    second = curl(moving, listen, "-H", f"Last-Event-ID: {last}")
    second.wait('"number":2,')
    assert [(e["event"], e["number"]) for e in second.events()] == [
        ("motion_ended", 1), ("motion_started", 2)
    ]
    fresh = curl(moving, listen)
    fresh.wait('"motion_started"')
    assert [(e["event"], e["number"]) for e in fresh.events()] == [("motion_started", 2)]


def test_listeners_hear_how_each_camera_is_and_when_that_changes(moving, listen):
    watch = listen(daemon.EDGECTL, "watch", "--socket", moving.socket)
    first = curl(moving, listen)
    first.wait('"camera_state"')
    live, = first.events("camera_state")
    assert (live["camera"], live["state"], live["live"], live["error"]) == ("front", "live", True, "")
    assert "id: " not in first.lines[first.lines.index("event: camera_state") - 1]  # it was so before
    watch.wait("  front  live$")
    os.kill(moving.camera()["process"]["pid"], signal.SIGUSR2)
    first.wait('"state":"no signal"')
    lost = first.events("camera_state")[1]
    assert lost["live"] is False and lost["error"] == moving.camera()["error"] != ""
    watch.wait(f"  front  no signal: {re.escape(lost['error'])}$")
    later = curl(moving, listen)
    later.wait('"camera_state"')
    assert later.events("camera_state") == [lost]


def test_listeners_hear_that_settings_have_changed(moving, listen):
    everything, viewer = curl(moving, listen), listen(daemon.EDGECTL, "watch", "--socket", moving.socket)
    everything.wait('"camera_state"')
    viewer.wait("live")
    subprocess.run([daemon.EDGECTL, "set", "--socket", moving.socket, "cameras.front.views.edges.gain=2"], check=True,
                   stdout=subprocess.DEVNULL, timeout=daemon.PATIENCE_S, env=daemon.environment())
    everything.wait("^event: settings_changed$")
    viewer.wait("  the settings have changed$")
    moving.hang_up()
    daemon.wait_for(lambda: len(everything.events("settings_changed")) == 2, explain=moving.stderr)


def test_a_program_is_run_for_the_state_of_a_camera(moving, listen):
    watch = listen(daemon.EDGECTL, "watch", "--socket", moving.socket, "--exec", "sh", "-c",
                   'echo "told $EDGED_EVENT $EDGED_CAMERA $EDGED_STATE $EDGED_LIVE"')
    watch.wait("^told camera_state front live true$")
    os.kill(moving.camera()["process"]["pid"], signal.SIGUSR2)
    watch.wait("^told camera_state front no signal false$")


def test_filters_keep_other_regions_away(moving, listen):
    door = curl(moving, listen, query="?camera=front&region=door")
    yard = curl(moving, listen, query="?region=yard")
    for listener in (door, yard):
        listener.wait("^id: ")
    toggle(moving)
    door.wait("motion_started")
    assert not yard.events()


def test_a_silent_stream_shows_signs_of_life(moving, listen):
    listener = curl(moving, listen)
    listener.wait("^: ")


def test_of_a_hundred_readers_24_are_served_and_the_others_told_to_come_later(moving, listen):
    readers = []
    for _ in range(25):  # so few at a time that with those that go and 24 that stay there are at most 32
        some = [curl(moving, listen, "-w", "%{http_code}") for _ in range(4)]
        daemon.wait_for(lambda: all(reader.lines and (reader.process.poll() == 0 or '"error"' not in reader.lines[0])
                                    for reader in some))
        readers += some

    def split():
        refused = [reader for reader in readers if reader.process.poll() == 0]
        served = [reader for reader in readers if reader not in refused and reader.lines]
        return (refused, served) if len(refused) == 76 and len(served) == 24 else None

    refused, served = daemon.wait_for(split)
    for reader in refused:
        reader.wait("^503$")
        assert '"error"' in reader.lines[0]
    toggle(moving)
    for reader in served:
        reader.wait('"motion_started"')
    assert moving.camera()["state"] == "live"


def test_edgectl_watch_prints_a_line_an_event(moving, listen):
    watch = listen(daemon.EDGECTL, "watch", "--socket", moving.socket)
    machine = listen(
        daemon.EDGECTL, "watch", "--json", "--camera", "front", "--region", "door", "--socket",
        moving.socket,
    )
    toggle(moving)  # those who come later hear of it, too, as long as it lasts
    machine.wait('"motion_started"')
    line = watch.wait("began")
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  front/door  motion began, 25\.0%, 64x48 at 8,16", line
    )
    toggle(moving)
    line = watch.wait("ended")
    assert re.search(r"  front/door  motion ended after \d+\.\d s, at most 50\.0%$", line)
    machine.wait('"motion_ended"')
    assert [json.loads(x)["event"] for x in machine.lines] == ["motion_started", "motion_ended"]


def test_edgectl_watch_comes_back_to_an_edged_that_starts_anew(moving, listen):
    watch = listen(daemon.EDGECTL, "watch", "--json", "--config", moving.config)
    fleeting = [listen(daemon.EDGECTL, "watch", "--reconnect-s", seconds, "--socket", moving.socket)
                for seconds in (0, 1)]
    toggle(moving)
    for each in (watch, *fleeting):
        each.wait("motion_started|began")
    moving.stop()
    for each, reason in zip(fleeting, (r"edged ended the stream", r"away for \d+ s: no edged")):
        each.wait(f"^edgectl: .*{reason}")
        assert each.process.wait(daemon.PATIENCE_S) == 1
    watch.wait("^edgectl: edged ended the stream, trying for 60 s to come back$")
    moving.start()
    watch.wait("^edgectl: edged is back$")
    moving.wait_camera("front", lambda c: c["state"] == "live" and len(c["regions"]) == 2)
    toggle(moving)
    told = daemon.wait_for(lambda: [x for x in watch.lines if "motion_started" in x][1:])
    assert json.loads(told[0])["number"] == 1
    watch.process.terminate()
    assert watch.process.wait(daemon.PATIENCE_S) == 0


def test_who_asks_for_what_is_not_there_is_told_what_is(moving, listen):
    for query, sentence in (
        ("?camera=b%22k%ff", 'camera: there is no "b"k\ufffd", allowed: "front"'),
        ("?region=attic", 'region: there is no "attic", allowed: "door" of camera "front", "yard"'),
        ("?camera=front&region=", 'region: there is no "", allowed: "door" of camera "front", "yard"'),
    ):
        answer = curl(moving, listen, "-w", "%{http_code}", query=query)
        answer.wait("^404$")
        assert sentence in json.loads(answer.lines[0])["error"]
    refused = listen(daemon.EDGECTL, "watch", "--region", "attic", "--socket", moving.socket)
    refused.wait(r'edgectl: region: there is no "attic", allowed: "door" of camera "front"')
    assert refused.process.wait(daemon.PATIENCE_S) == 1


def watch_with(moving, listen, *program, timeout=3600):
    return listen(daemon.EDGECTL, "watch", "--region", "door", "--socket", moving.socket,
                  "--exec-timeout", timeout, "--exec", *program)


def test_a_program_gets_each_event_in_its_environment(moving, listen, tmp_path):
    watch = watch_with(moving, listen, "sh", "-c",
                       'env -0 >"$0/$EDGED_EVENT"; echo told; exit 3', tmp_path)
    for count, kind in enumerate(("motion_started", "motion_ended"), 1):
        toggle(moving)
        watch.wait(rf"^edgectl: front/door: sh failed with exit status 3 \({count} of {count}")
        told = dict(x.split("=", 1) for x in (tmp_path / kind).read_text().split("\0")[:-1])
        event = json.loads(told["EDGED_JSON"])
        assert (event["event"], event["number"]) == (kind, 1)
        for name, value in event.items():
            shown = told[f"EDGED_{name.upper()}"]
            if name == "box":
                assert shown == ",".join(str(value[x]) for x in ("x", "y", "width", "height"))
            else:
                assert shown == (value or "") or float(shown) == pytest.approx(value, 1e-5)
    assert watch.lines.count("told") == 2
    watch.process.terminate()
    watch.wait("^edgectl: sh: runs 2, failed 2, ended 0, events skipped 0$")


def test_a_slow_program_gets_the_newest_event_afterwards(moving, listen, tmp_path):
    program = 'echo "told $EDGED_EVENT $EDGED_NUMBER"; until [ -e "$0/go" ]; do sleep 0.1; done'
    watch = watch_with(moving, listen, "sh", "-c", program, tmp_path)
    for count, seen in ((1, "^told motion_started 1$"), (1, "motion ended"), (2, "motion began")):
        toggle(moving)
        daemon.wait_for(lambda: sum(bool(re.search(seen, line)) for line in watch.lines) >= count)
    (tmp_path / "go").touch()
    watch.wait("^edgectl: front/door: events skipped while sh ran: 1 \\(1 so far\\)$")
    watch.wait("^told motion_started 2$")
    assert not any(line.startswith("told motion_ended") for line in watch.lines)
    toggle(moving)
    watch.wait("^told motion_ended 2$")


def test_one_program_runs_a_region_and_none_beyond_its_time(moving, listen):
    stubborn = ("sh", "-c", 'trap "" TERM; echo runs; while :; do sleep 1; done')
    patient = watch_with(moving, listen, *stubborn)
    brief = watch_with(moving, listen, *stubborn, timeout=1)
    toggle(moving)
    patient.wait("^runs$")
    brief.wait("motion began")  # its program may be ended before it says anything
    toggle(moving)
    patient.wait("motion ended")
    brief.wait("^edgectl: front/door: sh is ended after 1 s, its time limit$")
    patient.process.terminate()
    patient.wait(r"^edgectl: front/door: events skipped while sh ran: 1 \(1 so far\)$")
    patient.wait("^edgectl: sh: runs 1, failed 0, ended 1, events skipped 1$")
    assert patient.process.wait(daemon.PATIENCE_S) == 0


def test_edgectl_watch_goes_on_after_ctrl_z(moving, listen):
    watch = listen(daemon.EDGECTL, "watch", "--json", "--socket", moving.socket)
    toggle(moving)
    watch.wait('"motion_started"')

    def wait_state(state):
        daemon.wait_for(lambda: daemon.process_state(watch.process.pid) == state)

    wait_state("S")
    watch.process.send_signal(signal.SIGSTOP)
    wait_state("T")
    watch.process.send_signal(signal.SIGCONT)
    wait_state("S")
    toggle(moving)
    watch.wait('"motion_ended"')


def test_edgectl_watch_says_what_is_wrong(tmp_path):
    def call(*arguments):
        return subprocess.run(
            [daemon.EDGECTL, "watch", *arguments], capture_output=True, text=True, timeout=daemon.PATIENCE_S,
            check=False, env=daemon.environment(),
        )

    def interrupted(*arguments):
        """Somebody stops it and lets it go on, again and again, as Ctrl-Z and fg do."""
        process = subprocess.Popen([daemon.EDGECTL, "watch", *arguments], stderr=subprocess.PIPE, text=True, env=daemon.environment())
        end = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < end:
            for number in (signal.SIGSTOP, signal.SIGCONT):
                process.send_signal(number)
                time.sleep(0.2)
        process.kill()
        return process.communicate()[1]

    nobody = call("--socket", tmp_path / "none.sock")
    assert nobody.returncode == 1
    assert "no edged listens" in nobody.stderr
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(str(tmp_path / "silent.sock"))
        silent.listen()
        assert "does not answer" in call("--socket", tmp_path / "silent.sock").stderr
        assert "does not answer" in interrupted("--socket", tmp_path / "silent.sock")
    assert call("--jsn").returncode == 2
    assert 'there is no program "none/such" that can be run' in call("--exec", "none/such").stderr
    assert "--exec-timeout 0: allowed are 1 to 3600" in call("--exec-timeout", "0").stderr
    assert '"front"' in call("front").stderr
    assert "--region NAME" in call("--help").stdout
