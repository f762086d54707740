"""Strangers who mean harm: what they do costs no viewer a frame, and edged no memory. What needs a
clock or a crowd is in tests/soak."""

import collections
import contextlib
import socket
import ssl
import struct
import threading

import pytest

import daemon
import rtp
import rtsp
import rtsp_client
from ports import free_port
from rtsp_client import Connection

SMALL = {"width": 320, "height": 240}
SESSIONS_MAX = 8  # a connection
TLS_PORT = free_port()


@pytest.fixture(scope="module")
def server(shared_edged, tmp_path_factory):
    """One edged for all tests but those of limits: what one stranger did must not harm the next test."""
    one = shared_edged(
        [daemon.camera(**SMALL)], settings={"rtsp": {"tls_port": TLS_PORT}},
        STATE_DIRECTORY=tmp_path_factory.mktemp("state"),
    )  # fmt: skip
    rtsp.wait_served(one.url("/front/edges"))
    return one


@pytest.fixture
def url(server):
    return server.url("/front/edges")


def playing(connection, url, transport):
    """A viewer, of whom rtp.Receiver sees whether a packet is lost."""
    session = rtsp_client.set_up(connection, url, transport)
    receiver = rtp.Receiver(session, session.play()[0])
    receiver.read_units(5)
    return session, receiver


@pytest.mark.parametrize("thief_by", ["tcp", "tls"])
@pytest.mark.parametrize("transport", ["tcp", "udp", "tls"])
def test_a_stolen_session_is_worth_nothing(server, transport, thief_by):
    plain, secure = server.url("/front/edges"), f"rtsps://127.0.0.1:{TLS_PORT}/front/edges"
    url = secure if transport == "tls" else plain
    with Connection(url) as victim, Connection(secure if thief_by == "tls" else plain) as thief:
        session, receiver = playing(victim, url, transport)
        offers = ["RTP/AVP/TCP;unicast;interleaved=0-1", "RTP/AVP;unicast;client_port=4000-4001"]
        for method in rtsp_client.METHODS:
            for offer in offers if method == "SETUP" else offers[:1]:
                for place in (url, session.media_url):
                    headers = {"Session": session.id, "Transport": offer}
                    assert thief.ask(method, place, headers).status == 454, method
                    receiver.read_unit()
        thief.close()
        receiver.read_units(30)
        assert session.ask("OPTIONS").status == 200


def goodbye(ssrc):
    """What a viewer who leaves would send."""
    return struct.pack("!BBHI", 0x80, 201, 1, ssrc) + struct.pack("!BBHI", 0x81, 203, 1, ssrc)


def test_goodbyes_of_strangers_end_nobodys_video(url):
    with Connection(url) as victim:
        session, receiver = playing(victim, url, "udp")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for port in map(int, session.transport["server_port"].split("-")):
                for ssrc in (session.ssrc, 0x11223344):
                    stranger.sendto(goodbye(ssrc), ("127.0.0.1", port))
        receiver.read_units(30)


def test_nobody_can_have_the_ports_of_another(url):
    """Two viewers' packets to one address, as behind a router, would be mixed up."""
    with Connection(url) as victim, Connection(url) as thief:
        session, receiver = playing(victim, url, "udp")
        rtp_port, rtcp_port = session.transport["client_port"].split("-")
        for ports in (f"{rtp_port}-{rtcp_port}", f"{rtp_port}-9", f"9-{rtcp_port}",
                      f"{rtcp_port}-9", f"9-{rtp_port}"):
            offer = {"Transport": f"RTP/AVP;unicast;client_port={ports}"}
            assert thief.ask("SETUP", session.media_url, offer).status == 461
        offer["Transport"] += ",RTP/AVP/TCP;unicast;interleaved=0-1"
        assert "RTP/AVP/TCP" in thief.ask("SETUP", session.media_url, offer).headers["transport"]
        receiver.read_units(10)
        session.ask("TEARDOWN")
        offer = {"Transport": f"RTP/AVP;unicast;client_port={rtp_port}-{rtcp_port}"}
        with Connection(url) as later:
            assert later.ask("SETUP", session.media_url, offer).status == 200


def test_a_destination_is_not_sent_to(url):
    """The Transport header may name one (12.39), which would aim a stream at a third."""
    with Connection(url) as connection, socket.socket(
        socket.AF_INET, socket.SOCK_DGRAM
    ) as third:
        third.bind(("127.0.0.2", 0))
        port = third.getsockname()[1] & ~1
        offer = f"RTP/AVP;unicast;destination=127.0.0.2;client_port={port}-{port + 1}"
        reply = connection.ask("SETUP", f"{url}/stream=0", {"Transport": offer})
        if reply.status == 200:
            headers = {"Session": reply.headers["session"].split(";")[0]}
            assert connection.ask("PLAY", url, headers).status == 200
        assert connection.ask("OPTIONS", url).status == 200
        third.setblocking(False)
        with pytest.raises(BlockingIOError):
            third.recv(1)


def limited(edged, **limits):
    server = edged([daemon.camera(**SMALL)], settings={"rtsp": {"limits": limits}})
    rtsp.wait_served(server.url("/front/edges"))
    return server.url("/front/edges")


def crowd(url, source, connections, sessions):
    """What an address that takes all it can get is answered to its SETUPs. Its connections, too."""
    greedy = [Connection(url, source=source) for _ in range(connections)]
    offer = {"Transport": "RTP/AVP/TCP;unicast"}
    return greedy, [one.ask("SETUP", f"{url}/stream=0", offer).status for one in greedy
                    for _ in range(sessions)]


def test_an_address_has_its_share_of_the_sessions(edged):
    url = limited(edged, sessions=16, sessions_an_address=4)
    greedy, answers = crowd(url, "127.0.0.2", 3, 3)
    assert answers == [200] * 4 + [453] * 5
    with Connection(url) as viewer:
        playing(viewer, url, "tcp")[1].read_units(5)
        playing(viewer, url, "udp")[1].read_units(5)
    for one in greedy:
        one.close()


def test_the_session_paused_longest_of_the_greediest_address_makes_room(edged):
    url = limited(edged, sessions=4, sessions_an_address=3)
    with Connection(url, source="127.0.0.2") as greedy, Connection(url) as viewer:
        first, second, _ = (playing(greedy, url, "tcp")[0] for _ in range(3))
        for session in (first, second):
            assert session.ask("PAUSE").status == 200
        patient, receiver = playing(viewer, url, "tcp")
        with Connection(url, source="127.0.0.3") as late:
            playing(late, url, "tcp")[1].read_units(5)
        assert first.ask("GET_PARAMETER").status == 454
        assert second.ask("GET_PARAMETER").status == 200
        receiver.read_units(5)
        assert patient.ask("GET_PARAMETER").status == 200


def test_a_session_that_does_not_play_in_time_ends(edged):
    server = edged([daemon.camera(**SMALL)])
    url = server.url("/front/edges")
    rtsp.wait_served(url)
    with Connection(url) as viewer:
        session, receiver = playing(viewer, url, "udp")
        server.reload(rtsp={"port": server.port, "limits": {"play_within_s": 1}})
        unused = rtsp_client.set_up(viewer, url, "udp")
        daemon.wait_for(lambda: unused.ask("GET_PARAMETER").status == 454)
        receiver.read_units(30)
        assert session.ask("GET_PARAMETER").status == 200


def test_coming_and_going_fills_no_log(server, url):
    for _ in range(40):
        with Connection(url, source="127.0.0.2") as stranger:
            session = rtsp_client.set_up(stranger, url, "tcp")
            session.play()
            assert session.ask("TEARDOWN").status == 200
    with Connection(url, source="127.0.0.3") as viewer:
        playing(viewer, url, "tcp")
    lines = server.stderr().splitlines()
    assert sum("viewer 127.0.0.2 " in line for line in lines) == 30
    assert any("viewer 127.0.0.3 over TCP came" in line for line in lines), "others have their own"


def client_hello():
    """A TLS client's first message, as a stranger would record and repeat it."""
    context, incoming, outgoing = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), ssl.MemoryBIO(), ssl.MemoryBIO()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with pytest.raises(ssl.SSLWantReadError):
        context.wrap_bio(incoming, outgoing).do_handshake()
    return outgoing.read()


def repeat_hellos(port, addresses, ended):
    """6 Mbit/s of connections, each of which sends that message and nothing more."""
    hello, strangers = client_hello(), collections.deque()
    while not ended.wait(len(addresses) * len(hello) * 8 / 6e6):
        for address in addresses:
            stranger = socket.socket()
            stranger.bind((address, 0))
            stranger.connect(("127.0.0.1", port))
            strangers.append(stranger)
            with contextlib.suppress(ConnectionError):
                stranger.sendall(hello)
        while len(strangers) > 200:
            strangers.popleft().close()
    for stranger in strangers:
        stranger.close()


def test_repeated_handshakes_of_six_addresses_lock_nobody_out(edged, tmp_path):
    port = free_port()
    server = edged(
        [daemon.camera(**SMALL)], STATE_DIRECTORY=tmp_path,
        settings={"rtsp": {"tls_port": port, "limits": {"connections": 64, "connections_an_address": 16}}},
    )  # fmt: skip
    url, ended = f"rtsps://127.0.0.1:{port}/front/edges", threading.Event()
    rtsp.wait_served(server.url("/front/edges"))
    with Connection(url) as patient:
        _, receiver = playing(patient, url, "tls")
        addresses = [f"127.0.0.{number}" for number in range(10, 16)]
        attack = threading.Thread(target=repeat_hellos, args=(port, addresses, ended))
        attack.start()
        try:
            for _ in range(10):
                with Connection(url) as viewer:
                    playing(viewer, url, "tls")
                receiver.read_units(5)
        finally:
            ended.set()
            attack.join()
        receiver.read_units(30)


def test_a_connection_has_eight_sessions(url):
    with Connection(url) as viewer, Connection(url) as greedy:
        _, receiver = playing(viewer, url, "tcp")
        answers = []
        for number in range(60):
            offer = f"RTP/AVP;unicast;client_port={20000 + 2 * number}-{20001 + 2 * number}"
            reply = greedy.ask("SETUP", f"{url}/stream=0", {"Transport": offer})
            answers.append(reply.status)
        assert answers == [200] * SESSIONS_MAX + [453] * (60 - SESSIONS_MAX)
        receiver.read_units(10)


def request(*lines):
    return "\r\n".join(["OPTIONS * RTSP/1.0", "CSeq: 1", *lines, "", ""]).encode()


# A stranger's bytes and the answer; after it edged hangs up.
FLOODS = {
    "lines": (request(*(f"X-{number}: y" for number in range(100))), 400),
    "long-head": (request(*(f"X-{number}: {'y' * 900}" for number in range(12))), 400),
    "line-without-end": (b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\nX: " + b"y" * 8300, 400),
    "url": (b"OPTIONS rtsp://h/" + b"y" * 3000 + b" RTSP/1.0\r\nCSeq: 1\r\n\r\n", 414),
    "body": (request("Content-Length: 5000"), 413),
    "huge-body": (request("Content-Length: 4000000000"), 413),
    "overflowing-body": (request("Content-Length: 18446744073709551617"), 400),
    "negative-body": (request("Content-Length: -1"), 400),
    "nul": (request("X: a\0b"), 400),
    "no-sequence": (b"OPTIONS * RTSP/1.0\r\n\r\n", 400),
    "continued": (request("X: a", " b"), 400),
    "no-colon": (request("nonsense"), 400),
    "word": (b"hello\r\n\r\n", 400),
    "no-protocol": (b"OPTIONS * HTPP/1.1\r\nCSeq: 1\r\n\r\n", 400),
    "http": (b"GET / HTTP/1.1\r\nHost: h\r\n\r\n", 405),
}


@pytest.mark.parametrize("name", FLOODS)
def test_floods_are_refused_and_hung_up_on(url, name):
    data, status = FLOODS[name]
    with Connection(url) as viewer, Connection(url) as stranger:
        _, receiver = playing(viewer, url, "tcp")
        stranger.socket.sendall(data)
        head = stranger._read_until(b"\r\n\r\n").decode()
        protocol = "HTTP/1.1" if name == "http" else "RTSP/1.0"
        assert head.startswith(f"{protocol} {status} "), head
        assert stranger.is_hung_up()
        receiver.read_units(5)


def test_who_asks_without_end_is_hung_up_on(url):
    with Connection(url) as viewer, Connection(url) as stranger:
        _, receiver = playing(viewer, url, "tcp")
        with contextlib.suppress(ConnectionError):
            for _ in range(20):
                stranger.socket.sendall(50 * request())
        answers = b""
        with contextlib.suppress(ConnectionError):  # what came before the end is read all the same
            while data := stranger.socket.recv(65536):
                answers += data
        assert b"RTSP/1.0 429 " in answers
        receiver.read_units(5)


@pytest.mark.parametrize("length", [0, 65535])
def test_interleaved_nonsense_is_passed_over(url, length):
    with Connection(url) as connection:
        session, receiver = playing(connection, url, "tcp")
        for channel in (0, 1, 2, 255):
            connection.send_packet(channel, b"\x80" * length)
        assert session.ask("OPTIONS").status == 200
        receiver.read_units(5)
