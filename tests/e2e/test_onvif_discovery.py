"""Clients that look for cameras by WS-Discovery: who finds edged, what it says, and when it is silent."""

import contextlib
import fcntl
import re
import socket
import tempfile
import time
import uuid
from pathlib import Path

import pytest

import daemon
import onvif_client
from onvif_client import DEVICE, SOAP
from test_http_login import own_address
from test_onvif import bed  # noqa: F401

DISCOVERY = "http://schemas.xmlsoap.org/ws/2005/04/discovery"
ADDRESSING = "http://schemas.xmlsoap.org/ws/2004/08/addressing"
SCOPE = "onvif://www.onvif.org"


def probe(types="", scopes="", body=None):
    body = body or (f'<d:Probe><d:Types xmlns:dp0="http://www.onvif.org/ver10/network/wsdl">{types}</d:Types>'
                    f"<d:Scopes>{scopes}</d:Scopes></d:Probe>")
    return (f'<s:Envelope xmlns:s="{SOAP}" xmlns:a="{ADDRESSING}" xmlns:d="{DISCOVERY}"><s:Header>'
            f"<a:MessageID>urn:uuid:{uuid.uuid4()}</a:MessageID></s:Header><s:Body>{body}</s:Body></s:Envelope>")


class Looker:
    """Sends to the group of WS-Discovery by this machine's own interface, which hears it, too."""

    def __init__(self):
        self.address = own_address()
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((self.address, 0))
        self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(self.address))

    def ask(self, text, within_s=daemon.PATIENCE_S, to="239.255.255.250"):
        """The answer; None: none comes."""
        self.socket.sendto(text.encode(), (to, 3702))
        self.socket.settimeout(within_s)
        try:
            answer = self.socket.recv(8192).decode()
        except TimeoutError:
            return None
        sent = re.search("<a:MessageID>(.*?)</a:MessageID>", text)
        assert not sent or f"<a:RelatesTo>{sent[1]}</a:RelatesTo>" in answer, answer
        return answer


@pytest.fixture
def looker():
    """One at a time on this machine: an edged of another test would answer as well. Tests ask for it
    before theirs, which then ends first."""
    with (Path(tempfile.gettempdir()) / "edged-test-discovery.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        one = Looker()
        yield one
        one.socket.close()


def test_who_looks_for_cameras_finds_this_one(looker, bed):  # noqa: F811
    one = bed(address="0.0.0.0", onvif={"discovery": True})
    found = looker.ask(probe("dp0:NetworkVideoTransmitter", f"{SCOPE}/Profile/Streaming"))  # Home Assistant's
    url = f"http://{looker.address}:{one.port}/onvif/device_service"
    assert f"<d:XAddrs>{url}</d:XAddrs>" in found
    endpoint = re.search("<a:Address>(urn:uuid:[0-9a-f-]{36})</a:Address>", found)[1]
    scopes = re.search("<d:Scopes>(.*)</d:Scopes>", found)[1].split()
    assert {f"{SCOPE}/type/video_encoder", f"{SCOPE}/location/"} < set(scopes)
    client = one.client()
    assert client.ask(DEVICE, "GetScopes").all("ScopeItem") == scopes
    assert client.ask(DEVICE, "GetEndpointReference").one("GUID") == endpoint
    resolve = ("<d:Resolve><a:EndpointReference><a:Address>{}</a:Address></a:EndpointReference></d:Resolve>").format
    assert f"<d:XAddrs>{url}</d:XAddrs>" in looker.ask(probe(body=resolve(endpoint)))
    for asked in (probe(), probe("tds:Device dp0:NetworkVideoTransmitter"), probe(scopes=f"{SCOPE}/TYPE/"),
                  probe(scopes=scopes[2])):
        assert "ProbeMatches" in looker.ask(asked)
    time.sleep(0.7)  # so that silence is not that of too many answers
    for other in (probe("dp0:Printer"), probe("dp0:Device dp0:Printer"), probe(scopes=f"{SCOPE}/Profile/Stream"),
                  probe(scopes=f"{SCOPE}/type/ptz"), probe(body=resolve("urn:uuid:" + "0" * 8 + endpoint[17:])),
                  probe(body="<d:Hello/>"), probe().replace("2005/04", "2009/01"), "no XML",
                  re.sub("<a:MessageID>.*</a:MessageID>", "", probe()), "x" * 20000):
        assert looker.ask(other, 0.2) is None, other
    assert looker.ask(probe())


def test_answers_are_at_most_ten_a_second(looker, bed):  # noqa: F811
    bed(address="0.0.0.0", onvif={"discovery": True})
    assert looker.ask(probe())
    time.sleep(1.2)
    begin = time.monotonic()
    for _ in range(100):
        looker.socket.sendto(probe().encode(), ("239.255.255.250", 3702))
    daemon.wait_for(lambda: onvif_client.unread_bytes("u", "sport = :3702") == 0)
    seconds = time.monotonic() - begin
    answers = 0
    looker.socket.settimeout(0.5)
    with contextlib.suppress(TimeoutError):
        while True:
            answers += looker.socket.recv(8192).startswith(b"<?xml")
    assert 10 <= answers <= 10 + 10 * (seconds + 0.5), (answers, seconds)


@pytest.mark.parametrize("onvif, address", [({"discovery": False}, "0.0.0.0"), ({"discovery": True}, "127.0.0.1"),
                                            ({"enabled": False, "discovery": True}, "0.0.0.0")])
def test_nobody_finds_what_is_off_or_not_open_to_the_network(looker, bed, onvif, address):  # noqa: F811
    one = bed(address=address, onvif=onvif)
    assert looker.ask(probe(), 0.5) is None
    one.server.settings["http"]["address"] = "0.0.0.0"
    one.server.reload(onvif={"enabled": True, "discovery": True})
    assert looker.ask(probe())
    one.server.reload(onvif={"enabled": True, "discovery": False})
    time.sleep(0.2)
    assert looker.ask(probe(), 0.5) is None
