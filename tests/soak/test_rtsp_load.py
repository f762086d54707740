"""Crowds, and clients that are slow or mean harm: what they may cost edged and its viewers, by the
clock. What such clients are answered is tested in tests/e2e/test_rtsp_attacks.py."""

import contextlib
import json
import os
import pathlib
import select
import socket
import subprocess
import threading
import time

import pytest

import daemon
import rtp
import rtsp
import rtsp_client
from rtsp_client import Connection

SMALL = {"width": 320, "height": 240}
LOAD = daemon.BUILD / "tests/bench/viewer_load"
GAP_MAX_MS = 100
# Noise, which no encoder makes small.
NOISE = {
    "source": "gstreamer",
    "pipeline": "videotestsrc is-live=true pattern=snow ! video/x-raw,format=NV12,width=640,"
    "height=480,framerate=30/1",
    "width": 640, "height": 480, "fps": 30,
}  # fmt: skip
CONNECTIONS, SESSIONS = 20_000, 2_000
SETTLED = 2_000  # until the allocator has what it needs
HUNG_UP_S = 10


def resident_kb(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(next(line.split()[1] for line in text.splitlines() if line.startswith("VmRSS")))


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


class Watcher:
    """One viewer in a process of its own, beside what the test does; counts() ends the watch."""

    def __init__(self, url, seconds):
        self.process = subprocess.Popen(
            [LOAD, url, "1", str(seconds)], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout.readline() == "playing\n"

    def counts(self):
        told = json.loads(self.process.stdout.readline())
        self.process.stdout.close()
        self.process.wait()
        print(told)
        return told

    @property
    def watching(self):
        return self.process.poll() is None


def assert_undisturbed(counts):
    assert counts["lost"] == 0 and counts["longest_gap_ms"] <= GAP_MAX_MS, counts


@pytest.fixture
def server(edged):
    limits = {"requests_a_second": 10000}
    one = edged([daemon.camera(**SMALL)], settings={"rtsp": {"limits": limits}})
    rtsp.wait_served(one.url("/front/edges"))
    return one


def describe_once(url):
    with Connection(url) as connection:
        assert connection.ask("DESCRIBE", url).status == 200


def play_once(url):
    with Connection(url) as connection:
        session = rtsp_client.set_up(connection, url)
        session.play()
        rtp.Receiver(session).read_unit()
        assert session.ask("TEARDOWN").status == 200


@pytest.mark.parametrize(
    "do, count", [(describe_once, CONNECTIONS), (play_once, SESSIONS)], ids=["describe", "play"]
)
def test_clients_that_come_and_go_leave_nothing_behind(server, do, count):
    url, pid = server.url("/front/edges"), server.process.pid
    for _ in range(SETTLED):
        do(url)
    before = descriptors(pid), resident_kb(pid)
    for _ in range(count):
        do(url)
    daemon.wait_for(lambda: descriptors(pid) <= before[0])
    after = descriptors(pid), resident_kb(pid)
    print(f"{count} times {do.__name__}: (descriptors, KiB) {before} before, {after} after")
    assert after[1] <= before[1] * 1.01


def read_slowly(connection, bytes_a_second, over):
    """Parts what comes into access units; returns when `over` is set."""
    while not over.wait(0.05):
        try:
            connection.recv(bytes_a_second // 20)
        except ConnectionError:
            return


def note_ends(strangers, begun_s, seconds):
    """How long each of the sockets that is hung up on by now has been connected."""
    for stranger in select.select([one for one in strangers if one in begun_s], [], [], 0.02)[0]:
        with contextlib.suppress(ConnectionError):
            assert stranger.recv(1) == b"", "nothing was asked"
        seconds.append(time.monotonic() - begun_s.pop(stranger))


def test_slow_and_stalled_readers_cost_nobody_anything(edged):
    """Of 50 Mbit/s; with 200 connections that say nothing, or all that is kept of a request without
    end."""
    view = {"name": "noise", "view": "camera", "encoder": "x264enc", "bitrate_kbps": 50000}
    server = edged([daemon.camera(views=[view], **NOISE)])
    url, pid = server.url("/front/noise"), server.process.pid
    rtsp.wait_served(url)
    server.wait_camera("front", lambda c: c["state"] == "live")
    viewer = Watcher(url, 30)
    before = descriptors(pid), resident_kb(pid)
    begun_s = {}
    for _ in range(200):
        now_s = time.monotonic()
        begun_s[socket.create_connection(("127.0.0.1", server.port))] = now_s
    strangers = list(begun_s)
    for stranger in strangers[:100]:
        stranger.sendall(b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\nX: " + b"y" * 8000)
    slow = [rtsp.play_and_stall(url, receive_buffer_bytes=65536) for _ in range(5)]
    stalled = [rtsp.play_and_stall(url) for _ in range(5)]
    begin_s = time.monotonic()
    over = threading.Event()
    readers = [
        threading.Thread(target=read_slowly, args=(one, 400_000, over)) for one in slow
    ]
    for reader in readers:
        reader.start()
    most_kb, took_s, strangers_s = 0, None, []
    while viewer.watching and time.monotonic() < begin_s + 25:
        most_kb = max(most_kb, resident_kb(pid))
        if took_s is None and descriptors(pid) <= before[0] + len(slow):
            took_s = time.monotonic() - begin_s
        note_ends(strangers, begun_s, strangers_s)
    counts = viewer.counts()
    left = descriptors(pid)
    over.set()
    for reader in readers:
        reader.join()
    for one in (*strangers, *stalled, *slow):
        one.close()
    print(
        f"{(most_kb - before[1]) / 1024:.1f} MiB more, strangers hung up on after"
        f" {max(strangers_s):.2f} s, all that stalled after {took_s} s, descriptors {before[0]} before and {left} with those that are slow"
    )
    assert counts["bytes"] * 8e-6 / 30 > 40, "not the bitrate that this is about"
    assert_undisturbed(counts)
    assert most_kb - before[1] <= 8192
    assert not begun_s and max(strangers_s) <= HUNG_UP_S
    assert took_s is not None and took_s <= HUNG_UP_S
    assert left >= before[0] + len(slow) - 1, "who reads slowly goes on"


def say_nothing(_):
    pass


def report(session):
    session.send_rtcp(b"\x80\xc9\x00\x01\x11\x22\x33\x44")  # of a receiver, empty


KEEP_ALIVE = [say_nothing, report] + [
    lambda session, method=method: session.ask(method)
    for method in ("OPTIONS", "GET_PARAMETER", "SET_PARAMETER", "PLAY")
]


def watch_until_silence(session, keep_alive, seconds, took_s):
    """Reads for so long, or until nothing comes any more. Notes how long that was."""
    begin_s = told_s = time.monotonic()
    while time.monotonic() < begin_s + seconds:
        if not select.select(session.receivers, [], [], 2)[0]:
            break
        session.read()
        if time.monotonic() > told_s + 25:
            keep_alive(session)
            told_s = time.monotonic()
    took_s.append(time.monotonic() - begin_s)


def test_sessions_over_udp_live_as_long_as_their_viewers(server):
    """60 s, and on for as long as there is a sign of the viewer, of whatever kind."""
    url, lived_s = server.url("/front/edges"), [[] for _ in KEEP_ALIVE]
    connections = [Connection(url) for _ in KEEP_ALIVE]
    threads = []
    for connection, keep_alive, took_s in zip(connections, KEEP_ALIVE, lived_s):
        session = rtsp_client.set_up(connection, url, "udp")
        session.play()
        threads.append(
            threading.Thread(
                target=watch_until_silence, args=(session, keep_alive, 100, took_s)
            )
        )
        threads[-1].start()
    for thread in threads:
        thread.join()
    for connection in connections:
        connection.close()
    print(lived_s)
    assert 60 <= lived_s[0][0] <= 65, "who says nothing: up to 2 s of silence are noticed later"
    assert all(took_s[0] >= 100 for took_s in lived_s[1:])
