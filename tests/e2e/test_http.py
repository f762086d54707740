"""The control API over TCP and TLS: clients of several makers, certificates that come, change and
expire, reloads that must not harm who watches."""

import contextlib
import hashlib
import json
import pathlib
import re
import select
import socket
import ssl
import subprocess
import threading
import time
import warnings

import pytest

import daemon
import http_video
import pattern
from ports import free_port

SMALL = {"width": 320, "height": 240}


def openssl(directory, *arguments):
    subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True,
                   timeout=daemon.PATIENCE_S)


def make_certificate(directory, name, key="ec", **mode):
    """NAME.crt and NAME.key, for 127.0.0.1."""
    kind = {"ec": ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], "rsa": ["rsa:2048"]}[key]
    openssl(directory, "req", "-x509", "-newkey", *kind, "-nodes", "-days", "2", "-subj",
            f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{name}.key",
            "-out", f"{name}.crt")
    (directory / f"{name}.key").chmod(mode.get("mode", 0o600))
    return {"certificate": str(directory / f"{name}.crt"), "key": str(directory / f"{name}.key")}


def make_expired_certificate(directory):
    directory.joinpath("ca.cnf").write_text(
        "[ca]\ndatabase = index\nserial = serial\nnew_certs_dir = .\ndefault_md = sha256\n"
        "policy = any\n[any]\ncommonName = supplied\n")
    directory.joinpath("index").write_text("")
    directory.joinpath("serial").write_text("01\n")
    openssl(directory, "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=old", "-keyout",
            "old.key", "-out", "old.csr")
    openssl(directory, "ca", "-batch", "-selfsign", "-notext", "-config", "ca.cnf", "-name", "ca",
            "-startdate", "20200101000000Z", "-enddate", "20210101000000Z", "-keyfile", "old.key",
            "-in", "old.csr", "-out", "old.crt")
    (directory / "old.key").chmod(0o600)
    return {"certificate": str(directory / "old.crt"), "key": str(directory / "old.key")}


@pytest.fixture
def serve(edged, tmp_path):
    """Starts an edged that serves the API at .api, its state kept in tmp_path."""

    def start(tls=True, rtsp=None):
        settings = {"http": {"port": free_port(), "tls": tls}, "rtsp": rtsp or {}}
        server = edged([daemon.camera("front", **SMALL)], settings=settings,
                       STATE_DIRECTORY=tmp_path)
        server.api = settings["http"]["port"]
        return server

    return start


def curl(server, *arguments, path="/v1/status", scheme="https"):
    return subprocess.run(
        ["curl", "-q", "-sS", "--noproxy", "*", "--max-time", str(daemon.PATIENCE_S), *arguments,
         f"{scheme}://127.0.0.1:{server.api}{path}"], capture_output=True, text=True, check=False)


def shown(server):
    """The certificate that edged shows, PEM."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", server.api), daemon.PATIENCE_S) as plain:
        with context.wrap_socket(plain) as connection:
            return ssl.DER_cert_to_PEM_cert(connection.getpeercert(binary_form=True))


def fingerprint(pem):
    text = subprocess.run(["openssl", "x509", "-noout", "-fingerprint", "-sha256"], input=pem,
                          capture_output=True, text=True, check=True).stdout
    return text.strip().split("=")[1]


def test_the_logged_fingerprint_is_of_what_is_shown(serve, tmp_path):
    server = serve()
    pem = shown(server)
    (tmp_path / "trusted.crt").write_text(pem)
    assert f"SHA-256 {fingerprint(pem)}" in server.stderr()
    status = json.loads(curl(server, "--cacert", tmp_path / "trusted.crt").stdout)
    assert status["certificate"]["fingerprint"] == f"SHA-256 {fingerprint(pem)}"
    assert status["http"] == f"https://127.0.0.1:{server.api}"
    table = subprocess.run([daemon.EDGECTL, "status", "--config", server.config], check=True,
                           capture_output=True, text=True, timeout=daemon.PATIENCE_S).stdout
    assert f"certificate: SHA-256 {fingerprint(pem)}, until 20" in table
    assert (tmp_path / "tls.pem").stat().st_mode & 0o777 == 0o600
    assert "PRIVATE KEY" not in server.stderr()


def test_the_generated_certificate_stays_over_a_restart(serve, tmp_path):
    first = serve()
    pem = shown(first)
    first.stop()
    assert shown(serve()) == pem
    (tmp_path / "trusted.crt").write_text(pem)


def test_without_room_for_a_certificate_the_rest_is_served_and_a_reload_tries_again(edged, watch, tmp_path):
    state, port = tmp_path / "state", free_port()
    state.symlink_to("/proc/sys/none")  # where nobody can make a file
    settings = {"http": {"port": free_port(), "tls": True}, "rtsp": {"tls_port": port}}
    server = edged([daemon.camera("front", **SMALL)], settings=settings, STATE_DIRECTORY=state)
    server.api = settings["http"]["port"]
    viewer = watch(server.url("/front/edges"))
    viewer.wait_numbers(1)
    server.wait_stderr(r"error: rtsp.certificate: .*, serving nothing inside TLS until a reload can")
    assert curl(server, "-k").returncode == 7  # refused, and never served plainly
    server.hang_up()
    status = server.status()
    assert status["certificate"] is None and str(state) in status["certificate_error"], status
    assert status["configuration"]["successful"]
    assert "nothing is served inside TLS" in status["configuration"]["problems"][0]
    state.unlink()
    state.mkdir()
    server.hang_up()
    assert fingerprint(shown(server)) in server.status()["certificate"]["fingerprint"]
    assert server.status()["certificate_error"] == ""
    server.assert_accounted(viewer)


def test_python_verifies_name_and_certificate(serve, tmp_path):
    server = serve()
    context = ssl.create_default_context(cafile=tmp_path / "tls.pem")
    # A bare system has no name for this address, so it is not asked for one.
    plain = socket.create_connection(("127.0.0.1", server.api), daemon.PATIENCE_S)
    with context.wrap_socket(plain, server_hostname="localhost") as connection:
        assert connection.version() == "TLSv1.3"
        connection.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
        reply = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    assert b"edged_certificate_expires_timestamp_seconds" in reply


def handshake(port, version, ciphers="ALL:@SECLEVEL=0"):
    """The cipher that a client gets which offers one version of TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_ciphers(ciphers)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
    with socket.create_connection(("127.0.0.1", port), daemon.PATIENCE_S) as connection:
        return context.wrap_socket(connection).cipher()[0]


def test_clients_get_tls_1_2_or_1_3_with_an_ephemeral_key_and_gcm(serve):
    tls_port = free_port()
    server = serve(rtsp={"tls_port": tls_port})
    for port in (server.api, tls_port):
        assert handshake(port, "TLSv1_3") == "TLS_AES_128_GCM_SHA256"
        assert handshake(port, "TLSv1_2") == "ECDHE-ECDSA-AES128-GCM-SHA256"
        for version, ciphers in (("TLSv1", "ALL:@SECLEVEL=0"), ("TLSv1_1", "ALL:@SECLEVEL=0"),
                                 ("TLSv1_2", "ECDHE-ECDSA-AES128-SHA"), ("TLSv1_2", "DHE:AES128-GCM-SHA256")):
            with pytest.raises((ssl.SSLError, ConnectionError)):
                handshake(port, version, ciphers)
        slow = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-groups", "ffdhe8192"], input="",
                              capture_output=True, text=True, timeout=daemon.PATIENCE_S, check=False)
        assert "Cipher is (NONE)" in slow.stdout, slow.stdout
    assert shown(server)


def test_plain_http_on_the_encrypted_port_and_silence_harm_nobody(serve, watch):
    server = serve()
    viewer = watch(server.url("/front/edges"))
    viewer.wait_numbers(1)
    silent = [socket.create_connection(("127.0.0.1", server.api)) for _ in range(4)]
    assert http_status(server, scheme="http") == "301"
    for connection in silent:
        connection.settimeout(daemon.PATIENCE_S)
        with connection.makefile("rb") as stream:
            assert len(stream.read()) <= 7  # hung up on, with an alert perhaps
        connection.close()
    assert curl(server, "-k").returncode == 0
    viewer.wait_after(time.monotonic_ns(), pattern.FPS)
    server.assert_accounted(viewer)


def test_a_new_certificate_is_taken_while_viewers_watch(serve, watch, tmp_path):
    server = serve(rtsp=make_certificate(tmp_path, "own"))
    video = f"https://127.0.0.1:{server.api}{http_video.of('front', 'edges', format='mp4')}"
    viewers = [watch(server.url("/front/edges")), watch(video, program="ffmpeg", size=(320, 240))]
    for viewer in viewers:
        viewer.wait_numbers(1)
    before = shown(server)
    make_certificate(tmp_path, "own", key="rsa")
    server.hang_up()
    after = shown(server)
    assert after == (tmp_path / "own.crt").read_text() != before
    assert f"SHA-256 {fingerprint(after)}" in server.stderr()
    for viewer in viewers:
        viewer.wait_after(time.monotonic_ns(), 2 * pattern.FPS)
        server.assert_accounted(viewer)


def refuse_reload(server, reason):
    before = shown(server)
    server.hang_up()
    configuration = server.status()["configuration"]
    assert not configuration["successful"]
    assert any(re.search(reason, problem) for problem in configuration["problems"]), configuration
    assert shown(server) == before


def test_a_broken_new_certificate_refuses_the_reload(serve, tmp_path):
    server = serve(rtsp=make_certificate(tmp_path, "own"))
    key, certificate = tmp_path / "own.key", tmp_path / "own.crt"
    good = key.read_text(), certificate.read_text()
    make_certificate(tmp_path, "other")
    key.write_text((tmp_path / "other.key").read_text())
    refuse_reload(server, "rtsp.certificate: the key in .* is not that of the certificate in ")
    key.write_text(good[0])
    key.chmod(0o644)
    refuse_reload(server, "chmod 640 ")
    key.chmod(0o600)
    certificate.write_text("nothing")
    refuse_reload(server, "has no certificate that can be read")
    certificate.unlink()
    refuse_reload(server, "No such file or directory")
    certificate.write_text(good[1])
    server.hang_up()
    assert server.status()["configuration"]["successful"]


def test_an_expired_certificate_is_shown_with_a_warning(serve, tmp_path):
    own = make_expired_certificate(tmp_path)
    server = serve(rtsp=own)
    assert re.search(r"warning: the certificate in \S+old.crt has expired \(its last day is 2021-01-01\)",
                     server.stderr())
    assert shown(server) == (tmp_path / "old.crt").read_text()
    checked = daemon.run_edged("--check", "--config", server.config)
    assert checked.returncode == 0
    assert "warning: rtsp.certificate: " in checked.stderr and "has expired" in checked.stderr


@pytest.mark.parametrize("fault, reason", [
    ({"mode": 0o604}, "chmod 640 "), ({"missing": True}, "No such file or directory")])
def test_check_and_start_refuse_what_cannot_be_used(tmp_path, fault, reason):
    own = make_certificate(tmp_path, "own", mode=fault.get("mode", 0o600))
    if "missing" in fault:
        pathlib.Path(own["certificate"]).unlink()
    config = tmp_path / "edged.conf"
    config.write_text(
        f'rtsp = {{ port = 0; certificate = "own.crt"; key = "own.key"; }};\n'
        f'http = {{ port = {free_port()}; tls = true; }};\n'
        f'control = {{ socket = "{tmp_path}/control.sock"; }};\n'
        'cameras = ( { source = "pattern"; } );\n')
    checked = daemon.run_edged("--check", "--config", config)
    assert checked.returncode == 1 and reason in checked.stderr
    started = daemon.run_edged("--config", config)
    assert started.returncode == 3 and reason in started.stderr


def test_a_port_that_is_taken_refuses_the_reload(serve, watch):
    server = serve(tls=False)
    viewer = watch(server.url("/front/edges"))
    viewer.wait_numbers(1)
    with socket.socket() as other:
        taken = free_port()
        other.bind(("127.0.0.1", taken))
        other.listen()
        server.reload(http={"port": taken})
        configuration = server.status()["configuration"]
        assert not configuration["successful"]
        assert f"http.port {taken}" in configuration["problems"][0]
        assert curl(server, scheme="http").returncode == 0
    server.reload(http={"port": taken})
    server.api = taken
    assert curl(server, scheme="http").returncode == 0
    server.reload(http={"port": 0})
    assert curl(server, scheme="http").returncode == 7  # refused
    viewer.wait_after(time.monotonic_ns(), pattern.FPS)
    server.assert_accounted(viewer)


def test_events_go_on_after_a_new_certificate(serve, tmp_path):
    server = serve(rtsp=make_certificate(tmp_path, "own"))
    with subprocess.Popen(
            ["curl", "-q", "-sSkN", "--noproxy", "*", f"https://127.0.0.1:{server.api}/v1/events"],
            stdout=subprocess.PIPE, text=True) as follower:
        assert follower.stdout.readline()  # it is answered
        make_certificate(tmp_path, "own")
        server.hang_up()
        server.reload([daemon.camera("yard", **SMALL)])
        daemon.wait_for(lambda: "yard" in follower.stdout.readline())
        follower.kill()
    assert curl(server, "--cacert", tmp_path / "own.crt").returncode == 0


def write_users(path, **roles):
    """Users with the password "pass" (RFC 7616, section 3.4.2, of the realm edged)."""
    lines = []
    for name, role in roles.items():
        text = f"{name}:edged:pass".encode()
        lines.append(f"{name}:{role}:{hashlib.md5(text).hexdigest()}:"
                     f"{hashlib.sha256(text).hexdigest()}\n")
    path.write_text("".join(lines))
    path.chmod(0o600)


def connect_silently(server, addresses, each):
    return [socket.create_connection(("127.0.0.1", server.api), daemon.PATIENCE_S, (address, 0))
            for _ in range(each) for address in addresses]


@pytest.mark.parametrize("tls", [False, True])
def test_silent_strangers_keep_nobody_from_the_api(serve, watch, tls):
    server = serve(tls=tls)
    viewer = watch(server.url("/front/edges"))
    viewer.wait_numbers(1)
    silent, addresses = [], [f"127.0.1.{number}" for number in range(1, 13)]
    for _ in range(4):
        silent += connect_silently(server, addresses, 8)
        assert curl(server, "-k", scheme="https" if tls else "http").returncode == 0
    for connection in silent:
        connection.close()
    server.assert_accounted(viewer)


def ask_without_pause(server, ended, counts):
    request = b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.api), daemon.PATIENCE_S) as connection:
        while not ended.is_set():
            connection.sendall(request)
            head = b""
            while b"\r\n\r\n" not in head:
                head += daemon.more(connection.recv(1 << 16))
            head, _, body = head.partition(b"\r\n\r\n")
            length = int(re.search(rb"(?i)content-length: *(\d+)", head)[1])
            while len(body) < length:
                body += daemon.more(connection.recv(1 << 16))
            counts.append(json.loads(body)["uptime_s"])


def test_who_asks_without_pause_is_answered_and_takes_a_share(serve, watch):
    server = serve(tls=False)
    viewer = watch(server.url("/front/edges"))
    viewer.wait_numbers(1)
    ended, counts, seconds = threading.Event(), [], 3
    threads = [threading.Thread(target=ask_without_pause, args=(server, ended, counts))
               for _ in range(4)]
    before_s = daemon.process_cpu_s(server.process.pid)
    for thread in threads:
        thread.start()
    viewer.wait_after(time.monotonic_ns() + seconds * 10**9)
    took_s = daemon.process_cpu_s(server.process.pid) - before_s
    ended.set()
    for thread in threads:
        thread.join()
    print(f"{len(counts)} replies, {took_s / seconds:.2f} of a core")
    assert counts[-1] > counts[0]  # what is shown is not old
    server.assert_accounted(viewer)


def test_long_texts_come_packed_to_clients_that_unpack_them(serve):
    server = serve(tls=False)
    plain = curl(server, path="/v1/config/schema", scheme="http")
    packed = curl(server, "-w", "%{size_download}", "--compressed", path="/v1/config/schema", scheme="http").stdout
    refused = curl(server, "-D", "-", "-o", "/dev/null", "-H", "Accept-Encoding: gzip;q=0", path="/v1/config/schema", scheme="http")
    size = len(plain.stdout)
    assert packed.startswith(plain.stdout) and 4 * int(packed[size:]) < size
    assert f"Content-Length: {size}" in refused.stdout and "Content-Encoding" not in refused.stdout


def curl_as(server, user, path):
    return curl(server, "-k", "--digest", "-u", f"{user}:pass", path=path).stdout


def test_each_role_is_shown_the_cameras_that_it_may_watch(edged, tmp_path):
    users = tmp_path / "users"
    write_users(users, vera="viewer", otto="operator")
    view = {"name": "edges", "view": "edges"}
    cameras = [
        daemon.camera("front", views=[view, {**view, "name": "plan", "allow": ["operator"]}], **SMALL),
        daemon.camera("safe", views=[{**view, "allow": ["operator"]}], **SMALL),
    ]
    settings = {"http": {"port": free_port(), "tls": True}, "rtsp": {"users": str(users)}}
    server = edged(cameras, settings=settings, STATE_DIRECTORY=tmp_path)
    server.api = settings["http"]["port"]
    daemon.wait_for(lambda: "/safe/edges" in curl_as(server, "otto", "/v1/status"))
    whole, part = (json.loads(curl_as(server, user, "/v1/status")) for user in ("otto", "vera"))
    assert [mount["path"] for mount in whole["mounts"]] == ["/front/edges", "/front/plan", "/safe/edges"]
    assert [mount["path"] for mount in part["mounts"]] == ["/front/edges"]
    assert [camera["name"] for camera in part["cameras"]] == ["front"]
    assert whole.keys() == part.keys()
    for path in ("/v1/status", "/metrics", "/v1/events?camera=safe", "/v1/events?camera=x", "/safe"):
        if path != "/v1/events?camera=safe":  # which goes on
            assert "safe" in curl_as(server, "otto", path).replace("camera=safe", ""), path
        seen = curl_as(server, "vera", path)
        assert "plan" not in seen and "safe" not in seen.replace('no \\"safe\\"', ""), path
    assert "/safe/edges" in server.http_get("/v1/status")  # the control socket stays whole
    for user, all_of_it in (("otto", whole), ("vera", part)):  # each list alone shows the same
        for page, member, key in (("cameras", "cameras", "name"), ("views", "mounts", "url")):
            alone = json.loads(curl_as(server, user, f"/v1/{page}"))
            assert [one[key] for one in alone] == [one[key] for one in all_of_it[member]]
            assert [set(one) for one in alone] == [set(one) for one in all_of_it[member]]
    # A reload takes effect at once, also for pages that are kept for a moment.
    cameras[0]["views"] = [{**view, "allow": ["operator"]}]
    curl_as(server, "vera", "/v1/status")
    server.reload(cameras)
    assert json.loads(curl_as(server, "vera", "/v1/status"))["cameras"] == []
    write_users(users, vera="viewer", otto="viewer")
    server.hang_up()
    assert json.loads(curl_as(server, "otto", "/v1/status"))["mounts"] == []


def http_status(server, *arguments, path="/v1/status", scheme="https"):
    return curl(server, "-k", "-o", "/dev/null", "-w", "%{http_code}", *arguments, path=path,
                scheme=scheme).stdout


def test_users_of_the_streams_are_those_of_the_api(serve, tmp_path):
    users = tmp_path / "users"
    write_users(users, vera="viewer", otto="operator")
    server = serve(rtsp={"users": str(users)})
    vera, otto = ["--basic", "-u", "vera:pass"], ["--digest", "-u", "otto:pass"]
    assert http_status(server, path="/metrics") == "401"
    assert http_status(server, *vera, path="/metrics") == "200"
    assert http_status(server, *vera, "-X", "POST", path="/v1/reload") == "403"
    write_users(users, otto="operator")
    assert http_status(server, *vera, path="/metrics") == "200"  # until a reload
    assert http_status(server, *otto, "-X", "POST", path="/v1/reload") == "200"
    assert http_status(server, *vera, path="/metrics") == "401"
    assert http_status(server, *otto, path="/metrics") == "200"
    assert ":pass" not in server.stderr()


@pytest.fixture(scope="module")
def plain(shared_edged):
    """One without users and without TLS, for tests that leave it as it is."""
    port = free_port()
    server = shared_edged([daemon.camera("front", **SMALL)], settings={"http": {"port": port}})
    server.api = port
    return server


@pytest.fixture
def with_users(edged, tmp_path):
    """One with users, without TLS."""
    users, port = tmp_path / "users", free_port()
    write_users(users, vera="viewer", otto="operator")
    server = edged([daemon.camera("front", **SMALL)],
                   settings={"http": {"port": port}, "rtsp": {"users": str(users)}})
    server.api = port
    return server


def connect(server, source="127.0.0.1"):
    return socket.create_connection(("127.0.0.1", server.api), daemon.PATIENCE_S, (source, 0))


def status_of(server, request):
    """The status of the answer to these bytes."""
    with connect(server) as connection:
        connection.sendall(request.encode())
        return int(connection.recv(64).split()[1])


def test_without_users_this_machine_reads_and_changes_nothing(plain):
    for method, path, status in (("GET", "/v1/status", 200), ("GET", "/metrics", 200),
                                 ("GET", "/nothing", 404), ("POST", "/metrics", 405),
                                 ("POST", "/v1/reload", 403)):
        assert status_of(plain, f"{method} {path} HTTP/1.0\r\n\r\n") == status, path
    assert "reloaded" not in plain.stderr()


@pytest.mark.parametrize("host, status", [
    *((host, 403) for host in (
        "evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example",
        "[::1].evil.example", "[::1]evil.example", "[::1", "::1", "[127.0.0.1]", "[localhost]",
        "evil@127.0.0.1", "127.0.0.1:70000", "localhost:0", "127.0.0.1:80:80", "127.0.0.1:-1",
        "127.0.0.1: 80x", "[::1]:65536", "0.0.0.0", "127.0.0.1/", "127.1")),
    ("LocalHost:65535", 200), ("localhost:1", 200), ("[::1]:1", 200),
    ("localhost\r\nHost: evil.example", 400)])
def test_without_users_another_name_of_this_machine_is_refused(plain, host, status):
    """Else a page of a stranger could ask in a browser here, under a name of its own."""
    assert status_of(plain, f"GET /v1/status HTTP/1.0\r\nHost: {host}\r\n\r\n") == status


def test_without_tls_users_ask_by_digest_alone_and_operators_reload(with_users):
    asked = curl(with_users, "-i", scheme="http").stdout
    assert "WWW-Authenticate: Digest " in asked and "WWW-Authenticate: Basic" not in asked
    vera, otto = ["--digest", "-u", "vera:pass"], ["--digest", "-u", "otto:pass", "-X", "POST"]
    for arguments, path, status in (
        (vera, "/v1/status", 200), (vera, "/v1/status?x=%20a", 200),
        (["--anyauth", "-u", "vera:pass"], "/v1/status", 200),
        (["--basic", "-u", "vera:pass"], "/v1/status", 401),
        (["-H", "Authorization: Basic a", "-H", "Authorization: Basic b"], "/v1/status", 400),
        ([*vera, "-X", "POST"], "/v1/reload", 403),
        ([*otto, "-H", "Origin: http://evil.example"], "/v1/reload", 403),
    ):
        answer = http_status(with_users, *arguments, path=path, scheme="http")
        assert answer == str(status), (arguments, path)
    assert "configuration reloaded" not in with_users.stderr()
    assert http_status(with_users, *otto, path="/v1/reload", scheme="http") == "200"
    with_users.wait_stderr("configuration reloaded")


def test_guesses_are_throttled(with_users):
    """Many in one curl: while one begins for each, a try comes back every second."""
    guesses = curl(with_users, "-i", "--digest", "-u", "vera:wrong", path="/v1/status#[1-25]",
                   scheme="http").stdout
    assert " 200 " not in guesses and " 429 " in guesses and "Retry-After: 1\n" in guesses


def test_only_the_default_address_is_given_up(edged, tmp_path):
    """Somebody else listens at 9854."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            stack.enter_context(socket.create_server(("127.0.0.1", 9854)))
        server = edged([daemon.camera("front", **SMALL)], settings={"http": {}})
        server.wait_stderr("cannot listen on http.address 127.0.0.1, http.port 9854: .*, going on "
                           "without HTTP; set http.port to another port, or to 0")
        assert server.status()["http"] == ""
        page = subprocess.run([daemon.EDGECTL, "page", "--socket", server.socket], text=True,
                              capture_output=True, check=False, timeout=daemon.PATIENCE_S)
        assert page.returncode == 1 and "http.port" in page.stderr
        configured = tmp_path / "configured.conf"
        configured.write_text("http = { port = 9854; };\n"
                              f'control = {{ socket = "{tmp_path}/s"; }};  rtsp = {{ port = 0; }};\n')
        assert daemon.run_edged("--config", configured).returncode == 3
    free = free_port()
    server.reload(http={"port": free})
    assert server.status()["http"] == f"http://127.0.0.1:{free}"


def test_limits_are_keys(edged):
    port = free_port()
    limits = {"connections_an_address": 4, "streams": 2}
    server = edged([daemon.camera("front", **SMALL)], settings={"http": {"port": port, "limits": limits}})
    server.api = port
    events = "GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with contextlib.ExitStack() as stack:
        def follow():
            connection = stack.enter_context(connect(server))
            connection.sendall(events.encode())
            return int(connection.recv(64).split()[1])

        assert [follow() for _ in range(3)] == [200, 200, 503]
        for path in ("/v1/video?view=front/edges", "/v1/cameras/front/views/edges/video?format=mp4",
                     "/stream.mjpg"):
            assert status_of(server, events.replace("/v1/events", path)) == 503, path
        server.reload(http={"port": port, "limits": {**limits, "streams": 3}})
        assert follow() == 200
    daemon.wait_for(lambda: status_of(server, events) == 200)


def test_an_endless_body_is_hung_up_on(with_users):
    result = curl(with_users, "-i", "--digest", "-u", "otto:pass", "-T", "/dev/zero", "-X", "POST",
                  "-H", "Expect:", path="/v1/reload", scheme="http")
    assert " 200 " not in result.stdout and "configuration reloaded" not in with_users.stderr()
    assert http_status(with_users, "--digest", "-u", "vera:pass", scheme="http") == "200"


def test_who_dribbles_is_hung_up_on(plain, serve):
    """A byte a second of a request, or of the first record of a handshake."""
    slow = [connect(plain), connect(serve())]
    slow[0].sendall(b"GET /v1/status HTTP/1.1\r\nX: ")
    slow[1].sendall(b"\x16\x03\x01\x00\x41")
    for connection in slow:
        connection.settimeout(1)
    begin_s = time.monotonic()
    while slow and time.monotonic() - begin_s < daemon.PATIENCE_S:
        for connection in list(slow):
            try:
                connection.sendall(b"x")
                ended = not connection.recv(1 << 16)
            except TimeoutError:
                ended = False
            except ConnectionError:
                ended = True
            if ended:
                slow.remove(connection)
                connection.close()
    assert not slow


def test_one_address_cannot_take_all_connections(plain):
    plain.reload(http={"port": plain.api, "limits": {"connections_an_address": 8}})
    greedy = [connect(plain, "127.0.0.9") for _ in range(9)]
    assert http_status(plain, scheme="http") == "200"
    assert greedy[0].recv(1) == b"", "it made room for the ninth"
    greedy[8].setblocking(False)
    with pytest.raises(BlockingIOError):
        greedy[8].recv(1)
    plain.reload(http={"port": plain.api})
    greedy += [connect(plain, "127.0.0.9") for _ in range(8)]
    assert http_status(plain, scheme="http") == "200"
    greedy[8].setblocking(False)
    with pytest.raises(BlockingIOError):
        greedy[8].recv(1)
    for connection in greedy:
        connection.close()


def test_readers_of_events_that_hang_up_make_room(plain):
    """More than may follow, each of whom leaves without a word."""
    for _ in range(40):
        with connect(plain) as reader, reader.makefile("rb") as stream:
            reader.sendall(b"GET /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert b" 200 " in stream.readline()
            while not stream.readline().startswith(b"id: "):
                pass


def test_an_address_is_changed_by_the_reload_that_is_asked_for_there(serve, tmp_path):
    users = tmp_path / "users"
    write_users(users, otto="operator")
    server = serve(rtsp={"users": str(users)})
    otto, http = ["-u", "otto:pass"], {"port": server.api, "tls": True}
    for address in ("0.0.0.0", "127.0.0.1"):  # of the same port
        server.reload(http={**http, "address": address})
        assert server.status()["configuration"]["successful"]
        assert http_status(server, *otto) == "200"
    with socket.create_server(("127.0.0.2", server.api)):
        server.reload(http={**http, "address": "127.0.0.2"})
        assert not server.status()["configuration"]["successful"]
        assert http_status(server, *otto) == "200", "all is as it was"
    http["port"] = free_port()
    server.settings = {**server.settings, "http": http}
    server.write_config(server.cameras)
    answer = curl(server, "-k", *otto, "-X", "POST", path="/v1/reload").stdout
    assert json.loads(answer)["successful"]
    server.api = http["port"]
    assert http_status(server, *otto) == "200"
