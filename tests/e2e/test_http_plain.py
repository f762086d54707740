"""Requests without TLS at a port that has it: the client is sent to https, and shown nothing else."""

import contextlib
import http.client
import json
import socket
import ssl
import subprocess
import time

import pytest

import daemon
from daemon import PATIENCE_S
from ports import free_port
from test_http_strangers import connect, handshake_s

# As Chromium asks for an address that is typed without a scheme.
CHROMIUM = (b"GET /login?token=a%20b&x=1 HTTP/1.1\r\nHost: camera.local:9854\r\nConnection: keep-alive\r\n"
            b"Upgrade-Insecure-Requests: 1\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36\r\n"
            b"Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\nSec-GPC: 1\r\n"
            b"Accept-Encoding: gzip, deflate\r\nAccept-Language: en\r\nCookie: edged_9854=secret\r\n\r\n")


@pytest.fixture(scope="module")
def server(shared_edged, tmp_path_factory):
    port = free_port()
    server = shared_edged([daemon.camera("front", width=320, height=240)],
                          STATE_DIRECTORY=tmp_path_factory.mktemp("tls"),
                          settings={"http": {"port": port, "tls": True}})
    server.api = port
    return server


def exchange(server, *pieces):
    """All that is answered to the pieces, which come half a second apart, until edged hangs up."""
    answer = b""
    with connect(server, "127.0.0.9") as connection:
        for number, piece in enumerate(pieces):
            time.sleep(0.5 if number else 0)
            connection.sendall(piece)
        with contextlib.suppress(ConnectionError):
            while more := connection.recv(1 << 16):
                answer += more
    return answer


def read(answer):
    """(status, headers) of the one answer."""
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:])
    assert len(body) == int(headers["Content-Length"]) or not body
    return int(lines[0].split()[1]), headers


def test_curl_follows_to_https(server):
    reply = subprocess.run(
        ["curl", "-q", "-sS", "-k", "-L", "--noproxy", "*", "-w", "\n%{url_effective} %{num_redirects}",
         f"http://127.0.0.1:{server.api}/v1/status?x=%C3%A4"], capture_output=True, text=True, check=True,
        timeout=PATIENCE_S).stdout
    body, _, last = reply.rpartition("\n")
    assert json.loads(body)["cameras"][0]["name"] == "front"
    assert last == f"https://127.0.0.1:{server.api}/v1/status?x=%C3%A4 1"


def test_a_browser_is_sent_to_the_host_and_port_that_it_asked_for(server):
    status, headers = read(exchange(server, CHROMIUM))
    assert status == 301
    assert headers["Location"] == "https://camera.local:9854/login?token=a%20b&x=1"
    assert headers["Cache-Control"] == "no-store"  # http.tls may be false again
    assert "Strict-Transport-Security" not in headers and "Set-Cookie" not in headers


@pytest.mark.parametrize("method, status", [
    ("GET", 301), ("HEAD", 301), ("POST", 308), ("PATCH", 308), ("DELETE", 308)])
def test_a_method_stays_what_it_is(server, method, status):
    """After 301 some clients ask with GET (RFC 9110, section 15.4.2)."""
    connection = http.client.HTTPConnection("127.0.0.1", server.api, timeout=PATIENCE_S)
    connection.request(method, "/v1/reload", body=b"{}" if method in ("POST", "PATCH") else None)
    reply = connection.getresponse()
    assert (reply.status, reply.getheader("Location")) == (status, f"https://127.0.0.1:{server.api}/v1/reload")
    connection.close()


@pytest.mark.parametrize("host", ["camera.local", "192.0.2.7:80", "[::1]", "[::1]:9854", "CAM.example.org:443"])
def test_the_host_is_kept_as_it_was_sent(server, host):
    answer = exchange(server, f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert read(answer)[1]["Location"] == f"https://{host}/"


@pytest.mark.parametrize("request_text", [
    b"GET / HTTP/1.0\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: user@camera\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: camera:port\r\n\r\n",
    b"GET http://camera/ HTTP/1.1\r\nHost: camera\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: camera\r\nHost: other\r\n\r\n",
    b"OPTIONS rtsp://camera/edges RTSP/1.0\r\nCSeq: 1\r\n\r\n"])
def test_a_request_for_no_address_is_sent_nowhere(server, request_text):
    answer = exchange(server, request_text)
    assert answer.split()[1] in (b"400", b"505") or not answer
    assert b"Location" not in answer


def test_a_slow_request_is_answered_once_it_is_whole(server):
    pieces = [b"", CHROMIUM[:1], CHROMIUM[1:40], CHROMIUM[40:]]
    assert read(exchange(server, *pieces))[0] == 301


@pytest.mark.parametrize("first", [
    b"\0", b"\x80", b"\xff" * 9, b"get / HTTP/1.1\r\n\r\n", b"\r\n\r\n", b"\x15\x03\x01\x00\x02"])
def test_bytes_that_are_neither_get_no_http(server, first):
    with connect(server, "127.0.0.9") as connection:
        answer = b""
        with contextlib.suppress(OSError):  # it may be hung up on by then
            connection.sendall(first)
            connection.shutdown(socket.SHUT_WR)
            while more := connection.recv(1 << 16):
                answer += more
    assert b"HTTP" not in answer
    assert handshake_s(server, "127.0.0.9") < PATIENCE_S / 2


def test_silent_connections_keep_nobody_from_either(server):
    with contextlib.ExitStack() as stack:
        silent = [stack.enter_context(connect(server, "127.0.0.9")) for _ in range(60)]
        assert read(exchange(server, CHROMIUM))[0] == 301
        assert handshake_s(server, "127.0.0.9") < PATIENCE_S / 2
        silent[0].sendall(CHROMIUM)
        assert b" 301 " in silent[0].recv(1 << 16)


def test_without_tls_nothing_else_is_served(server):
    """Not even what everybody may read, and no second request of the connection."""
    for path in (b"/healthz", b"/page/video.js", b"/v1/events", b"/nothing"):
        answer = exchange(server, b"GET " + path + b" HTTP/1.1\r\nHost: a\r\n\r\n" + CHROMIUM)
        assert answer.count(b"HTTP/1.1 ") == 1 and read(answer)[0] == 301


def test_a_plain_port_serves_as_before_and_tls_can_come_and_go(edged, tmp_path):
    http_settings = {"port": free_port()}
    server = edged([daemon.camera("front", width=320, height=240)], STATE_DIRECTORY=tmp_path,
                   settings={"http": http_settings})
    server.api = http_settings["port"]
    asked = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    for tls in (True, False):
        assert read(exchange(server, asked))[0] == (200 if not server.settings["http"].get("tls") else 301)
        server.reload(http={**http_settings, "tls": tls})
        daemon.wait_for(lambda: read(exchange(server, asked))[0] == (301 if tls else 200))
    with pytest.raises(ssl.SSLError):
        handshake_s(server, "127.0.0.9")
