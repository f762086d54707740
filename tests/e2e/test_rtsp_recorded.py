"""Requests as players and recorders that no distribution packages send them, played back byte by
byte: only URL, session and ports are put in. Each must see a stream between PLAY and TEARDOWN.

Where they come from:
- VLC over TCP and UDP: the log of LibVLC 3.0.18 in media-kit/media-kit issue 1177 and of LibVLC
  2.2.1 in caprica/vlcj issue 362, GET_PARAMETER and the order of lines from RTSPClient.cpp of
  LIVE555; the datagrams of four bytes that open a firewall from its MediaSession.cpp.
- Frigate, whose go2rtc fetches streams: the traces in AlexxIT/go2rtc issue 289 and
  blakeblackshear/frigate issue 5954, with what its pkg/rtsp/client.go asks for first, a back channel.
- ZoneMinder: the logs in ZoneMinder/zoneminder issues 911 and 2029, and its zm_rtsp.cpp.
- Genetec's Omnicast: the SETUP in AlexxIT/go2rtc issue 1510, which names no channels.
- Happytime's recorder: its log in bluenviron/mediamtx issue 2908, a DESCRIBE as keep-alive.
- aiortsp 1.4.0, a client of Python's, over TCP and UDP: what it sent to edged.
"""

import pytest

import daemon
import rtp
import rtsp
import rtsp_client
from rtsp_client import Connection

VLC = "User-Agent: LibVLC/3.0.18 (LIVE555 Streaming Media v2016.11.28)"
ZONEMINDER = "User-Agent: ZoneMinder/1.30.4"
HAPPYTIME = "User-Agent: HIP 2.42.1.55.3"
OMNICAST = "User-Agent: OmnicastRTSPClient/1.0"
AIORTSP = "User-Agent: aiortsp/1.4.0"
TCP = "Transport: RTP/AVP/TCP;unicast;interleaved=0-1"


def vlc(transport):
    return [
        (200, ["OPTIONS {url} RTSP/1.0", "CSeq: 2", VLC]),
        (200, ["DESCRIBE {url} RTSP/1.0", "CSeq: 3", VLC, "Accept: application/sdp"]),
        (200, ["SETUP {media} RTSP/1.0", "CSeq: 4", VLC, transport]),
        (200, ["PLAY {url}/ RTSP/1.0", "CSeq: 5", VLC, "Session: {session}", "Range: npt=0.000-"]),
        (200, ["GET_PARAMETER {url}/ RTSP/1.0", "CSeq: 6", VLC, "Session: {session}"]),
        (200, ["TEARDOWN {url}/ RTSP/1.0", "CSeq: 7", VLC, "Session: {session}"]),
    ]


def aiortsp(transport):
    return [
        (200, ["OPTIONS {url} RTSP/1.0", "CSeq: 1", AIORTSP]),
        (200, ["DESCRIBE {url} RTSP/1.0", "CSeq: 2", "Accept: application/sdp", AIORTSP]),
        (200, ["SETUP {media} RTSP/1.0", "CSeq: 3", transport, AIORTSP]),
        (200, ["PLAY {url}/ RTSP/1.0", "CSeq: 4", "Scale: 1", "Range: npt=now-",
               "Session: {session}", AIORTSP]),
        (200, ["TEARDOWN {url}/ RTSP/1.0", "CSeq: 5", "Session: {session}", AIORTSP]),
    ]


RECORDED = {
    "aiortsp-tcp": aiortsp(TCP),
    "aiortsp-udp": aiortsp("Transport: RTP/AVP;unicast;client_port={ports}"),
    "vlc-tcp": vlc(TCP),
    "vlc-udp": vlc("Transport: RTP/AVP;unicast;client_port={ports}"),
    "frigate": [
        (200, ["OPTIONS {url} RTSP/1.0", "CSeq: 1"]),
        (551, ["DESCRIBE {url} RTSP/1.0", "Accept: application/sdp",
               "Require: www.onvif.org/ver20/backchannel", "CSeq: 2"]),
        (200, ["DESCRIBE {url} RTSP/1.0", "Accept: application/sdp", "CSeq: 3"]),
        (200, ["SETUP {media} RTSP/1.0", TCP, "CSeq: 4"]),
        (200, ["PLAY {url}/ RTSP/1.0", "Session: {session}", "CSeq: 5"]),
        (200, ["OPTIONS {url}/ RTSP/1.0", "CSeq: 6", "Session: {session}"]),
        (200, ["TEARDOWN {url}/ RTSP/1.0", "CSeq: 7", "Session: {session}"]),
    ],
    "zoneminder": [
        (200, ["OPTIONS {url} RTSP/1.0", ZONEMINDER, "CSeq: 1"]),
        (200, ["DESCRIBE {url} RTSP/1.0", ZONEMINDER, "CSeq: 2"]),
        (200, ["SETUP {media} RTSP/1.0", "Transport: RTP/AVP/TCP;unicast", ZONEMINDER, "CSeq: 3"]),
        (200, ["PLAY {url}/ RTSP/1.0", "Session: {session}", "Range: npt=0.000-", ZONEMINDER,
               "CSeq: 4"]),
        (200, ["GET_PARAMETER {url}/ RTSP/1.0", "Session: {session}", ZONEMINDER, "CSeq: 5"]),
        (200, ["TEARDOWN {url}/ RTSP/1.0", "Session: {session}", ZONEMINDER, "CSeq: 6"]),
    ],
    "omnicast": [
        (200, ["DESCRIBE {url} RTSP/1.0", "CSeq: 1", OMNICAST]),
        (200, ["SETUP {media} RTSP/1.0", "CSeq: 2", OMNICAST, "Transport: RTP/AVP/TCP;unicast"]),
        (200, ["PLAY {url} RTSP/1.0", "CSeq: 3", OMNICAST, "Session: {session}"]),
        (200, ["TEARDOWN {url} RTSP/1.0", "CSeq: 4", OMNICAST, "Session: {session}"]),
    ],
    "happytime": [
        (200, ["OPTIONS {url} RTSP/1.0", "CSeq: 1202", HAPPYTIME]),
        (200, ["DESCRIBE {url} RTSP/1.0", "Accept: application/sdp", "CSeq: 1203", HAPPYTIME]),
        (200, ["SETUP {media} RTSP/1.0", TCP, "CSeq: 1204", HAPPYTIME]),
        (200, ["PLAY {url} RTSP/1.0", "Session: {session}", "CSeq: 1205", HAPPYTIME]),
        (200, ["OPTIONS {url} RTSP/1.0", "CSeq: 1206", HAPPYTIME]),
        (200, ["DESCRIBE {url} RTSP/1.0", "Accept: application/sdp", "CSeq: 1207", HAPPYTIME]),
        (200, ["TEARDOWN {url} RTSP/1.0", "Session: {session}", "CSeq: 1208", HAPPYTIME]),
    ],
}  # fmt: skip


class Replayed:
    """What rtp.Receiver needs of a session, from replies to requests that are not its own."""

    def __init__(self, connection, receivers):
        self.connection, self.receivers, self.transport = connection, receivers, {}

    def take_setup(self, reply):
        parameters = reply.headers["transport"].split(";")[1:]
        self.transport = dict(part.partition("=")[::2] for part in parameters)
        channels = self.transport.get("interleaved")
        self.channels = tuple(map(int, channels.split("-"))) if channels else ()
        self.ssrc = int(self.transport["ssrc"], 16)

    read = rtsp_client.Session.read
    _read_datagram = rtsp_client.Session._read_datagram


def open_firewall(session):
    """As LIVE555 does twice, from both of its sockets, before PLAY."""
    ports = map(int, session.transport["server_port"].split("-"))
    for receiver, port in zip(session.receivers, ports):
        for _ in range(2):
            receiver.sendto(b"\xce\xfa\xed\xfe", ("127.0.0.1", port))


def replay(connection, requests, url, receivers):
    ports = "-".join(str(one.getsockname()[1]) for one in receivers or ())
    session, identifier, receiver = Replayed(connection, receivers), "", None
    for status, lines in requests:
        text = "\r\n".join([*lines, "", ""])
        text = text.format(url=url, media=f"{url}/stream=0", session=identifier, ports=ports)
        connection.socket.sendall(text.encode())
        sequence = next(line.split()[1] for line in lines if line.startswith("CSeq"))
        reply = connection.read_reply(int(sequence))
        assert reply.status == status, (text, reply)
        if text.startswith("SETUP"):
            identifier = reply.headers["session"].split(";")[0]
            session.take_setup(reply)
            if receivers:
                open_firewall(session)
        if text.startswith("PLAY"):
            receiver = rtp.Receiver(session)
            assert rtp.is_key(receiver.read_unit())
        if receiver and not text.startswith("TEARDOWN"):
            receiver.read_units(10)


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_clients_are_served(edged, name):
    server = edged([daemon.camera(width=320, height=240)])
    url = server.url("/front/edges")
    rtsp.wait_served(url)
    receivers = rtsp_client.udp_pair() if name.endswith("udp") else None
    with Connection(url) as connection:
        replay(connection, RECORDED[name], url, receivers)
        connection.socket.shutdown(1)
        assert connection.is_hung_up()
    daemon.wait_for(lambda: server.status()["viewers"] == 0)
