"""Streams by multicast, with real players, on the loopback device.

Tests that run at once share its groups, so each has addresses and ports of its own.
"""

import ipaddress
import random
import socket
import subprocess

import pytest

import daemon
import pattern
import rtp
import rtsp_client
from sanitized import once
from rtsp_client import Connection

SIZE = (320, 240)
BITRATE_KBPS = 500  # seconds of it wait for a client that a busy machine keeps from its socket
TTL = 3


def has_route():
    """Whether this machine's routes lead to groups: ffmpeg joins them by no other way."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        return datagrams.connect_ex(("239.255.0.1", 9)) == 0


@pytest.fixture
def serve(edged):
    """Starts an edged whose streams have two groups, `groups` and from `port` on."""

    def start(views=("edges",), rtsp_settings=(), **settings):
        draw = random.SystemRandom()
        first = ipaddress.IPv4Address("239.255.0.0") + 2 * draw.randrange(1 << 15)
        port = 2 * draw.randrange(10000, 16000)
        multicast = {"addresses": f"{first}/31", "port": port, "ttl": TTL, **settings}
        server = edged(
            [daemon.camera(views=[{"name": view, "view": view, "bitrate_kbps": BITRATE_KBPS}
                                  for view in views], width=SIZE[0], height=SIZE[1])],
            settings={"rtsp": {"multicast": multicast, **dict(rtsp_settings)}},
        )
        server.groups, server.multicast_port = [str(first), str(first + 1)], port
        server.wait_camera("front", lambda camera: camera["state"] == "live")
        return server

    return start


def test_setup_names_the_group_that_packets_come_to(serve):
    """RFC 2326, 12.39: destination, both ports and ttl; RTP-Info and reports as for a viewer alone."""
    server = serve()
    url = server.url("/front/edges")
    with Connection(url) as connection:
        session = rtsp_client.set_up(connection, url, "multicast")
        # Who describes the stream has not chosen yet (C.1.6).
        assert session.sdp["c"] == ["IN IP4 0.0.0.0"] and session.media["m"][0].split()[1] == "0"
        assert session.profile == "RTP/AVP" and "unicast" not in session.transport
        assert session.transport["destination"] == server.groups[0]
        assert session.transport["port"] == f"{server.multicast_port}-{server.multicast_port + 1}"
        assert session.transport["ttl"] == str(TTL)
        assert session.timeout == "timeout=60"
        sequence, _ = session.play()
        receiver = rtp.Receiver(session, sequence)
        assert rtp.is_key(receiver.read_unit())
        report = rtp.sender_report(receiver.read_report()[0])
        assert report.ssrc == session.ssrc
        mount = server.mount()
        assert mount["multicast"] == f"{server.groups[0]}:{server.multicast_port}"
        assert mount["viewers"] == 1
        assert session.ask("TEARDOWN").status == 200
        assert server.mount()["multicast"] == ""


@pytest.mark.parametrize("program", once("gstreamer", "ffmpeg"))
def test_players_see_every_frame(serve, watch, program):
    if program == "ffmpeg" and not has_route():
        pytest.skip("no route to multicast groups")
    server = serve()
    viewer = watch(
        server.url("/front/edges"), program=program, transport="multicast", size=SIZE, keep_every=15
    )
    viewer.wait_numbers(3 * pattern.FPS)
    viewer.wait_kept(1)
    assert server.mount()["multicast"]
    assert viewer.stop()
    server.assert_accounted(viewer)
    number, picture = next(iter(viewer.pictures().items()))
    assert pattern.psnr_db(picture, pattern.expected_luma("edges", number, *SIZE)) >= 32


def read_packets(group, sender=None):
    """The RTP packets that come from the first who sends one to the group, edged.

    GStreamer's players send a few datagrams of random bytes there, to open firewalls.
    """
    while True:
        datagram, address = group.recvfrom(2048)
        if sender is None and datagram[0] == 0x80 and len(datagram) != 200:
            sender = address
        if address == sender:
            yield rtp.parse_packet(datagram)


def test_two_players_share_packets_that_are_sent_once(serve, watch):
    server = serve()
    url = server.url("/front/edges")
    program = "ffmpeg" if has_route() else "gstreamer"
    first = watch(url, program=program, transport="multicast", size=SIZE)
    first.wait_numbers(1)
    counted = rtsp_client.join_group(server.groups[0], server.multicast_port)
    counted.settimeout(daemon.PATIENCE_S)
    packets = read_packets(counted)
    first_packet = next(packets)
    second = watch(url, program="gstreamer", transport="multicast", size=SIZE)
    second.wait_numbers(pattern.FPS)
    server.wait_mount("/front/edges", lambda mount: mount["viewers"] == 2)
    later = [next(packets) for _ in range(104)]
    assert {packet.ssrc for packet in later} == {first_packet.ssrc}
    apart = sorted((packet.sequence - later[50].sequence + 2**15) % 2**16 for packet in later)
    # Each comes, and comes once; of the last ones some may be overtaken.
    assert apart[:100] == list(range(apart[0], apart[0] + 100))
    assert first.stop()
    second.wait_numbers(len(second.new_frames()) + pattern.FPS)
    server.assert_accounted(second)
    assert second.stop()
    server.wait_mount("/front/edges", lambda mount: mount["multicast"] == "")
    counted.setblocking(False)
    with pytest.raises(BlockingIOError):
        while counted.recv(2048):  # what came before
            pass
    assert "viewer 127.0.0.1 over multicast went" in server.stderr()
    counted.close()


def test_streams_have_groups_of_their_own_while_there_are_any(serve):
    server = serve(("edges", "gray", "camera"))
    paths = [f"/front/{view}" for view in ("edges", "gray", "camera")]
    with Connection(server.url("/")) as connection:
        sessions = [
            rtsp_client.set_up(connection, server.url(path), "multicast") for path in paths[:2]
        ]
        assert [one.transport["destination"] for one in sessions] == server.groups
        for _ in range(2):
            asked = {"Transport": "RTP/AVP;multicast"}
            assert connection.ask("SETUP", server.url(paths[2]), asked).status == 453
        assert server.stderr().count("all 2 addresses of rtsp.multicast are in use") == 1
        besides = {"Transport": "RTP/AVP;multicast,RTP/AVP/TCP;unicast;interleaved=6-7"}
        reply = connection.ask("SETUP", server.url(paths[2]), besides)
        assert reply.status == 200 and reply.headers["transport"].startswith("RTP/AVP/TCP;unicast;interleaved=6-7")
        for session in sessions:
            session.play()
            rtp.Receiver(session).read_units(2)
        assert sessions[0].ask("TEARDOWN").status == 200
        third = rtsp_client.set_up(connection, server.url(paths[2]), "multicast")
        assert third.transport["destination"] == server.groups[0]


def test_a_reload_without_addresses_ends_multicast_alone(serve):
    server = serve()
    url = server.url("/front/edges")
    with Connection(url) as by_group, Connection(url) as by_tcp:
        rtsp_client.set_up(by_group, url, "multicast").play()
        other = rtsp_client.set_up(by_tcp, url)
        other.play()
        server.reload(rtsp={"port": server.port})
        assert by_group.is_hung_up()
        rtp.Receiver(other).read_units(pattern.FPS)
        refused = other.connection.ask("SETUP", url, {"Transport": "RTP/AVP;multicast"})
        assert refused.status == 461


def test_groups_for_this_machine_alone_do_not_begin_at_an_address_of_the_network(serve):
    """The address stays until edged is started again."""
    server = serve(rtsp_settings={"address": "0.0.0.0", "auth": "none"})
    multicast = server.settings["rtsp"]["multicast"]
    server.reload(rtsp={"port": server.port, "multicast": multicast})
    why, stays = [problem for problem in server.status()["configuration"]["problems"] if "error: " in problem]
    assert why.startswith('settings: error: rtsp.address: got "0.0.0.0", allowed: ')
    assert 'error: rtsp.address stays "0.0.0.0"' in stays and "until edged is started again" in stays
    server.reload(rtsp={"port": server.port, "auth": "none", "multicast": multicast})
    assert all("warning" in problem for problem in server.status()["configuration"]["problems"])


def test_users_have_to_log_in_for_a_group(serve, tmp_path):
    path = tmp_path / "rtsp.users"
    subprocess.run(
        [daemon.EDGECTL, "passwd", "--file", path, "--role", "viewer", "vera"], text=True,
        input="a good password\n", check=True, timeout=daemon.PATIENCE_S,
        env=daemon.environment(), capture_output=True,
    )  # fmt: skip
    server = serve(rtsp_settings={"users": path}, public=True)
    url = server.url("/front/edges")
    asked = {"Transport": "RTP/AVP;multicast"}
    with Connection(url) as stranger:
        assert stranger.ask("SETUP", url, asked).status == 401
    with Connection(url, login=("vera", "a good password")) as connection:
        session = rtsp_client.set_up(connection, url, "multicast")
        session.play()
        rtp.Receiver(session).read_units(2)
