"""RFC 2326 and RFC 4566, clause by clause, with a client that takes nothing else."""

import base64
import contextlib
import os
import pathlib
import re

import pytest

import daemon
import rtp
import rtsp
import rtsp_client
from rtsp_client import Connection

SMALL = {"width": 320, "height": 240}
TRANSPORTS = ["tcp", "udp"]


@pytest.fixture(scope="module")
def url(shared_edged):
    """A view that can be watched."""
    server = shared_edged([daemon.camera(**SMALL)])
    place = server.url("/front/edges")
    rtsp.wait_served(place)
    return place


def names(header):
    return {name.strip() for name in header.split(",")}


@pytest.mark.parametrize("whole_server", [False, True])
def test_options_names_every_method(url, whole_server):
    with Connection(url) as connection:
        reply = connection.ask("OPTIONS", "*" if whole_server else url)
    assert reply.status == 200
    assert names(reply.headers["public"]) == set(rtsp_client.METHODS)


def test_options_may_ask_for_a_bare_slash(url):
    with Connection(url) as connection:
        assert connection.ask("OPTIONS", "/").status == 200
        assert connection.ask("DESCRIBE", "/").status == 400


@pytest.mark.parametrize("lines, status", [
    (["application/sdp"], 200), (["application/SDP"], 200), (["application/*"], 200), (["*/*"], 200),
    (["text/html, application/sdp;q=0.5"], 200), (["text/html", "application/sdp"], 200),
    (["text/html"], 406), (["application/sdpx"], 406)])  # fmt: skip
def test_a_description_is_given_to_who_accepts_it(url, lines, status):
    with Connection(url) as connection:
        connection.sequence += 1
        head = [f"DESCRIBE {url} RTSP/1.0", f"CSeq: {connection.sequence}",
                *(f"Accept: {line}" for line in lines), "", ""]
        connection.socket.sendall("\r\n".join(head).encode())
        assert connection.read_reply(connection.sequence).status == status


@pytest.mark.parametrize("offer", ["rtp/avp/tcp;UNICAST;INTERLEAVED=2-3",
                                   "RTP/AVP;unicast;Client_Port=40000-40001"])
def test_names_of_transport_parameters_have_no_case(url, offer):
    with Connection(url) as connection:
        reply = connection.ask("SETUP", f"{url}/stream=0", {"Transport": offer})
        assert reply.status == 200 and offer.rsplit("=")[-1] in reply.headers["transport"]


def udp_addresses(pid):
    """The addresses that a process's UDP sockets are bound to, of IPv4, as the kernel writes them."""
    sockets = set()
    for path in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it has been closed meanwhile
            sockets.add(os.readlink(path))
    rows = [line.split() for line in pathlib.Path("/proc/net/udp").read_text().splitlines()[1:]]
    return {row[1].split(":")[0] for row in rows if f"socket:[{row[9]}]" in sockets}


@pytest.mark.parametrize("address, bound", [("127.0.0.1", "0100007F"), ("0.0.0.0", "00000000")])
def test_udp_sockets_are_bound_where_the_server_listens(edged, address, bound):
    server = edged([daemon.camera(**SMALL)], settings={"rtsp": {"address": address, "auth": "none"}})
    url = server.url("/front/edges")
    rtsp.wait_served(url)
    with Connection(url) as connection:
        rtsp_client.set_up(connection, url, "udp")
        daemon.wait_for(lambda: udp_addresses(server.process.pid) == {bound})


def test_sdp_says_all_that_a_player_needs(url):
    with Connection(url) as connection:
        media_url, session, media = rtsp_client.describe(connection, url)
    assert session["v"] == ["0"]
    assert re.fullmatch(r"\S+ \d+ \d+ IN IP4 \S+", session["o"][0])
    assert session["t"] == ["0 0"], "a live stream has neither begin nor end"
    assert (session["c"] or media["c"]) and rtsp_client.attribute(session, "control") == "*"
    assert rtsp_client.attribute(session, "range") == "npt=now-"
    kind, port, profile, payload_type = media["m"][0].split()
    assert (kind, port, profile) == ("video", "0", "RTP/AVP")
    assert 96 <= int(payload_type) <= 127
    assert rtsp_client.attribute(media, "rtpmap") == f"{payload_type} H264/90000"
    assert media_url.startswith(url + "/")


def parameters(media):
    """Of the fmtp line (RFC 6184, section 8.2.1)."""
    text = rtsp_client.attribute(media, "fmtp").split(" ", 1)[1]
    return dict(part.strip().split("=", 1) for part in text.split(";"))


def test_sdp_has_the_parameter_sets_that_are_sent(url):
    with Connection(url) as connection:
        session = rtsp_client.set_up(connection, url)
        told = parameters(session.media)
        session.play()
        unit = rtp.Receiver(session).read_unit()
    sets = [base64.b64decode(text) for text in told["sprop-parameter-sets"].split(",")]
    assert [one[0] & 0x1F for one in sets] == [rtp.SPS, rtp.PPS]
    assert told["packetization-mode"] == "1"
    assert bytes.fromhex(told["profile-level-id"]) == sets[0][1:4]
    assert [nal for nal in unit.nals if nal[0] & 0x1F in (rtp.SPS, rtp.PPS)] == sets


def test_describe_names_its_base_and_gives_sdp_alone(url):
    with Connection(url) as connection:
        reply = connection.ask("DESCRIBE", url, {"Accept": "application/sdp"})
        assert reply.headers["content-base"] == url + "/"
        assert connection.ask("DESCRIBE", url).status == 200
        assert connection.ask("DESCRIBE", url, {"Accept": "text/html, */*"}).status == 200
        assert connection.ask("DESCRIBE", url, {"Accept": "text/html"}).status == 406


@pytest.mark.parametrize("asked, given", [("interleaved=0-1", "0-1"), ("interleaved=6-7", "6-7")])
def test_setup_gives_the_channels_asked_for(url, asked, given):
    with Connection(url) as connection:
        session = rtsp_client.Session(connection, url, f"RTP/AVP/TCP;unicast;{asked}")
    assert (session.profile, session.transport["interleaved"]) == ("RTP/AVP/TCP", given)
    assert "unicast" in session.transport and session.ssrc
    assert session.timeout == "timeout=60"


@pytest.mark.parametrize("blocksize", ["1456", "64"])
def test_a_wish_for_smaller_packets_is_passed_over(url, blocksize):
    """12.7 lets the server do so: packets are made once for all viewers."""
    with Connection(url) as connection:
        media_url, _, _ = rtsp_client.describe(connection, url)
        asked = {"Transport": "RTP/AVP/TCP;unicast", "Blocksize": blocksize}
        assert connection.ask("SETUP", media_url, asked).status == 200


def test_channels_in_use_are_replaced_by_others(url):
    """12.39: the server chooses. Each viewer's packets come on its own channels."""
    with Connection(url) as connection:
        asked = [(2, 3), (2, 3), (1, 2)]
        sessions = [rtsp_client.set_up(connection, url, channels=one) for one in asked]
        assert sessions[0].channels == (2, 3)
        assert len({channel for session in sessions for channel in session.channels}) == 6
        receivers = [rtp.Receiver(session, session.play()[0]) for session in sessions]
        for receiver in receivers:  # the SSRC of each is checked
            receiver.read_units(3)


def test_setup_chooses_channels_for_who_names_none(url):
    """As Genetec's Omnicast does."""
    with Connection(url) as connection:
        first = rtsp_client.Session(connection, url, "RTP/AVP/TCP;unicast")
        second = rtsp_client.Session(connection, url, "RTP/AVP/TCP;unicast")
    assert len({*first.channels, *second.channels}) == 4


def test_setup_over_udp_names_both_ends_ports(url):
    with Connection(url) as connection:
        session = rtsp_client.set_up(connection, url, "udp")
    first, second = map(int, session.transport["server_port"].split("-"))
    assert first % 2 == 0 and second == first + 1
    assert session.transport["client_port"] == "-".join(
        str(one.getsockname()[1]) for one in session.receivers
    )
    assert session.profile in ("RTP/AVP", "RTP/AVP/UDP") and session.ssrc


def test_packets_over_udp_come_from_where_the_client_asked(edged):
    """12.39: else a firewall drops them, where a machine has several addresses."""
    server = edged([daemon.camera(**SMALL)], settings={"rtsp": {"address": "0.0.0.0", "auth": "none"}})
    url = f"rtsp://127.0.0.2:{server.port}/front/edges"
    rtsp.wait_served(url)
    with Connection(url) as connection:
        session = rtsp_client.set_up(connection, url, "udp")
        session.play()
        for receiver in session.receivers:
            rtsp_client.wait_readable([receiver])
            assert receiver.recvfrom(65536)[1][0] == "127.0.0.2"


def test_setup_takes_the_first_transport_that_it_has(url):
    offers = "RTP/AVP;multicast,RTP/SAVP;unicast;client_port=4000-4001,RTP/AVP/TCP;interleaved=2-3"
    with Connection(url) as connection:
        session = rtsp_client.Session(connection, url, offers)
    assert session.channels == (2, 3)


@pytest.mark.parametrize("suffix", ["", "/", "?profile=1", "/?profile=1"])
@pytest.mark.parametrize("aggregate", [True, False])
def test_urls_may_end_as_players_write_them(url, suffix, aggregate):
    with Connection(url) as connection:
        assert connection.ask("DESCRIBE", url + suffix).status == 200
        session = rtsp_client.set_up(connection, url)
        place = (url if aggregate else session.media_url) + suffix
        assert session.ask("PLAY", place).status == 200
        rtp.Receiver(session).read_units(2)
        assert session.ask("PAUSE", place).status == 200
        assert session.ask("TEARDOWN", place).status == 200


# What is asked of a URL without a Session, and what the answer must be.
REFUSALS = [
    ("DESCRIBE", "/front/nothing", {}, 404),
    ("DESCRIBE", "/", {}, 404),
    ("SETUP", "/front/nothing/stream=0", {"Transport": "RTP/AVP/TCP;interleaved=0-1"}, 404),
    ("SETUP", "/front/edges/stream=1", {"Transport": "RTP/AVP/TCP;interleaved=0-1"}, 404),
    ("DESCRIBE", "/front/edges/stream=1", {}, 404),
    ("SETUP", "/front/edges", {"Transport": "RTP/AVP;multicast"}, 461),
    ("SETUP", "/front/edges", {"Transport": "RTP/SAVP;unicast;client_port=4000-4001"}, 461),
    ("SETUP", "/front/edges", {"Transport": "RTP/AVP/TCP;interleaved=300-301"}, 461),
    ("SETUP", "/front/edges", {"Transport": "RTP/AVP;unicast;client_port=0-1"}, 461),
    ("SETUP", "/front/edges", {"Transport": "RTP/AVP/TCP;interleaved=0-1;mode=record"}, 461),
    ("PLAY", "/front/edges", {}, 454),
    ("PAUSE", "/front/edges", {}, 454),
    ("TEARDOWN", "/front/edges", {}, 454),
    ("PLAY", "/front/edges", {"Session": "0123456789abcdef"}, 454),
    ("OPTIONS", "/front/edges", {"Session": "0123456789abcdef"}, 454),
    ("SETUP", "/front/edges",
     {"Session": "0123456789abcdef", "Transport": "RTP/AVP/TCP;interleaved=0-1"}, 454),
    ("OPTIONS", "/front/edges", {"Require": "funky-feature"}, 551),
    ("ANNOUNCE", "/front/edges", {}, 405),
    ("RECORD", "/front/edges", {}, 405),
    ("FROBNICATE", "/front/edges", {}, 501),
]  # fmt: skip


@pytest.mark.parametrize("method, path, headers, status", REFUSALS)
def test_refusals_have_the_status_that_the_rfc_gives(url, method, path, headers, status):
    with Connection(url) as connection:
        place = url.removesuffix("/front/edges") + path
        reply = connection.ask(method, place, headers)
        assert reply.status == status
        if status == 405:
            assert "DESCRIBE" in names(reply.headers["allow"])  # 12.4
        if status == 551:
            assert reply.headers["unsupported"] == "funky-feature"  # 12.32
        assert connection.ask("OPTIONS", url).status == 200, "and the connection goes on"


def test_refusals_of_a_session(url):
    with Connection(url) as connection:
        session = rtsp_client.set_up(connection, url)
        assert session.ask("PLAY", headers={"Range": "smpte=0:10:00-"}).status == 457
        assert session.ask("PLAY", url + "-not").status == 404
        assert session.ask("PLAY", url + "/stream=1").status == 404
        for part in (session.id[:-3], ""):
            assert connection.ask("PAUSE", url, {"Session": part}).status == 454
        session.play()
        transport = {"Transport": "RTP/AVP/TCP;unicast;interleaved=4-5"}
        assert session.ask("SETUP", session.media_url, transport).status == 455  # 10.4
        assert session.ask("SET_PARAMETER", body=b"x: 1\r\n").status == 451
        rtp.Receiver(session).read_units(2)


def test_a_session_has_one_presentation(edged):
    server = edged([daemon.camera(views=["edges", "gray"], **SMALL)])
    edges, gray = server.url("/front/edges"), server.url("/front/gray")
    rtsp.wait_served(edges)
    with Connection(edges) as connection:
        session = rtsp_client.set_up(connection, edges)
        transport = {"Transport": "RTP/AVP/TCP;unicast;interleaved=2-3"}
        assert session.ask("SETUP", f"{gray}/stream=0", transport).status == 459


def test_another_version_of_rtsp_is_refused(url):
    with Connection(url) as connection:
        assert connection.ask("OPTIONS", url, version="RTSP/2.0").status == 505


@pytest.mark.parametrize("method", ["OPTIONS", "GET_PARAMETER", "SET_PARAMETER"])
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_session_is_kept_alive_by(url, method, transport):
    """That it is: tests/soak."""
    with Connection(url) as connection:
        session = rtsp_client.set_up(connection, url, transport)
        session.play()
        receiver = rtp.Receiver(session)
        receiver.read_units(2)
        reply = session.ask(method)
        assert reply.status == 200 and reply.headers["session"].split(";")[0] == session.id
        receiver.read_units(2)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_play_goes_on_after_a_pause(url, transport):
    """The numbers do, too (RFC 2326, appendix B); and what is sent can be decoded."""
    with Connection(url) as connection:
        session = rtsp_client.set_up(connection, url, transport)
        receiver = rtp.Receiver(session, session.play()[0])
        receiver.read_units(5)
        assert session.ask("PAUSE").status == 200
        sequence, _ = session.play()
        drain(receiver, sequence)
        receiver.unread.clear()
        assert rtp.is_key(receiver.read_unit())
        receiver.read_units(5)


def drain(receiver, sequence):
    """Reads what was sent before the packet that RTP-Info names."""
    for _ in range(1000):
        if rtp.is_next(sequence, receiver.sequence):
            return
        receiver.read_any()
    raise AssertionError(f"{receiver.sequence} has come, RTP-Info says {sequence}")


def test_sessions_of_one_connection_do_not_disturb_each_other(edged):
    server = edged([daemon.camera(views=["edges", "gray"], **SMALL)])
    urls = [server.url("/front/edges"), server.url("/front/gray"), server.url("/front/edges")]
    for place in urls:
        rtsp.wait_served(place)
    with Connection(urls[0]) as connection:
        sessions = [
            rtsp_client.set_up(connection, place, channels=(2 * i, 2 * i + 1))
            for i, place in enumerate(urls)
        ]
        assert len({session.id for session in sessions}) == len(sessions)
        assert len({session.ssrc for session in sessions}) == len(sessions)
        receivers = [rtp.Receiver(session, session.play()[0]) for session in sessions]
        for receiver in receivers:
            assert rtp.is_key(receiver.read_unit())
            receiver.read_units(5)
        assert sessions[0].ask("TEARDOWN").status == 200
        assert sessions[0].ask("PLAY").status == 454
        for receiver in receivers[1:]:
            receiver.read_units(5)


def test_requests_may_come_many_at_once_or_in_pieces(url):
    with Connection(url) as connection:
        for number in range(1, 6):
            connection.write("OPTIONS", url)
        for number in range(1, 6):
            assert connection.read_reply(number).status == 200
        for byte in f"\r\nDESCRIBE {url} RTSP/1.0\r\ncseq:4294967295\r\naccept: */*\r\n\r\n":
            connection.socket.sendall(byte.encode())
        assert connection.read_reply(4294967295).status == 200


def test_teardown_says_goodbye(url):
    with Connection(url) as connection:
        session = rtsp_client.set_up(connection, url)
        session.play()
        receiver = rtp.Receiver(session)
        receiver.read_unit()
        assert session.ask("PAUSE").status == 200  # so that there is room for it
        assert session.ask("TEARDOWN").status == 200
        bye = None
        while not bye:
            is_rtcp, data = session.read()
            bye = rtp.byes(rtp.parse_rtcp(data)) if is_rtcp else None
        assert bye == [session.ssrc]
        assert session.ask("PLAY").status == 454
