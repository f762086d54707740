"""edgectl on another machine: the same commands over TCP, with a token, inside TLS, and what it does
not tell or trust: the text of a reply is anybody's."""

import http.server
import json
import os
import socket
import subprocess
import threading

import pytest

import daemon
from ports import free_port
from test_events import FAKE_CAMERA, REGIONS, listen, toggle  # noqa: F401
from test_http import make_certificate, write_users

KEY = "cameras.front.views.edges.gain"


@pytest.fixture
def serve(edged, tmp_path):
    """An edged with HTTP at .host, and the tokens of a viewer and an operator in files of these names."""

    def start(tls=True, **extra):
        for role in ("viewer", "operator"):
            token = run("token", "--file", tmp_path / "rtsp.tokens", "--role", role, role).stdout
            (tmp_path / role).write_text(token)
        write_users(tmp_path / "rtsp.users", otto="viewer")
        port, camera = free_port(), daemon.camera("front", width=320, height=240, regions=REGIONS)
        server = edged([camera], **extra, settings={
            "http": {"port": port, "tls": tls},
            "rtsp": {"users": str(tmp_path / "rtsp.users"), "tokens": str(tmp_path / "rtsp.tokens"),
                     **(make_certificate(tmp_path, "cam") if tls else {})}})
        server.host = f"{'https' if tls else 'http'}://127.0.0.1:{port}"
        server.tokens = tmp_path
        server.ca = tmp_path / "cam.crt"
        return server

    return start


def run(*arguments, check=True, **environment):
    return subprocess.run([daemon.EDGECTL, *map(str, arguments)], capture_output=True, text=True,
                          check=check, env=daemon.environment(**environment),
                          timeout=daemon.PATIENCE_S)


def at(server, role="operator"):
    return ["--host", server.host, "--ca", server.ca, "--token-file", server.tokens / role]


def refusal(*arguments, **environment):
    """What edgectl says of a command that fails."""
    result = run(*arguments, check=False, **environment)
    assert result.returncode == 1 and not result.stdout, result
    return result.stderr


def test_commands_do_inside_tls_what_they_do_over_the_socket(serve, tmp_path):
    server = serve()
    server.wait_camera("front", lambda c: c["state"] == "live")
    assert json.loads(run("status", "--json", *at(server)).stdout)["http"] == server.host
    assert "front" in run("top", "-b", *at(server)).stdout
    picture = ("snapshot", *at(server), "front/edges", tmp_path / "edges.jpg")
    daemon.wait_for(lambda: run(*picture, check=False).returncode == 0)  # a busy machine may have none in time
    assert (tmp_path / "edges.jpg").read_bytes().endswith(b"\xff\xd9")
    assert run("set", *at(server), f"{KEY}=2").stdout.startswith(f"{KEY}: 1.0 -> 2.0")
    assert KEY in run("diff", *at(server)).stdout
    assert run("unset", *at(server), KEY).stdout.startswith(f"{KEY}: 2.0 -> 1.0")
    assert "configuration reloaded" in run("reload", *at(server)).stdout
    assert run("page", "--host", server.host, "--ca", server.ca).stdout == f"{server.host}/\n"
    assert json.loads(run("page", "--json", *at(server)).stdout) == {"url": f"{server.host}/"}


def test_events_are_watched_inside_tls(serve, listen):
    server = serve(EDGED_CAMERA_PROGRAM=FAKE_CAMERA, FAKE_CAMERA="motion")
    server.wait_camera("front", lambda c: c["state"] == "live" and len(c["regions"]) == 2)
    watch = listen(daemon.EDGECTL, "watch", "--reconnect-s", 0, *at(server, "viewer"))
    for number in range(2):
        toggle(server)
        watch.wait("began" if number == 0 else "ended")
    server.stop()
    watch.wait("edged ended the stream")
    assert watch.process.wait(daemon.PATIENCE_S) == 1


def test_a_token_may_do_what_its_role_may(serve):
    server = serve()
    assert "this user may not do that" in refusal("set", *at(server, "viewer"), f"{KEY}=2")
    assert "this user may not do that" in refusal("reload", *at(server, "viewer"))
    assert server.status()["cameras"][0]["name"] == "front"


def test_without_a_token_or_with_a_wrong_one_nothing_is_told(serve, tmp_path):
    server = serve()
    trusted = ["--host", server.host, "--ca", server.ca]
    assert "give a token" in refusal("status", *trusted)
    (tmp_path / "wrong").write_text("0" * 64 + "\n")
    for command in (["status"], ["watch"], ["set", f"{KEY}=2"]):
        said = refusal(*command, *at(server, "wrong"))
        assert "wrong user, password or token" in said and "does not know this token" in said and "0000" not in said
    assert "has no token" in refusal("status", *trusted, "--token-file", server.ca)
    token = (tmp_path / "viewer").read_text().strip()
    assert run("status", *trusted, EDGED_TOKEN=token).stdout
    # A file that is named counts, and not the variable.
    assert "does not know" in refusal("status", *at(server, "wrong"), EDGED_TOKEN=token)


def test_a_certificate_is_trusted_by_its_ca_or_its_fingerprint_alone(serve, tmp_path):
    server = serve()
    token = ["--host", server.host, "--token-file", tmp_path / "viewer"]
    fingerprint = server.status()["certificate"]["fingerprint"]
    said = refusal("status", *token)
    assert "NOT trusted" in said and fingerprint.removeprefix("SHA-256 ") in said
    assert run("status", *token, "--fingerprint", fingerprint).stdout
    bare = fingerprint.removeprefix("SHA-256 ").replace(":", "").lower()
    assert run("status", *token, "--fingerprint", bare).stdout
    other = ("1" if bare[0] == "0" else "0") + bare[1:]
    assert "not that of --fingerprint" in refusal("status", *token, "--fingerprint", other)
    assert "allowed are 64" in refusal("status", *token, "--fingerprint", bare[2:])
    # Of a CA that is trusted, for another name (of the same address, without /etc/hosts).
    named = server.host.replace("127.0.0.1", "127.1")
    assert "does not match" in refusal("status", "--host", named, *at(server)[2:])


def test_a_token_is_not_sent_before_the_certificate_is_known(serve, tmp_path):
    """Neither in the clear to another machine, for which this one's own address stands."""
    server = serve()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        heard = bytearray()

        def listen():
            with listener.accept()[0] as client:
                heard.extend(client.recv(65536))

        thread = threading.Thread(target=listen)
        thread.start()
        refusal("status", "--host", f"https://127.0.0.1:{listener.getsockname()[1]}",
                "--token-file", tmp_path / "viewer")
        thread.join(daemon.PATIENCE_S)
    assert heard[0] == 22 and b"Bearer" not in heard  # a handshake record
    assert server.status()["logins"] == {"failed": 0, "throttled": 0}


def test_this_machine_is_asked_in_the_clear(serve):
    server = serve(tls=False)
    plain = ["--token-file", server.tokens / "operator"]
    for host in (server.host, server.host.removeprefix("http://"), server.host + "/"):
        assert run("status", "--host", host, *plain).stdout
    assert run("set", "--host", server.host, *plain, f"{KEY}=2").stdout


@pytest.mark.parametrize("arguments, sentence", [
    (["--host", "ftp://camera"], "--host ftp://camera: allowed are"),
    (["--host", "camera:port"], "allowed are"),
    (["--host", "https://camera/status"], "allowed are"),
    (["--host", "camera", "--socket", "/run/edged/control.sock"], "does not go with"),
    (["--token-file", "token"], "go with --host"),
    (["--host", "http://camera", "--fingerprint", "00" * 32], "is not inside TLS"),
    (["--host", "camera", "--token-file", "/nowhere"], "--token-file: "),
    (["--host", "https://127.0.0.1:9", "--ca", "/nowhere"], "refused"),
])
def test_options_that_make_no_sense_are_refused(arguments, sentence):
    assert sentence in refusal("status", *arguments)


@pytest.fixture
def answer():
    """A server that is no edged: it gives this reply to whatever is asked. Returns edgectl's options."""
    servers = []

    def start(body, status=200):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                self.rfile.read()  # until edgectl has enough

            def log_message(self, *arguments):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever).start()
        servers.append(server)
        return ["--host", f"http://127.0.0.1:{server.server_port}"]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


# ESC, BEL and CSI (U+009B): as escapes, octal too, which json-glib reads, and as bytes.
STEERING = rb"a\u001b]0;b\u0007\u009B31m\033c" + b"\x1b[2J\xc2\x9b1m\x9b2m"
SHOWN = "a?]0;b??31m?33c?[2J?1m?2m"
CLIP = (b'{"id": 5, "camera": "%s", "view": "x", "start": "2026-01-01T00:00:00Z", "regions": ["%s"]}'
        % (STEERING, STEERING))


@pytest.mark.parametrize("command", [["status"], ["clips", "list"], ["clips", "show", "5"]])
@pytest.mark.parametrize("level", [b"[", b'{"a":'])
def test_a_reply_that_is_nested_too_deep_is_refused(answer, command, level):
    assert "edged's reply is no JSON" in refusal(*command, *answer(level * 1000000))


@pytest.mark.parametrize("command, body", [
    (["clips", "list", "--limit", "1"], b"[" + CLIP + b"]"),
    (["clips", "list", "--limit", "1", "--json"], b"[" + CLIP + b"]"),
    (["clips", "show", "5"], CLIP),
    (["status"], b'{"version": "%s"}' % STEERING),
    (["status", "--json"], b'{"version": "%s"}' % STEERING),
])
def test_a_reply_steers_no_terminal(answer, command, body):
    said = run(*command, *answer(body)).stdout
    assert SHOWN in said and set(filter(lambda c: not c.isprintable(), said)) <= {"\n"}


@pytest.mark.parametrize("body", [STEERING, b'{"error": "%s"}' % STEERING])
def test_a_refusal_steers_no_terminal(answer, body):
    said = refusal("status", *answer(body, 404))
    assert "?[2J?1m?2m" in said and said.removesuffix("\n").isprintable()


def test_the_name_of_an_exported_clip_steers_no_terminal(answer, tmp_path):
    body = b'{"camera": "../%s\\n", "view": "x"}' % STEERING
    subprocess.run([daemon.EDGECTL, "clips", "export", *answer(body), "5"], check=True, cwd=tmp_path,
                   timeout=daemon.PATIENCE_S, stdout=subprocess.DEVNULL)
    assert os.listdir(tmp_path) == [f".._{SHOWN}_-x-.mp4"]


def test_an_event_steers_no_terminal_and_no_program(answer, tmp_path):
    """A program gets the fields of an event and no others: not the names of edged's own settings."""
    event = (b'data: {"event": "motion_started", "camera": "%s", "region": "door", "token": "forged",'
             b' "recorder_program": "forged"}\n' % STEERING)
    wrote = tmp_path / "environment"
    watch = run("watch", "--reconnect-s", 0, *answer(event), "--exec", "sh", "-c",
                f"env >{wrote}; kill $PPID", EDGED_TOKEN="")
    assert f"{SHOWN}/door  motion began" in watch.stdout and "\x1b" not in watch.stdout
    lines = wrote.read_text().splitlines()
    assert f"EDGED_CAMERA={SHOWN}" in lines and "EDGED_REGION=door" in lines
    assert "EDGED_TOKEN=" in lines
    assert not [line for line in lines if line.startswith("EDGED_RECORDER_PROGRAM=forged")]


def test_an_event_without_end_is_refused(answer):
    said = refusal("watch", "--reconnect-s", 0, *answer(b"data: " + b"x" * (2 << 20)))
    assert "a line of more than 1 MiB" in said


def test_a_page_of_clips_that_comes_again_is_refused(answer):
    assert "in no order" in refusal("clips", "list", "--limit", "0", *answer(b"[" + CLIP + b"]"))
