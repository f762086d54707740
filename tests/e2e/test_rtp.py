"""What is sent to a viewer, by RFC 3550, RFC 6184, RFC 4585 and RFC 5104."""

import struct
import time

import pytest

import daemon
import rtp
import rtsp
import rtsp_client
from ports import free_port
from rtsp_client import Connection

FPS = 30
CLOCK_HZ = 90000
TRANSPORTS = ["tcp", "udp", "tls"]
KEYFRAME_S = 10  # the most that a view can have
VIEWS = [{"name": name, "view": "edges", **keys}
         for name, keys in (("edges", {}), ("often", {"keyframe_s": 0.5}), ("rare", {"keyframe_s": KEYFRAME_S}))]


@pytest.fixture(scope="module")
def server(shared_edged):
    """One for all, which nothing that a viewer sends changes."""
    port = free_port()
    started = shared_edged([daemon.camera(views=VIEWS, width=640, height=360, fps=FPS)],
                           settings={"rtsp": {"tls_port": port}})
    started.tls = f"rtsps://127.0.0.1:{port}"
    started.wait_camera("front", lambda c: c["state"] == "live")
    return started


@pytest.fixture
def view(server):
    """Opens a session of a view: view("tcp", "edges")."""
    connections = []

    def start(transport, name="edges"):
        path = f"/front/{name}"
        rtsp.wait_served(server.url(path))
        url = server.tls + path if transport == "tls" else server.url(path)
        connections.append(Connection(url))
        return rtsp_client.set_up(connections[-1], url, transport)

    yield start
    for connection in connections:
        connection.close()


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_packets_are_what_the_rfcs_say(view, transport):
    """Receiver checks numbers, markers, SSRC, sizes, aggregates and fragments."""
    session = view(transport)
    sequence, timestamp = session.play()
    receiver = rtp.Receiver(session, sequence)
    units = receiver.read_units(3 * FPS)
    assert rtp.is_key(units[0])
    assert abs(rtp.later_by(units[0].timestamp, timestamp)) < daemon.PATIENCE_S * CLOCK_HZ
    payloads = [packet.payload[0] & 0x1F for unit in units for packet in unit.packets]
    assert {rtp.STAP_A, rtp.FU_A} <= set(payloads), "both have been seen"
    types = {packet.type for unit in units for packet in unit.packets}
    assert {str(one) for one in types} == {session.media["m"][0].split()[3]}


def test_every_key_frame_can_be_decoded_by_itself(view):
    session = view("tcp", "often")
    session.play()
    keys = [unit for unit in rtp.Receiver(session).read_units(3 * FPS) if rtp.is_key(unit)]
    assert len(keys) >= 3
    for unit in keys:
        kinds = rtp.types(unit)
        assert kinds.index(rtp.SPS) < kinds.index(rtp.PPS) < kinds.index(rtp.IDR)


def test_time_stamps_are_those_of_capture_at_90_khz(view):
    """The pattern's frames are due exactly 30 times a second, whenever they are drawn."""
    session = view("tcp")
    session.play()
    receiver = rtp.Receiver(session)
    before, judged, by_slate = receiver.read_unit(), 0, True
    while judged < 2 * FPS:
        after = receiver.read_unit()
        apart = rtp.later_by(after.timestamp, before.timestamp)
        if rtp.is_key(before) or rtp.is_key(after):
            by_slate = True
        elif by_slate:  # what was captured before it follows a millisecond apart
            by_slate = apart <= CLOCK_HZ // 1000
        else:
            frames = round(apart * FPS / CLOCK_HZ)
            assert frames >= 1 and abs(apart - frames * CLOCK_HZ // FPS) <= 2, apart
            judged += 1
        before = after


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_sender_reports_tell_the_wall_clock_of_capture(view, transport):
    session = view(transport)
    session.play()
    receiver = rtp.Receiver(session)
    reports = []
    while len(reports) < 2:
        packets, sent, octets = receiver.read_report()
        reports.append(rtp.sender_report(packets))
        assert reports[-1].ssrc == session.ssrc
        assert abs(reports[-1].wall_s - time.time()) < daemon.PATIENCE_S
        assert rtp.cname(packets, session.ssrc)
        if transport != "udp":  # where it comes in its turn
            assert (reports[-1].packets, reports[-1].octets) == (sent, octets)
    first, second = reports
    apart_s = rtp.later_by(second.timestamp, first.timestamp) / CLOCK_HZ
    assert abs(apart_s - (second.wall_s - first.wall_s)) < 0.01, "one clock for both"
    captured_s = first.wall_s + rtp.later_by(receiver.timestamp, first.timestamp) / CLOCK_HZ
    assert time.time() - daemon.PATIENCE_S < captured_s < time.time() + 0.1


def feedback(kind, sender, media, control=b""):
    """A compound packet: an empty receiver report and a message about the payload."""
    body = struct.pack("!II", sender, media) + control
    report = struct.pack("!BBHI", 0x80, 201, 1, sender)
    return report + struct.pack("!BBH", 0x80 | kind, 206, len(body) // 4) + body


def pli(session):  # RFC 4585, section 6.3.1
    return feedback(1, 0x11223344, session.ssrc)


def fir(session):  # RFC 5104, section 4.3.1
    return feedback(4, 0x11223344, 0, struct.pack("!IBxxx", session.ssrc, 7))


@pytest.mark.parametrize("message", [pli, fir])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_key_frame_comes_to_who_asks_for_one(view, transport, message):
    session = view(transport, "rare")
    session.play()
    receiver = rtp.Receiver(session)
    assert rtp.is_key(receiver.read_unit())
    while any(rtp.is_key(unit) for unit in receiver.read_units(FPS)):
        pass  # those that the start has brought
    session.send_rtcp(message(session))
    for _ in range(KEYFRAME_S // 2 * FPS):
        if rtp.is_key(receiver.read_unit()):
            return
    pytest.fail("no key frame")


def test_who_asks_for_key_frames_without_end_gets_one_a_second(server, view):
    """They are several times as big as others, and everybody's. Those of slates, which a busy camera process costs, count
    as none."""
    session = view("tcp", "rare")
    session.play()
    receiver = rtp.Receiver(session)
    receiver.read_units(2 * FPS)  # with those that the start has brought
    begin_s, before = time.monotonic(), server.mount("/front/rare")["key_frames"]
    for _ in range(4 * FPS):
        session.send_rtcp(pli(session))
        receiver.read_unit()
    keys, seconds = server.mount("/front/rare")["key_frames"] - before, time.monotonic() - begin_s
    # What is asked for a second after one came is the next picture or the one after it.
    assert 2 <= keys <= 1 + seconds / 0.9, (keys, seconds)


def test_reports_of_nonsense_change_nothing(view):
    session = view("tcp")
    session.play()
    receiver = rtp.Receiver(session)
    receiver.read_units(2)
    whole = pli(session)
    for size in range(len(whole)):
        session.send_rtcp(whole[:size])
    for data in (bytes(12), b"\xff" * 40, whole[:2] + b"\xff\xff" + whole[4:], bytes(65535)):
        session.send_rtcp(data)
    session.connection.send_packet(77, whole)
    assert session.ask("OPTIONS").status == 200
    receiver.read_units(FPS)
