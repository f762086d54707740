"""The page behind Debian's nginx, with the lines that edged(8) gives, plain and with TLS, at / and below a path."""

import http.client
import json
import pathlib
import re
import socket
import ssl
import struct
import subprocess

import pytest

import daemon
from http_video import CONFIGURATION, UNIT
from ports import free_port
from test_http import write_users

NGINX = pathlib.Path("/usr/sbin/nginx")
MANUAL = daemon.ROOT / "daemon/front/edged.8"
SIZE = {"width": 320, "height": 240}
CONFIG = """
daemon off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{http};
        listen 127.0.0.1:{https} ssl;
        ssl_certificate {folder}/cert.pem;
        ssl_certificate_key {folder}/key.pem;
        {location}
    }}
}}
"""


def manual_location(path, port):
    """The lines of edged(8), at another path and port."""
    text = re.search(r"^location / \{.*?^\}", MANUAL.read_text(), re.MULTILINE | re.DOTALL)[0].replace("\\-", "-")
    to = "/" if path != "/" else ""
    return text.replace("location /", f"location {path}").replace("127.0.0.1:9854", f"127.0.0.1:{port}{to}")


@pytest.fixture(scope="module")
def served(shared_edged, tmp_path_factory):
    users, port = tmp_path_factory.mktemp("nginx") / "rtsp.users", free_port()
    write_users(users, otto="operator")
    server = shared_edged([daemon.camera(**SIZE)], settings={"rtsp": {"users": str(users)}, "http": {"port": port}})
    server.api = port
    server.wait_mount("/front/edges", lambda mount: mount["width"] == SIZE["width"])
    return server


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Proxy:
    """An address of nginx, and otto in front of it, as a browser asks for him."""

    def __init__(self, path, scheme, port):
        self.path, self.scheme, self.port, self.connections = path, scheme, port, []
        host = f"cam.example.org:{port}"
        self.headers = {"Host": host, "Origin": f"{scheme}://{host}", "Sec-Fetch-Site": "same-origin",
                        "Accept": "text/html, */*", "Content-Type": "application/json"}

    def ask(self, method, path, body=None):
        """A reply that is still to be read."""
        context = {"context": ssl._create_unverified_context()} if self.scheme == "https" else {}
        kind = http.client.HTTPSConnection if context else http.client.HTTPConnection
        self.connections.append(kind("127.0.0.1", self.port, timeout=daemon.PATIENCE_S, **context))
        self.connections[-1].request(method, self.path + path, body and json.dumps(body), self.headers)
        return self.connections[-1].getresponse()

    def ask_for_picture(self, path):
        """The same, asked again where a busy machine has none in time."""
        return daemon.wait_for(lambda: (reply := self.ask("GET", path)).status != 503 and reply)

    def log_in(self):
        reply = self.ask("POST", "v1/login", {"user": "otto", "password": "pass"})
        cookie = reply.getheader("Set-Cookie")
        assert reply.status == 200 and cookie.endswith("; Secure") == (self.scheme == "https"), cookie
        self.headers["Cookie"] = cookie.split(";")[0]


@pytest.fixture(params=["http", "https"])
def scheme(request):
    return request.param


@pytest.fixture(params=["/", "/edged/"])
def proxy(request, scheme, served, tmp_path):
    if not NGINX.exists():
        pytest.skip("scripts/setup --with nginx")
    ports = {"http": free_port(), "https": free_port()}
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=cam.example.org", "-keyout",
                    tmp_path / "key.pem", "-out", tmp_path / "cert.pem"], check=True, capture_output=True)
    configuration = tmp_path / "nginx.conf"
    configuration.write_text(CONFIG.format(folder=tmp_path, location=manual_location(request.param, served.api), **ports))
    log = tmp_path / "nginx.log"
    with log.open("w") as told, subprocess.Popen([NGINX, "-p", tmp_path, "-c", configuration], stderr=told) as nginx:
        try:
            daemon.wait_for(lambda: listens(ports[scheme]), explain=log.read_text)
            one = Proxy(request.param, scheme, ports[scheme])
            one.log_in()
            yield one
            for connection in one.connections:
                connection.close()
        finally:
            nginx.terminate()


def test_the_page_its_settings_and_pictures_come(proxy, served):
    assert b"<title>edged" in proxy.ask("GET", "").read()
    for gain in (3, 5):
        reply = proxy.ask("PATCH", "v1/config", {"cameras": {"front": {"views": {"edges": {"gain": gain}}}}})
        assert reply.status == 200, reply.read()
    assert proxy.ask_for_picture("snapshot.jpg?camera=front").read().startswith(b"\xff\xd8")
    refused = proxy.ask("PATCH", "v1/config", {"cameras": {"front": {"views": {"edges": {"gain": -1}}}}})
    assert refused.status == 422 and "gain" in json.loads(refused.read())["detail"]


def test_what_goes_on_comes_while_it_goes_on(proxy):
    """nginx keeps replies back until it has a buffer full, unless it is told."""
    assert proxy.ask("GET", "v1/events").readline()
    assert proxy.ask_for_picture("stream.mjpg?camera=front").read(64).startswith(b"--")
    assert proxy.ask_for_picture("v1/video?view=front/edges&format=mp4").read(8)[4:] == b"ftyp"
    video, kinds = proxy.ask("GET", "v1/video?view=front/edges"), []
    while kinds.count(UNIT) < 3:
        size, kind = struct.unpack(">IB", video.read(5))
        video.read(11 + size)
        kinds.append(kind)
    assert CONFIGURATION in kinds
