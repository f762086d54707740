"""Each program is stopped while others make it work: it ends cleanly, and nobody is served from what is freed.
And what one that crashes or hangs leaves behind.

Without a sanitizer memory is filled with junk as it is freed, so that a use after free crashes."""

import ctypes
import http.client
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time

import pytest

import daemon
import held
import rtsp
from ports import free_port
from recorder_front import ALWAYS, Front, Video
from test_faults import thread_of
from test_views_at_once import readers  # noqa: F401

JUNK = {"G_SLICE": "always-malloc", "MALLOC_PERTURB_": "165"}
SMALL = {"width": 160, "height": 120, "fps": 10}
PAGES = ("/v1/status", "/v1/cameras", "/v1/views", "/metrics", "/v1/config", "/snapshot.jpg", "/v1/clips",
         "/v1/events", "/v1/video?view=a/plain", "/v1/nothing")


def ask_until(ended, port, said):
    """Asks for one page after another, by connections that last; `said` gets the statuses."""
    client = None
    while not ended.is_set():
        try:
            client = client or http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            client.request("GET", random.choice(PAGES))
            reply = client.getresponse()
            said.add(reply.status)
            if reply.chunked:  # one that goes on
                reply.read(1)
                client.close()
            else:
                reply.read()
        except (OSError, http.client.HTTPException):
            client = None
            ended.wait(0.005)


@pytest.mark.parametrize("round_", range(3))
def test_edged_stops_cleanly_while_clients_ask(edged, tmp_path, round_):
    port = free_port()
    views = [{"name": "plain", "view": "camera"}, {"name": "edges", "view": "edges"}]
    cameras = [{**daemon.camera(name, views=[dict(v) for v in views], **SMALL), "record": {"mode": "always"}}
               for name in "ab"]
    server = edged(cameras, STATE_DIRECTORY=tmp_path, settings={
        "http": {"port": port}, "storage": {"path": str(tmp_path / "clips"), "min_free": "1M"}}, **JUNK)
    rtsp.wait_served(server.url("/a/edges"))
    ended, said = threading.Event(), set()
    clients = [threading.Thread(target=ask_until, args=(ended, port, said)) for _ in range(24)]
    for client in clients:
        client.start()
    try:
        daemon.wait_for(lambda: {200, 404} <= said)
        time.sleep(0.3 * round_)
        server.stop()
    finally:
        ended.set()
        for client in clients:
            client.join()
    assert said <= {200, 403, 404, 503}


@pytest.mark.parametrize("how", [signal.SIGTERM, None], ids=["told to", "hung up on"])
def test_a_recorder_stops_cleanly_while_it_writes(tmp_path, how):
    video = Video(tmp_path, 200, size="160x120", bitrate="200k")
    front = Front(tmp_path / "clips", environment=daemon.environment(**JUNK))
    front.wait_ready()
    for track in (1, 2, 3):
        front.track(track, f"camera{track}", mode=ALWAYS)
    base_ns = time.monotonic_ns() - 3 * 10**9
    process, ended = front.process, threading.Event()

    def play():
        number = 0
        try:
            while not ended.is_set():
                for track in (1, 2, 3):
                    front.play(track, video, number, number + 5, base_ns)
                number += 5
        except OSError:
            pass  # the recorder has gone

    player = threading.Thread(target=play)
    player.start()
    front.wait(lambda: front.state["written_bytes"], "that it writes")
    if how:
        process.send_signal(how)
    else:
        front.socket.shutdown(socket.SHUT_RDWR)
    said = process.communicate(timeout=daemon.PATIENCE_S)[1]
    ended.set()
    player.join()
    front.socket.close()
    assert process.returncode == 0 and "crashed" not in said and not daemon.SANITIZER_REPORT.search(said), said


def test_camera_processes_stop_cleanly_while_they_are_watched(edged, readers):  # noqa: F811
    """Each change of the rate ends one and begins the next."""
    views = [{"name": view, "view": view} for view in ("camera", "edges", "canny", "motion")]
    server = edged([daemon.camera("a", views=views, **SMALL)], settings={"http": {"port": free_port()}}, **JUNK)
    for view in views:
        readers(server.url(f"/a/{view['name']}"))
    ended, said = threading.Event(), set()
    clients = [threading.Thread(target=ask_until, args=(ended, server.settings["http"]["port"], said))
               for _ in range(4)]
    for client in clients:
        client.start()
    try:
        for fps in (15, 20, 25, 30, 10):
            before = server.wait_camera("a", lambda c: c["state"] == "live")["process"]["pid"]
            server.reload([{**server.cameras[0], "fps": fps}])
            server.wait_camera("a", lambda c: c["state"] == "live" and c["process"]["pid"] not in (0, before))
    finally:
        ended.set()
        for client in clients:
            client.join()
    assert "killed by signal" not in server.stderr()


def names_of(program, addresses):
    """The functions of the program itself that the addresses of a line are in, those that are inlined too."""
    own = re.findall(rf"\b{program.name}\+(0x[0-9a-f]+)", addresses)
    told = subprocess.run(["addr2line", "-fie", program, *own], capture_output=True, text=True, check=True)
    return told.stdout.splitlines()[::2]


def build_id_of(program):
    notes = subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout
    return re.search("Build ID: ([0-9a-f]+)", notes)[1]


LOOPS = {"edged": "front_run", "edged-camera": "camera_run", "edged-recorder": "main"}
CRASH = r"(edged\S*): error: crashed by signal (\d+) \((SIG\w+)\) in thread (\S+), build-id (\w+), return addresses:(( \S+)+)\n"


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGSYS])
@pytest.mark.parametrize("program", ["edged", "edged-camera", "edged-recorder"])
def test_a_crash_leaves_its_addresses_and_nothing_of_the_memory(edged, tmp_path, program, number):
    secret = "a secret of the environment"
    camera = {**daemon.camera("a", **SMALL), "record": {"mode": "always"}}
    server = edged([camera], STATE_DIRECTORY=tmp_path, EDGED_SECRET=secret,
                   ASAN_OPTIONS=f"{os.environ.get('ASAN_OPTIONS', '')}:handle_segv=0",
                   settings={"storage": {"path": str(tmp_path / "clips"), "min_free": "1M"}})
    server.may_crash = True
    server.wait_camera("a", lambda c: c["state"] == "live")
    daemon.wait_for(lambda: server.status()["recorder"]["state"] == "ready")  # it minds signals by then
    pids = {"edged": server.process.pid, "edged-camera": server.camera("a")["process"]["pid"]}
    recorder, = set(daemon.process_children(server.process.pid)) - set(pids.values())
    pid = {**pids, "edged-recorder": recorder}[program]
    ctypes.CDLL(None).tgkill(pid, pid, number)  # by kill() any thread may get it
    said = server.wait_stderr(CRASH)
    file = daemon.BUILD / program
    assert (said[1], int(said[2]), said[3], said[5]) == (program, number, number.name, build_id_of(file))
    assert LOOPS[program] in names_of(file, said[6]) and secret not in said[0]
    assert re.fullmatch(r"( ([\w.+-]+\+0x[0-9a-f]+|\?))+", said[6]), "addresses of files alone"
    if program == "edged":
        assert server.process.wait(daemon.PATIENCE_S) == -number
    else:
        server.wait_stderr(rf"killed by signal {int(number)}" if program == "edged-camera" else "recorder .*signal")


def test_a_process_that_hangs_says_where_before_it_is_killed(edged):
    server = edged([daemon.camera("a", **SMALL)])
    pid = server.wait_camera("a", lambda c: c["state"] == "live")["process"]["pid"]
    with held.stopped(thread_of(pid, "lane")):
        server.wait_stderr(rf"a: where process {pid} hangs, on a machine with a load of [\d.]+ [\d.]+ [\d.]+ ")
        server.wait_stderr(rf"a: threads of process {pid}: .*\blane t\b")
        server.wait_stderr(rf"a: threads of process {pid}: .*\bedged-camera [SRD]( in \w+)?")
        said = server.wait_stderr(r"edged-camera: warning: thread edged-camera stands at, build-id (\w+):(( \S+)+)\n")
    program = daemon.BUILD / "edged-camera"
    assert said[1] == build_id_of(program) and "camera_run" in names_of(program, said[2])
    server.wait_camera("a", lambda c: c["process"]["pid"] not in (0, pid))
