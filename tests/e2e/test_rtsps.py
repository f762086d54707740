"""RTSP inside TLS with real players: what they see, what stays out of it, and what changes while
they watch."""

import base64
import hashlib
import re
import socket
import ssl
import time

import pytest

import daemon
import pattern
import rtsp
from ports import free_port
from test_http import make_certificate

SMALL = {"width": 320, "height": 240}


@pytest.fixture
def serve(edged, tmp_path):
    """Starts an edged with RTSP inside TLS at .tls_port, its state kept in tmp_path."""

    def start(**rtsp_settings):
        settings = {"rtsp": {"tls_port": free_port(), **rtsp_settings}}
        server = edged([daemon.camera("front", **SMALL)], settings=settings,
                       STATE_DIRECTORY=tmp_path)
        server.tls_port = settings["rtsp"]["tls_port"]
        return server

    return start


def secure(server, path="/front/edges", user=""):
    return f"rtsps://{user}127.0.0.1:{server.tls_port}{path}"


def shown(server):
    with rtsp.connect(secure(server)) as connection:
        return ssl.DER_cert_to_PEM_cert(connection.getpeercert(binary_form=True))


def request(connection, method, url, *headers, sequence=1):
    """The status of one request."""
    connection.sendall("\r\n".join([f"{method} {url} RTSP/1.0", f"CSeq: {sequence}", *headers,
                                    "", ""]).encode())
    return answer(connection)


def answer(connection):
    data = b""
    while b"\r\n\r\n" not in data:
        received = connection.recv(1)  # what follows belongs to the next
        assert received, data
        data += received
    length = re.search(rb"(?i)content-length: *(\d+)", data)
    body = b""
    while length and len(body) < int(length[1]):
        body += connection.recv(int(length[1]) - len(body))
    return int(data.split()[1]), data.decode(), body.decode()


@pytest.mark.parametrize("program", ["ffmpeg", "gstreamer"])
def test_players_see_every_frame_inside_tls(serve, watch, program):
    server = serve()
    assert f"rtsps://127.0.0.1:{server.tls_port}/" in server.stderr()
    assert server.status()["rtsps"] == f"rtsps://127.0.0.1:{server.tls_port}"
    viewer = watch(secure(server), program=program, size=(320, 240))
    viewer.wait_numbers(3 * pattern.FPS)
    server.assert_accounted(viewer)
    assert "over TLS" in server.stderr()


def test_streams_may_be_there_inside_tls_alone(serve, watch):
    port = free_port()
    server = serve(port=port, plain=False)
    assert f"ready: {secure(server)}" in server.stderr()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
    assert server.status()["rtsp"] == server.status()["rtsps"]
    assert server.mount()["url"] == secure(server)
    watch(secure(server), program="ffmpeg", size=(320, 240)).wait_numbers(pattern.FPS)
    server.reload(rtsp={"port": port, "plain": True})
    assert "started again" in server.status()["configuration"]["problems"][0]
    assert rtsp.connect(secure(server)), "what was refused changes nothing"


def test_a_description_names_urls_inside_tls(serve):
    server = serve()
    rtsp.wait_served(secure(server))
    with rtsp.connect(secure(server)) as connection:
        _, head, _ = request(connection, "DESCRIBE", secure(server), "Accept: application/sdp")
    assert f"Content-Base: {secure(server)}" in head


def test_pictures_do_not_leave_the_encryption_by_udp(serve):
    server = serve(multicast={"addresses": "239.255.4.1"})
    url = secure(server)
    rtsp.wait_served(url)
    with rtsp.connect(url) as connection:
        status, _, body = request(connection, "DESCRIBE", url, "Accept: application/sdp")
        assert status == 200
        track = re.findall(r"a=control:(\S+)", body)[-1]
        track = track if "://" in track else f"{url}/{track}"
        udp = "RTP/AVP;unicast;client_port=5000-5001"
        assert request(connection, "SETUP", track, f"Transport: {udp}")[0] == 461
        assert request(connection, "SETUP", track, "Transport: RTP/AVP;multicast")[0] == 461
        both = f"Transport: {udp},RTP/AVP/TCP;unicast;interleaved=0-1"
        status, head, _ = request(connection, "SETUP", track, both)
        assert status == 200 and "RTP/AVP/TCP" in head


def test_requests_that_share_a_record_are_all_answered(serve):
    server = serve()
    url = secure(server)
    rtsp.wait_served(url)
    with rtsp.connect(url) as connection:
        many = [f"{method} {url} RTSP/1.0\r\nCSeq: {i}\r\n\r\n"
                for i, method in enumerate(["OPTIONS", "DESCRIBE"] * 20)]
        connection.sendall("".join(many).encode())  # one record
        assert [answer(connection)[0] for _ in many] == [200] * len(many)


def test_a_new_certificate_is_taken_while_viewers_watch(serve, watch, tmp_path):
    server = serve(**make_certificate(tmp_path, "own"))
    viewers = [watch(secure(server)), watch(server.url("/front/edges"))]
    for viewer in viewers:
        viewer.wait_numbers(1)
    before = shown(server)
    make_certificate(tmp_path, "own", key="rsa")
    server.hang_up()
    assert shown(server) == (tmp_path / "own.crt").read_text() != before
    for viewer in viewers:
        viewer.wait_after(time.monotonic_ns(), pattern.FPS)
        server.assert_accounted(viewer)
    (tmp_path / "own.key").chmod(0o644)
    server.hang_up()
    assert not server.status()["configuration"]["successful"]
    assert shown(server) == (tmp_path / "own.crt").read_text()
    for viewer in viewers:
        viewer.wait_after(time.monotonic_ns(), pattern.FPS)
        server.assert_accounted(viewer)


def test_another_port_is_taken_and_viewers_of_the_old_one_stay(serve, watch):
    server = serve()
    viewer = watch(secure(server))
    viewer.wait_numbers(1)
    taken = free_port()
    with socket.create_server(("127.0.0.1", taken)):
        server.reload(rtsp={"tls_port": taken, "port": server.port})
        assert f"rtsp.tls_port {taken}" in server.status()["configuration"]["problems"][0]
        assert rtsp.describe(secure(server))[0] == 200
    old = secure(server)
    server.reload(rtsp={"tls_port": taken, "port": server.port})
    server.tls_port = taken
    assert rtsp.describe(secure(server))[0] == 200
    with pytest.raises(ConnectionRefusedError):
        rtsp.connect(old)
    server.reload(rtsp={"tls_port": 0, "port": server.port})
    with pytest.raises(ConnectionRefusedError):
        rtsp.connect(secure(server))
    viewer.wait_after(time.monotonic_ns(), pattern.FPS)
    server.assert_accounted(viewer)


@pytest.fixture
def stalled(edged, tmp_path):
    """Starts an edged with those settings of rtsp. server.stall(True) has its disk stall."""
    control = tmp_path / "disk"
    fakes = (daemon.BUILD / f"tests/fakes/{name}/fake_{name}.so" for name in ("disk", "clock"))

    def start(**rtsp_settings):
        server = edged([daemon.camera("front", **SMALL)], settings={"rtsp": rtsp_settings}, STATE_DIRECTORY=tmp_path,
                       LD_PRELOAD=":".join(map(str, fakes)), EDGED_DISK_CONTROL=control,
                       EDGED_CLOCK_AHEAD=tmp_path / "clock")
        server.stall = lambda does: control.write_text("stall" if does else "")
        server.tls_port = rtsp_settings.get("tls_port")
        return server

    yield start
    control.write_text("")


def test_a_reload_that_needs_a_certificate_waits_for_a_slow_card_and_viewers_do_not(stalled, watch, tmp_path):
    server = stalled()
    viewer = watch(server.url("/front/edges"))
    viewer.wait_numbers(1)
    server.stall(True)
    server.tls_port = free_port()
    secured = {"tls_port": server.tls_port, "port": server.port}
    server.reload(rtsp=secured)
    problem = "rtsp.certificate: edged's own is still being written"
    assert problem in server.status()["configuration"]["problems"][0]
    viewer.wait_after(time.monotonic_ns(), pattern.FPS)
    server.assert_accounted(viewer)
    assert not (tmp_path / "tls.pem").exists()
    server.stall(False)
    server.reload(rtsp=secured)
    assert server.status()["configuration"]["successful"]
    assert shown(server) in (tmp_path / "tls.pem").read_text()


def test_a_clock_that_is_set_while_the_card_is_slow_holds_up_no_viewer(stalled, watch, tmp_path):
    server = stalled(tls_port=free_port())
    before = shown(server)
    viewer = watch(server.url("/front/edges"))
    viewer.wait_numbers(1)
    server.stall(True)
    (tmp_path / "clock").write_text(str(20 * 365 * 24 * 3600))
    server.wait_stderr("has expired by this machine's clock, keeping it and taking another")
    viewer.wait_after(time.monotonic_ns() + 10**9, pattern.FPS)
    assert shown(server) == before
    server.stall(False)
    daemon.wait_for(lambda: shown(server) != before, explain=server.stderr)
    assert shown(server) in (tmp_path / "tls-2.pem").read_text()
    server.assert_accounted(viewer)


def read_to_end(connection):
    data = b""
    try:
        while received := connection.recv(4096):
            data += received
    except ConnectionResetError:
        pass
    return data


def test_what_is_no_handshake_is_hung_up_on(serve, watch):
    server = serve(limits={"play_within_s": 10})
    viewer = watch(secure(server))
    viewer.wait_numbers(1)
    connections = [socket.create_connection(("127.0.0.1", server.tls_port), daemon.PATIENCE_S)
                   for _ in range(3)]
    silent, plain, cut = connections
    plain.sendall(b"OPTIONS rtsp://127.0.0.1/ RTSP/1.0\r\nCSeq: 1\r\n\r\n")
    cut.sendall(b"\x16\x03\x01\x00\x41\x01")  # the head of a greeting, and a byte of it
    for connection in connections:
        assert len(read_to_end(connection)) <= 7  # an alert at most
        connection.close()
    viewer.wait_after(time.monotonic_ns(), pattern.FPS)
    server.assert_accounted(viewer)


@pytest.fixture
def users(tmp_path):
    """A file with the user vera, a viewer (RFC 7616, section 3.4.2)."""
    text = "vera:edged:pass"
    hashes = [hashlib.new(name, text.encode()).hexdigest() for name in ("md5", "sha256")]
    path = tmp_path / "users"
    path.write_text(f"vera:viewer:{hashes[0]}:{hashes[1]}\n")
    path.chmod(0o600)
    return str(path)


def test_basic_is_offered_and_taken_inside_tls_alone(serve, users):
    server = serve(users=users)
    basic = "Authorization: Basic " + base64.b64encode(b"vera:pass").decode()
    url = server.url("/front/edges")
    with rtsp.connect(url) as connection:
        status, head, _ = request(connection, "DESCRIBE", url)
        assert status == 401 and "WWW-Authenticate: Basic" not in head
        for _ in range(10):  # they are no tries, of which there are five
            assert request(connection, "DESCRIBE", url, basic)[0] == 401
    with rtsp.connect(secure(server)) as connection:
        status, head, _ = request(connection, "DESCRIBE", secure(server))
        assert status == 401 and "WWW-Authenticate: Basic" in head
        wrong = "Authorization: Basic " + base64.b64encode(b"vera:word").decode()
        assert request(connection, "DESCRIBE", secure(server), wrong)[0] == 401
        assert server.status()["logins"]["failed"] == 1
        server.wait_camera("front", lambda c: c["state"] == "live")
        daemon.wait_for(
            lambda: request(connection, "DESCRIBE", secure(server), basic)[0] == 200)


@pytest.mark.parametrize("program", ["ffmpeg", "gstreamer"])
def test_users_watch_inside_tls(serve, edged, watch, users, program):
    server = serve(users=users)
    server.wait_camera("front", lambda c: c["state"] == "live")
    assert rtsp.describe(secure(server))[0] == 401
    viewer = watch(secure(server, user="vera:pass@"), program=program, size=(320, 240))
    viewer.wait_numbers(pattern.FPS)
    server.assert_accounted(viewer)
