"""Clients over HTTP who take what they can get: each user, and each address without a login, has a
share, whoever is slow or silent makes room, and nobody else is refused."""

import contextlib
import ctypes
import json
import os
import resource
import socket
import ssl
import struct
import subprocess
import time

import pytest

import daemon
from daemon import PATIENCE_S, wait_for
from ports import free_port

SMALL = {"width": 320, "height": 240}
EVENTS = "/v1/events"
SO_ATTACH_FILTER = 26


@pytest.fixture
def serve(edged, tmp_path):
    """serve(limits={…}, tls=False, rtsp={…}): an edged that serves HTTP at .api."""

    def start(limits=None, tls=False, rtsp=None, **http_settings):
        http = {"port": free_port(), "tls": tls, "limits": limits or {}, **http_settings}
        server = edged([daemon.camera("front", **SMALL)], STATE_DIRECTORY=tmp_path,
                       settings={"http": http, "rtsp": rtsp or {}})
        server.api = http["port"]
        return server

    return start


def connect(server, address, **options):
    """Of an address of this machine; `options` as receive_bytes=2048."""
    connection = socket.socket()
    connection.settimeout(PATIENCE_S)
    if "receive_bytes" in options:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, options["receive_bytes"])
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
    connection.bind((address, 0))
    connection.connect(("127.0.0.1", server.api))
    return connection


def request(path, **headers):
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode()


class Follower:
    """One who asks for a reply that goes on."""

    def __init__(self, server, address, path=EVENTS, **headers):
        self.connection = connect(server, address)
        self.connection.sendall(request(path, **headers))
        self.text = b""
        self.read_until(b"\r\n\r\n")
        self.status = int(self.text.split()[1])

    def read_until(self, end):
        while end not in self.text:
            more = self.connection.recv(1 << 16)
            assert more, (end, self.text)
            self.text += more

    def problem(self):
        self.read_until(b"}\n")
        return json.loads(self.text.partition(b"\r\n\r\n")[2])

    def is_over(self):
        """Whether it ended as a whole reply does, with the last of its chunks."""
        self.connection.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while more := self.connection.recv(1 << 16):
                self.text += more
        self.connection.settimeout(PATIENCE_S)
        return self.text.endswith(b"\r\n0\r\n\r\n")


@pytest.fixture
def follow():
    """follow(server, address, …) -> a Follower, which hangs up at the end of the test."""
    with contextlib.ExitStack() as stack:

        def begin(*arguments, **headers):
            follower = Follower(*arguments, **headers)
            stack.callback(follower.connection.close)
            return follower

        yield begin


def status_of(server, address, path="/v1/status", **headers):
    with connect(server, address) as connection:
        connection.sendall(request(path, **headers))
        return int(connection.recv(64).split()[1])


VIDEO = "/v1/cameras/front/views/edges/video"


# Replies that go on
# ---------------------------------------------------------------------

def test_an_address_has_a_quarter_of_the_replies_that_go_on(serve, follow):
    server = serve()
    greedy = [follow(server, "127.0.0.9") for _ in range(64)]
    assert [follower.status for follower in greedy] == [200] * 16 + [503] * 48
    problem = greedy[-1].problem()
    assert problem["key"] == "http.limits.streams_a_client" and "address" in problem["detail"]
    for path in (EVENTS, VIDEO, "/stream.mjpg"):  # a busy machine may have no picture yet
        wait_for(lambda: follow(server, "127.0.0.10", path).status == 200, explain=lambda: path)
    assert status_of(server, "127.0.0.9") == 200  # and a reply that ends is none of them


def test_the_share_of_a_client_is_a_key(serve, follow):
    server = serve({"streams_a_client": 2})
    assert [follow(server, "127.0.0.9").status for _ in range(3)] == [200, 200, 503]
    server.reload(http={**server.settings["http"], "limits": {"streams_a_client": 3}})
    assert [follow(server, "127.0.0.9").status for _ in range(2)] == [200, 503]


def test_a_newcomer_ends_the_newest_reply_of_the_address_that_has_most(serve, follow):
    server = serve({"streams": 16, "streams_a_client": 6})  # 8 of them without a login
    first = [follow(server, "127.0.0.9") for _ in range(6)]
    second = [follow(server, "127.0.0.10") for _ in range(2)]
    newcomers = [follow(server, f"127.0.0.{number}", VIDEO) for number in (11, 12)]
    assert [follower.status for follower in first + second + newcomers] == [200] * 10
    wait_for(lambda: first[5].is_over() and first[4].is_over())
    assert not any(follower.is_over() for follower in first[:4] + second)
    # Where everybody has as much, nobody makes room.
    last = [follow(server, f"127.0.0.{number}") for number in (13, 14, 15, 16, 17)]
    assert [follower.status for follower in last] == [200, 200, 200, 200, 503]
    assert "http.limits.streams" == last[-1].problem()["key"]


def test_a_reader_that_blocks_makes_room(serve, follow):
    """Its reply cannot be ended by a word, which it does not read."""
    server = serve({"streams": 10, "streams_a_client": 2})  # 2 of them without a login
    server.reload([daemon.camera("front", width=1280, height=720, views=[
        {"name": "edges", "view": "camera", "codec": "mjpeg", "quality": 95}])])
    wait_for(lambda: status_of(server, "127.0.0.9", "/snapshot.jpg") == 200)  # so there are pictures to be blocked by
    slow = [connect(server, "127.0.0.9", receive_bytes=2048) for _ in range(2)]
    for connection in slow:
        connection.sendall(request("/stream.mjpg"))
    wait_for(lambda: status_of(server, "127.0.0.9", EVENTS) == 503)
    wait_for(lambda: follow(server, "127.0.0.10").status == 200)
    for connection in slow:
        connection.close()


def make_token(file, name):
    return subprocess.run([daemon.EDGECTL, "token", "--file", file, name], check=True, text=True,
                          capture_output=True, timeout=PATIENCE_S).stdout.strip()


def test_eight_replies_stay_for_those_who_have_logged_in(serve, follow, tmp_path):
    tokens = [make_token(tmp_path / "rtsp.tokens", name) for name in ("one", "two")]
    rtsp = {"tokens": str(tmp_path / "rtsp.tokens")}
    server = serve({"streams": 16, "streams_a_client": 4}, rtsp=rtsp)
    strangers = [follow(server, f"127.0.0.{number}") for number in range(9, 18)]
    assert [follower.status for follower in strangers] == [200] * 8 + [503]
    known = [follow(server, "127.0.0.9", Authorization=f"Bearer {token}")
             for token in tokens for _ in range(5)]
    # A user's share is its own, from whatever address.
    assert [follower.status for follower in known] == 2 * ([200] * 4 + [503])
    problem = known[-1].problem()
    assert problem["key"] == "http.limits.streams_a_client" and "user" in problem["detail"]
    assert not any(follower.is_over() for follower in strangers[:8])


def test_an_address_of_a_proxy_has_no_share_of_its_own(serve, follow):
    server = serve({"streams": 16, "streams_a_client": 2, "connections_an_address": 4})
    assert [follow(server, "127.0.0.1").status for _ in range(8)] == [200] * 8
    server.reload(http={**server.settings["http"], "proxies": ["127.0.0.9"]})
    assert [follow(server, "127.0.0.9").status for _ in range(3)] == [200] * 3
    assert follow(server, "127.0.0.1").status == 503


def stop_acknowledging(connection):
    """A socket filter that takes no packet, as with a cable that is pulled out. Some kernels refuse one to all but root;
    others, for as long as all programs that are confined use up its memory for filters."""
    code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))  # BPF_RET of 0 bytes
    program = struct.pack("HP", 1, ctypes.addressof(code))

    def attach():
        with contextlib.suppress(PermissionError):
            connection.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)
            return True
        return False

    if not attach():
        if os.geteuid():
            pytest.skip("the kernel refuses a plain user a socket filter")
        wait_for(attach)


def test_who_follows_in_silence_stays_and_who_acknowledges_nothing_goes(serve, follow):
    server = serve({"streams_a_client": 2})
    silent, gone = follow(server, "127.0.0.9"), follow(server, "127.0.0.9")
    stop_acknowledging(gone.connection)
    begin_s = time.monotonic()
    wait_for(lambda: status_of(server, "127.0.0.9", EVENTS) == 200)  # 503 as long as both follow
    print(f"gone after {time.monotonic() - begin_s:.0f} s")
    silent.read_until(b": still there\n\n")
    assert not silent.is_over()


# Connections
# ---------------------------------------------------------------------

def test_who_reads_slowly_makes_room_for_others(serve):
    """All connections that there may be, of four addresses."""
    server = serve()
    addresses = [f"127.0.0.{number}" for number in range(9, 13)]
    with contextlib.ExitStack() as stack:
        for _ in range(64):
            for address in addresses:
                slow = stack.enter_context(connect(server, address, receive_bytes=2048))
                slow.sendall(20 * request("/page/video.js"))
        wait_for(lambda: count_unread(server.api) >= 200)
        time.sleep(3)  # who reads for less than 2 s is not slow yet
        for number in range(20, 30):
            assert status_of(server, f"127.0.0.{number}") == 200


@pytest.mark.parametrize("tls", [False, True])
def test_who_hangs_up_in_a_video_is_gone_before_those_who_idle_for_longer(serve, tls):
    """Whose connections stay for 10 s. Until it is gone it would count as a connection of its address."""
    server = serve(tls=tls)
    context = ssl._create_unverified_context()

    def ask(path):
        connection = connect(server, "127.0.0.9")
        connection = context.wrap_socket(connection) if tls else connection
        return say(connection, path)

    def say(connection, path):
        connection.sendall(request(path))
        text = connection.recv(1 << 16)
        assert b" 200 " in text
        while path == "/healthz" and not text.endswith(b"ok\n"):
            text += daemon.more(connection.recv(1 << 16))
        return connection

    def count():
        return len(os.listdir(f"/proc/{server.process.pid}/fd"))

    ask(VIDEO).close()  # the camera's process is there from now on
    idle = [ask("/healthz") for _ in range(4)]
    before = count()
    for _ in range(6):
        ask(VIDEO).close()
    wait_for(lambda: count() <= before)
    for connection in idle:
        say(connection, "/healthz").close()


def count_unread(port):
    """How many connections to the port have sent what their clients do not read."""
    lines = subprocess.run(["ss", "-tnH", f"sport = :{port}"], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    return sum(int(line.split()[2]) > 0 for line in lines)


def test_clients_are_taken_again_once_there_are_descriptors(serve):
    server = serve()
    pid = server.process.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    with connect(server, "127.0.0.1") as early:
        early.sendall(request("/healthz"))
        assert int(early.recv(64).split()[1]) == 200
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (64, hard))
        late = connect(server, "127.0.0.1")
        late.sendall(request("/healthz"))
        late.settimeout(2)
        with pytest.raises(socket.timeout):
            late.recv(64)
    time.sleep(1)  # edged sees that nobody is connected any more
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
    late.settimeout(PATIENCE_S)
    assert int(late.recv(64).split()[1]) == 200
    late.close()


# TLS
# ---------------------------------------------------------------------

class Handshake:
    """One that a client begins by its first message, and does not go on with by itself."""

    def __init__(self, server, address):
        context = ssl._create_unverified_context()
        self.received, self.to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.received, self.to_send)
        self.connection = connect(server, address)
        with contextlib.suppress(ssl.SSLWantReadError):
            self.tls.do_handshake()
        self.hello = self.to_send.read()

    def is_answered(self):
        self.connection.setblocking(False)
        with contextlib.suppress(BlockingIOError, ConnectionError):
            return bool(self.connection.recv(1, socket.MSG_PEEK))
        return False

    def is_hung_up_on(self):
        self.connection.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            try:
                while self.connection.recv(1 << 16):
                    pass
            except ConnectionError:
                pass
            return True
        return False


def handshake_s(server, address):
    """How long a whole one takes, with a request behind it."""
    begin_s = time.monotonic()
    with ssl._create_unverified_context().wrap_socket(connect(server, address)) as connection:
        connection.sendall(request("/healthz"))
        assert b" 200 " in connection.recv(1 << 16)
    return time.monotonic() - begin_s


def test_an_address_has_one_unfinished_handshake(serve):
    server = serve(tls=True)
    begun = [Handshake(server, "127.0.0.9") for _ in range(3)]
    begun[0].connection.sendall(begun[0].hello)
    wait_for(begun[0].is_answered)
    for handshake in begun[1:]:
        handshake.connection.sendall(handshake.hello)
    assert handshake_s(server, "127.0.0.10") < PATIENCE_S / 2
    # One that is not gone on with gives its turn to the next of its address.
    while not begun[0].is_hung_up_on():
        assert not all(handshake.is_answered() for handshake in begun)
    wait_for(lambda: begun[1].is_answered() or begun[2].is_answered())
    wait_for(lambda: all(handshake.is_hung_up_on() for handshake in begun))
    assert handshake_s(server, "127.0.0.9") < PATIENCE_S / 2
    for handshake in begun:
        handshake.connection.close()


def test_whole_handshakes_of_an_address_stay(serve):
    """Also with each version, and when more of it come later."""
    server = serve(tls=True)
    with contextlib.ExitStack() as stack:
        kept = []
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            context = ssl._create_unverified_context()
            context.minimum_version = context.maximum_version = version
            tls = stack.enter_context(context.wrap_socket(connect(server, "127.0.0.9")))
            tls.sendall(request(EVENTS))
            assert b" 200 " in tls.recv(1 << 16)
            kept.append(tls)
        time.sleep(3)  # a handshake of more than 2 s would give its turn away
        handshake_s(server, "127.0.0.9")
        for tls in kept:
            text = b""
            while b": still there" not in text:
                text += daemon.more(tls.recv(1 << 16))


def test_a_hello_in_pieces_costs_nobody_a_turn(serve):
    server = serve(tls=True)
    pieces = [Handshake(server, "127.0.0.9") for _ in range(8)]
    for handshake in pieces:
        handshake.connection.sendall(handshake.hello[:-1])
    assert handshake_s(server, "127.0.0.9") < PATIENCE_S / 2
    assert not any(handshake.is_answered() for handshake in pieces)
    pieces[0].connection.sendall(pieces[0].hello[-1:])
    wait_for(pieces[0].is_answered)
    for handshake in pieces:
        handshake.connection.close()
