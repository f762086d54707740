"""Requests that two readers may take for two different ones, names that lead to this machine, and pages
of other servers that show pictures."""

import contextlib
import http.client
import json
import socket

import pytest

import daemon
from daemon import PATIENCE_S
from ports import free_port
from test_http import write_users
from test_http_video import VIEWS

SIZE = {"width": 320, "height": 240}
HOST = socket.gethostname().partition(".")[0]


@pytest.fixture(scope="module")
def opened(shared_edged):
    """One that asks nobody for a password, in the domain lab.example."""
    port = free_port()
    server = shared_edged([daemon.camera(views=VIEWS, **SIZE)], LOCALDOMAIN="lab.example", settings={
        "rtsp": {"auth": "none"}, "http": {"port": port, "names": ["cam.example.org", "attic"]}})
    server.api = port
    return server


def exchange(server, request):
    """All that is answered until edged closes the connection."""
    with socket.create_connection(("127.0.0.1", server.api), PATIENCE_S) as connection:
        connection.sendall(request)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while more := connection.recv(1 << 16):
                answer += more
    return answer


def status_for_host(server, host):
    answer = exchange(server, f"GET /v1/time HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    return int(answer.split()[1]), answer.partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize("host", [
    "127.0.0.1", "127.0.0.1:{port}", "192.0.2.7:80", "[::1]", "[::1]:{port}", "[fe80::1%25eth0]", "localhost",
    "LOCALHOST:{port}", "localhost.", HOST, HOST.upper(), f"{HOST}:{{port}}", f"{HOST}.local", f"{HOST}.LAB.example",
    "cam.example.org", "CAM.example.org:443", "attic"])
def test_without_passwords_own_names_are_answered(opened, host):
    assert status_for_host(opened, host.format(port=opened.api))[0] == 200


@pytest.mark.parametrize("host", [
    "evil.example", "evil.example:{port}", f"{HOST}.evil.example", f"x{HOST}", f"{HOST}x", f"{HOST}.lab.example.org",
    "attic.evil.example", "example.org", "127.0.0.1.evil.example", "[::1].evil.example", "127.0.0.1@evil.example", ""])
def test_without_passwords_a_name_of_another_machine_is_misdirected(opened, host):
    status, body = status_for_host(opened, host.format(port=opened.api))
    assert status == 421 and "http.names" in json.loads(body)["detail"]


def test_without_users_a_name_of_the_configuration_is_answered(edged):
    port = free_port()
    server = edged([daemon.camera(**SIZE)], settings={"http": {"port": port}})
    server.api = port
    assert status_for_host(server, "cam.example.org")[0] == 403
    server.reload(http={"port": port, "names": ["cam.example.org"]})
    assert status_for_host(server, "cam.example.org")[0] == 200
    assert status_for_host(server, HOST)[0] == 403


def test_nginx_as_installed_is_answered(opened):
    """Its proxy_pass asks by HTTP/1.0, with the address of proxy_pass as Host."""
    answer = exchange(opened, f"GET /v1/status HTTP/1.0\r\nHost: 127.0.0.1:{opened.api}\r\nConnection: close\r\n"
                      "User-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.") and b" 200 " in answer.splitlines()[0]


@pytest.fixture(scope="module")
def proxied(shared_edged, tmp_path_factory):
    """One with the user otto, and 127.0.0.9 as a proxy in front of it."""
    users, port = tmp_path_factory.mktemp("proxied") / "rtsp.users", free_port()
    write_users(users, otto="operator")
    server = shared_edged([daemon.camera(views=VIEWS, **SIZE)], settings={
        "rtsp": {"users": str(users)}, "http": {"port": port, "proxies": ["127.0.0.9"]}})
    server.api = port
    return server


def log_in(server, address, **headers):
    """As the page does: its status and cookie."""
    connection = http.client.HTTPConnection("127.0.0.1", server.api, timeout=PATIENCE_S, source_address=(address, 0))
    connection.request("POST", "/v1/login", json.dumps({"user": "otto", "password": "pass"}),
                       {name.replace("_", "-"): value for name, value in headers.items()})
    reply = connection.getresponse()
    connection.close()
    return reply.status, reply.getheader("Set-Cookie")


def test_the_page_works_behind_a_proxy_that_ends_tls_and_says_so(proxied):
    names = {"Host": "cam.example.org", "Origin": "https://cam.example.org", "Sec_Fetch_Site": "same-origin"}
    status, cookie = log_in(proxied, "127.0.0.9", **names, X_Forwarded_Proto="https")
    assert status == 200 and cookie.endswith("; Secure")
    connection = http.client.HTTPConnection("127.0.0.1", proxied.api, timeout=PATIENCE_S,
                                            source_address=("127.0.0.9", 0))
    connection.request("POST", "/v1/reload", headers={
        "Cookie": cookie.split(";")[0], "X-Forwarded-Proto": "https",
        **{name.replace("_", "-"): value for name, value in names.items()}})
    assert connection.getresponse().status == 200
    connection.close()


@pytest.mark.parametrize("address, headers", [
    ("127.0.0.9", {"Host": "cam.example.org", "Origin": "https://cam.example.org"}),  # which does not say so
    ("127.0.0.9", {"Host": "cam.example.org", "Origin": "https://cam.example.org", "X_Forwarded_Proto": "http"}),
    ("127.0.0.9", {"Host": "cam.example.org", "Origin": "http://cam.example.org", "X_Forwarded_Proto": "https"}),
    ("127.0.0.9", {"Host": "cam.example.org", "Origin": "https://evil.example", "X_Forwarded_Proto": "https"}),
    ("127.0.0.9", {"Origin": "https://cam.example.org", "X_Forwarded_Proto": "https"}),  # with its own Host
    ("127.0.0.10", {"Host": "cam.example.org", "Origin": "https://cam.example.org", "X_Forwarded_Proto": "https"})])
def test_a_page_behind_a_proxy_that_shows_no_own_origin_is_refused(proxied, address, headers):
    assert log_in(proxied, address, **headers)[0] == 403


LATER = b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def refusal_of(server, head):
    """The lines of the answer's head, in lower case, after which nothing is answered."""
    answer = exchange(server, head + b"\r\n" + LATER)
    lines = answer.lower().split(b"\r\n\r\n")[0].split(b"\r\n")
    assert b"connection: close" in lines, answer
    assert answer.count(b"\r\nDate: ") == 1 and b"now_us" not in answer
    assert "reloaded" not in server.stderr()
    return lines


@pytest.mark.parametrize("head", [
    b"POST /v1/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 0\r\n",
    b"POST /v1/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nContent-Length: 0\r\n",
    b"POST /v1/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n",
    b"POST /v1/reload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n",
    b"POST /v1/reload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
    b"POST /v1/reload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: xchunked\r\n",
    b"POST /v1/reload HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n",
    b"POST /v1/reload HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n",
    b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nContent-Length : 5\r\n",
    b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n",
    b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nOrigin: null\r\n",
    b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nAuthorization: a\r\nauthorization: b\r\n",
    b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nX: a\x01b\r\n",
    b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nX\x7f: a\r\n",
    b"GET /v1/time%00 HTTP/1.1\r\nHost: localhost\r\n",
    b"GET /v1/time%0d%0aX HTTP/1.1\r\nHost: localhost\r\n",
    b"GET /v1/ti\x01me HTTP/1.1\r\nHost: localhost\r\n",
    b"GET /v1/time HTTP/1.1\r\n",
])
def test_a_request_that_can_be_read_in_two_ways_is_refused_and_ends_the_connection(opened, head):
    assert b" 400 " in refusal_of(opened, head)[0]


def test_a_blank_in_the_target_is_refused_or_sent_where_it_is_encoded(opened):
    """RFC 9112, 3.2, names both. libmicrohttpd before 1.0 does the former, from 1.0 on the latter."""
    lines = refusal_of(opened, b"GET /v1/time x HTTP/1.1\r\nHost: localhost\r\n")
    assert b" 400 " in lines[0] or (b" 301 " in lines[0] and b"location: /v1/time%20x" in lines), lines


def test_a_request_that_can_be_read_in_one_way_is_answered(opened):
    for head in (b"GET /v1/time?x=%20%22%C3%A9 HTTP/1.1\r\nHost: localhost\r\nX: \xe9\tb\r\nX: c\r\n",
                 b"GET /v1/time HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n",
                 b"GET /v1/time HTTP/1.0\r\n"):
        answer = exchange(opened, head + b"\r\n" + LATER)
        assert b" 200 " in answer.splitlines()[0], (head, answer)


# Pages of other servers
# ---------------------------------------------------------------------

MEDIA = ["/snapshot.jpg", "/stream.mjpg", "/v1/cameras/front/views/edges/video",
         "/v1/video?view=front/edges", "/v1/cameras/front/views/edges/video?format=mp4"]
OTHERS = ["/", "/page/app.js", "/v1/status", "/v1/events", "/healthz", "/nothing"]


def policy_of(server, path, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.api, timeout=PATIENCE_S)
    connection.request("GET", path, headers=headers)
    reply = connection.getresponse()
    connection.close()
    return reply.status, reply.getheader("Cross-Origin-Resource-Policy")


def wait_policy(server, policy, **headers):
    """That of all pictures, asked again where a busy machine has none in time."""
    def look():
        return [policy_of(server, path, **headers) for path in MEDIA]

    daemon.wait_for(lambda: look() == [(200, policy)] * len(MEDIA), explain=lambda: str(look()))


def test_pages_of_others_show_pictures_for_which_nobody_logs_in(opened):
    wait_policy(opened, "cross-origin")
    assert {policy_of(opened, path)[1] for path in OTHERS} == {"same-origin"}


def test_with_users_a_key_lets_pages_of_others_show_pictures(edged, tmp_path):
    users, port = tmp_path / "rtsp.users", free_port()
    write_users(users, vera="viewer")
    server = edged([daemon.camera(views=VIEWS, **SIZE)],
                   settings={"http": {"port": port}, "rtsp": {"users": str(users)}})
    server.api = port
    reply = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    reply.request("POST", "/v1/login", json.dumps({"user": "vera", "password": "pass"}),
                  {"Origin": f"http://127.0.0.1:{port}"})
    cookie = {"Cookie": reply.getresponse().getheader("Set-Cookie").split(";")[0]}
    for embed, policy in ((False, "same-origin"), (True, "cross-origin")):
        server.reload(http={"port": port, "embed": embed})
        wait_policy(server, policy, **cookie)
        assert {policy_of(server, path, **cookie)[1] for path in OTHERS} == {"same-origin"}
