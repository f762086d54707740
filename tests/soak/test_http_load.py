"""Video, clips and log-ins over HTTPS beside 64 connections of each of four addresses without a login,
with a certificate whose handshakes are slow."""

import contextlib
import http.client
import json
import multiprocessing
import select
import ssl
import statistics
import subprocess
import time

import pytest

import daemon
from fake_recorder import Recorder
from ports import free_port
from streams import CAMERA
from test_http import write_users
from test_http_strangers import Handshake, connect, request

STRANGERS, EACH = [f"127.0.0.{number}" for number in range(9, 13)], 64
P95_MAX_S, TIMES_MAX = 0.2, 2
VIDEO = "/v1/cameras/front/views/edges/video"
CLIP = b"moov" * 5000


@pytest.fixture
def server(edged, tmp_path):
    users, port = tmp_path / "rtsp.users", free_port()
    write_users(users, vera="viewer")
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:4096", "-nodes", "-days", "2", "-subj", "/CN=edged", "-keyout",
         tmp_path / "own.key", "-out", tmp_path / "own.crt"], check=True, capture_output=True)
    recorder = Recorder(tmp_path / "recorder.sock")
    recorder.add(5, CLIP, camera=b"front", view=b"edges", start_wall_ns=10**18, end_wall_ns=10**18 + 10**9)
    server = edged([daemon.camera(**CAMERA)], STATE_DIRECTORY=tmp_path, EDGED_RECORDER=recorder.path, settings={
        "http": {"port": port, "tls": True},
        "rtsp": {"users": str(users), "certificate": str(tmp_path / "own.crt"), "key": str(tmp_path / "own.key")}})
    server.api = port
    yield server
    recorder.close()


class Other:
    """A browser of the user vera, which opens a connection for each thing that it does."""

    def __init__(self, server, address):
        self.server, self.address, self.cookie = server, address, None
        self.took_s = {"log-in": [], "video": [], "clip": []}

    def ask(self, kind, method, path, size, body=None):
        connection = http.client.HTTPSConnection("127.0.0.1", self.server.api, timeout=daemon.PATIENCE_S,
                                                 source_address=(self.address, 0),
                                                 context=ssl._create_unverified_context())
        headers = {"Cookie": self.cookie} if self.cookie else {}
        if body:
            headers = {"Origin": f"https://127.0.0.1:{self.server.api}", "Content-Type": "application/json"}
        begin_s = time.monotonic()
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        assert reply.status == 200, (kind, reply.status, reply.read(300))
        assert len(reply.read(size)) == size
        self.took_s[kind].append(time.monotonic() - begin_s)
        cookie = reply.getheader("Set-Cookie")
        connection.close()
        return cookie

    def act(self):
        self.cookie = self.ask("log-in", "POST", "/v1/login", 3, json.dumps(
            {"user": "vera", "password": "pass"})).split(";")[0]
        self.ask("video", "GET", VIDEO, 16)
        self.ask("clip", "GET", "/v1/clips/5.mp4", len(CLIP))

    def p95_s(self):
        return {kind: statistics.quantiles(took, n=20)[-1] for kind, took in self.took_s.items()}


class Stranger:
    """One of EACH connections of an address, which is opened again half a second after edged has ended it."""

    def __init__(self, crowd, address):
        self.crowd, self.address, self.connection, self.opens_s = crowd, address, None, 0

    def open(self):
        self.connection = connect(self.crowd.server, self.address, **self.crowd.options)
        self.connection.setblocking(False)
        if self.crowd.tls:
            self.connection = self.crowd.tls.wrap_socket(self.connection, do_handshake_on_connect=False)
        self.crowd.watch(self, select.EPOLLOUT)

    def close(self):
        self.crowd.forget(self)
        self.connection.close()
        self.connection, self.opens_s = None, time.monotonic() + 0.5

    def go_on(self, events):
        """With its handshake, and then its request, behind which it waits in silence."""
        if events & (select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR):
            self.close()
            return
        waits_for = 0
        try:
            if self.crowd.tls:
                self.connection.do_handshake()
            if self.crowd.text:
                self.connection.send(self.crowd.text)
        except ssl.SSLWantReadError:
            waits_for = select.EPOLLIN
        except (ssl.SSLWantWriteError, BlockingIOError):
            waits_for = select.EPOLLOUT
        except OSError:
            self.close()
            return
        self.crowd.watch(self, waits_for)


class Crowd:
    """EACH strangers of each address, in one thread that waits for their sockets: so they take nothing of the
    processors that edged and those who are measured need."""

    def __init__(self, server, text=b"", tls=False, **options):
        self.server, self.text, self.options = server, text, options
        self.tls = ssl._create_unverified_context() if tls else None
        self.epoll, self.of = select.epoll(), {}
        self.strangers = [Stranger(self, address) for _ in range(EACH) for address in STRANGERS]

    def watch(self, stranger, events):
        fd = stranger.connection.fileno()
        (self.epoll.modify if fd in self.of else self.epoll.register)(fd, events | select.EPOLLRDHUP)
        self.of[fd] = stranger

    def forget(self, stranger):
        fd = stranger.connection.fileno()
        self.epoll.unregister(fd)
        del self.of[fd]

    def run(self):
        while True:
            now_s = time.monotonic()
            for stranger in self.strangers:
                if not stranger.connection and now_s >= stranger.opens_s:
                    stranger.open()
            for fd, events in self.epoll.poll(0.1):
                if fd in self.of:
                    self.of[fd].go_on(events)


def hello(server):
    handshake = Handshake(server, "127.0.0.1")
    handshake.connection.close()
    return handshake.hello


KINDS = {
    "in_silence": lambda server: Crowd(server),
    "half_a_handshake": lambda server: Crowd(server, hello(server)),
    # Of a file that everybody may read.
    "slow_reader": lambda server: Crowd(server, 20 * request("/page/video.js"), tls=True, receive_bytes=2048),
    "without_a_login": lambda server: Crowd(server, request("/v1/events"), tls=True),
}


@contextlib.contextmanager
def crowd(server, kind):
    process = multiprocessing.get_context("fork").Process(target=KINDS[kind](server).run)
    process.start()
    try:
        daemon.wait_for(lambda: count_connections(server) >= len(STRANGERS) * EACH // 4)
        yield
        assert process.is_alive() and count_connections(server) >= len(STRANGERS) * EACH // 4
    finally:
        process.kill()
        process.join()


def count_connections(server):
    lines = subprocess.run(["ss", "-tnH", "state", "established", f"sport = :{server.api}"], check=True,
                           capture_output=True, text=True).stdout
    return len(lines.splitlines())


def measure(server, address, seconds):
    other, end_s = Other(server, address), time.monotonic() + seconds
    while time.monotonic() < end_s or len(other.took_s["clip"]) < 20:
        other.act()
    return other.p95_s()


@pytest.mark.parametrize("kind", KINDS)
def test_others_wait_no_longer_beside_strangers(server, seconds, kind):
    alone = measure(server, "127.0.0.2", seconds / 3)
    with crowd(server, kind):
        beside = measure(server, "127.0.0.2", seconds / 3)
    print(kind, ", ".join(f"{what}: p95 {1e3 * alone[what]:.0f} ms, beside them {1e3 * beside[what]:.0f} ms"
                          for what in alone))
    for what in alone:
        assert beside[what] <= max(P95_MAX_S, TIMES_MAX * alone[what]), what
