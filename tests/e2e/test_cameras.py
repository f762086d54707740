"""Cameras in the network that do what real ones do (fake_camera.py), each in one test."""

import os
import pathlib
import re
import subprocess
import time

import pytest

import daemon
from fake_camera import FPS, FakeCamera
from ports import free_port
from test_live_config import patch
from rtsp_camera import PASSWORD, SIZE, USER, is_live, starting, watching, write_credentials

LOGINS = ("basic", "digest", "digests", "sha256", "close")


@pytest.fixture
def fake_camera():
    with starting(FakeCamera) as start:
        yield start


@pytest.fixture
def credentials(tmp_path):
    return write_credentials(tmp_path)


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    """Two self-signed certificates with their keys, and the SHA-256 of each, as openssl prints it."""
    made = []
    for name in ("old", "new"):
        path = tmp_path_factory.mktemp(name) / "camera.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
             "/CN=camera", "-keyout", path, "-out", f"{path}.crt"],
            check=True, capture_output=True, timeout=daemon.PATIENCE_S,
        )
        with path.open("a") as pem, open(f"{path}.crt") as certificate:
            pem.write(certificate.read())
        shown = subprocess.run(
            ["openssl", "x509", "-noout", "-fingerprint", "-sha256", "-in", path],
            check=True, capture_output=True, text=True, timeout=daemon.PATIENCE_S,
        )
        made.append((path, shown.stdout.strip().split("=")[1]))
    return made


def says(*parts):
    """Whether a camera has no signal, for a reason that has all of `parts`."""
    return lambda camera: camera["state"] == "no signal" and all(
        part in camera["error"] for part in parts
    )


# By quirk: how often edged connects. By auto, UDP first, unless a transport is named.
@pytest.mark.parametrize(
    ("quirk", "transport", "connections"),
    [
        ("none", "udp", 1), ("gop", "tcp", 1), ("rtpinfo", "tcp", 1), ("rtpinfo", "udp", 1),
        ("range", "auto", 1), ("wrap", "tcp", 1), ("jump", "tcp", 1), ("ipv6", "udp", 1),
        ("ipv6", "tcp", 1), ("address", "udp", 1), ("multicast", "udp", 1),
        ("six", "udp", 1), ("basic", "tcp", 1), ("no-udp", "auto", 2), ("session", "auto", 1),
        ("ports", "udp", 1), ("absolute", "auto", 1), ("slash", "auto", 1), ("tracks", "udp", 1),
        ("tracks", "tcp", 1), ("parameters", "tcp", 1), ("digest", "tcp", 1),
        ("digests", "auto", 1), ("slow", "tcp", 1), ("slow", "udp", 1),
    ],
)
def test_a_camera_with_a_quirk_plays(
    edged, fake_camera, credentials, quirk, transport, connections
):
    camera = fake_camera(quirk)
    login = {"credentials": credentials} if quirk in LOGINS else {}
    server = edged([watching(camera.url, transport=transport, **login)])
    shown = server.wait_camera("front", is_live)
    assert (shown["width"], shown["height"]) == SIZE
    assert f"{SIZE[0]}x{SIZE[1]}@" in shown["path"]
    server.wait_camera("front", lambda c: c["frames"] > (3 if quirk == "slow" else 60))
    assert camera.connections == connections, server.stderr()
    assert len(set(camera.setups)) == 1
    assert "no signal" not in server.stderr()


def test_a_camera_that_hangs_up_after_each_refusal_plays(edged, fake_camera, credentials):
    camera = fake_camera("close")
    server = edged([watching(camera.url, transport="udp", credentials=credentials)])
    server.wait_camera("front", lambda c: is_live(c) and c["frames"] > 60)
    assert "no signal" not in server.stderr()


@pytest.mark.parametrize(
    ("quirk", "request_name"),
    [("keepalive", "GET_PARAMETER"), ("options", "OPTIONS"), ("refused", "GET_PARAMETER")],
)
def test_a_session_is_kept_while_pictures_come_by_tcp(edged, fake_camera, quirk, request_name):
    camera = fake_camera(quirk)
    camera.timeout = 6
    server = edged([watching(camera.url, transport="tcp")])
    server.wait_camera("front", is_live)
    before = camera.requests.count(request_name)
    # After so many the first would have run out.
    daemon.wait_for(lambda: camera.requests.count(request_name) >= before + 5)
    assert (camera.hangups, camera.connections) == (0, 1), server.stderr()


def test_a_control_connection_that_ends_under_udp_ends_the_stream(edged, fake_camera):
    camera = fake_camera("hangup")
    server = edged([watching(camera.url, transport="udp")])
    server.wait_stderr("no signal: the stream ended")  # although RTP goes on
    server.wait_camera("front", is_live)
    daemon.wait_for(lambda: camera.connections > 1)


def test_a_camera_that_answers_and_sends_nothing_is_told(edged, fake_camera):
    server = edged([watching(fake_camera("silent").url, transport="tcp")])
    server.wait_camera("front", says("before its first picture", "delivers no frames"))


@pytest.mark.parametrize(
    ("quirk", "part"),
    [
        ("sha256", "Digest with SHA-256"),
        ("redirect", "redirects to itself"),
        ("circle", "redirects in a circle"),
    ],
)
def test_an_answer_that_edged_cannot_follow_is_said(edged, fake_camera, credentials, quirk, part):
    camera = fake_camera(quirk)
    server = edged([watching(camera.url, credentials=credentials)])
    server.wait_camera("front", says(part))
    assert PASSWORD not in server.stderr()


def test_what_became_of_the_connection_is_said(edged):
    closed = free_port()
    names = {
        "refused": f"127.0.0.1:{closed}",
        "unknown": "camera.invalid",  # RFC 2606
    }
    server = edged([
        watching(f"rtsp://{host}/stream?key=hidden", name=name) for name, host in names.items()
    ])
    server.wait_camera("refused", says(f"connection refused by 127.0.0.1:{closed}"))
    server.wait_camera("unknown", says("no such host: camera.invalid"))


def test_a_certificate_of_the_cameras_own_is_pinned(edged, fake_camera, certificates):
    (old, old_print), (new, new_print) = certificates
    plain = old_print.replace(":", "").lower()
    camera = fake_camera(certificate=old)
    server = edged([
        watching(camera.url, name="pinned", fingerprint=old_print),
        watching(camera.url, name="lower", fingerprint=plain, transport="tcp"),
        watching(camera.url, name="none"),
        watching(camera.url, name="other", fingerprint=new_print),
    ])
    server.wait_camera("pinned", is_live)
    server.wait_camera("lower", is_live)
    hint = f'write fingerprint = "{plain}"'
    server.wait_camera("none", says("signed by nobody this system trusts", hint))
    server.wait_camera("other", says("another certificate than fingerprint allows", hint))
    assert new != old


# Cameras that only a person can mend, and hostile ones
# ---------------------------------------------------------------------


def test_a_wrong_password_is_sent_once_an_opening(edged, fake_camera, credentials):
    camera = fake_camera("locked")
    server = edged([watching(camera.url, credentials=credentials)])
    server.wait_camera("front", says("wrong user or password", str(credentials)))
    server.wait_stderr(r"wrong user or password: .*, retrying in 60\.0 s")
    time.sleep(4)  # in which it was sent 19 times before
    assert camera.logins == 1, camera.requests


@pytest.mark.parametrize("how", ["reload", "file"])
def test_a_refused_login_is_tried_at_once_when_somebody_has_mended_it(edged, fake_camera, credentials, how):
    camera = fake_camera("locked")
    server = edged([watching(camera.url, credentials=credentials)])
    server.wait_camera("front", says("wrong user or password"))
    camera.unlocked = True
    if how == "reload":
        server.reload()
    else:
        credentials.write_text(credentials.read_text())
    server.wait_camera("front", is_live)
    assert server.camera()["process"]["restarts"] == 0


def test_a_change_of_another_setting_tries_no_login(edged, fake_camera, credentials):
    camera = fake_camera("locked")
    server = edged([watching(camera.url, credentials=credentials)])
    server.wait_camera("front", says("wrong user or password"))
    for fps in (10, 11, 12):
        status, _ = patch(server, {"cameras": {"front": {"views": {"camera": {"bitrate_kbps": 1000 + fps}}}}})
        assert status == 200
    time.sleep(2)
    assert camera.logins == 1


def test_realms_that_differ_each_time_are_no_way_to_many_logins(edged, fake_camera, credentials):
    camera = fake_camera("realms")
    server = edged([watching(camera.url, credentials=credentials)])
    server.wait_camera("front", says("wrong user or password"))
    assert 1 <= camera.logins <= 4


def test_a_stale_nonce_is_no_wrong_password(edged, fake_camera, credentials):
    camera = fake_camera("stale")
    server = edged([watching(camera.url, transport="tcp", credentials=credentials)])
    server.wait_camera("front", is_live)
    assert "wrong user or password" not in server.stderr()


def test_a_nonce_that_changes_in_the_stream_is_no_wrong_password(edged, fake_camera, credentials):
    """The camera would end the session after six seconds in which it gets no right login."""
    camera = fake_camera("nonces")
    server = edged([watching(camera.url, transport="tcp", credentials=credentials)])
    server.wait_camera("front", lambda c: is_live(c) and c["frames"] > 9 * FPS)
    assert camera.connections == 1 and "wrong user or password" not in server.stderr()


@pytest.mark.parametrize(("quirk", "part"), [
    ("missing", "no stream at this path: Not Found (404)"),
    ("busy", "the camera is busy: Service Unavailable (503)"),
    ("forbidden", "Forbidden (403)"),
])
def test_why_a_camera_gives_no_stream_is_said(edged, fake_camera, quirk, part):
    server = edged([watching(fake_camera(quirk).url)])
    server.wait_camera("front", says(part))


def test_another_host_gets_no_password(edged, fake_camera, credentials):
    """localhost is another one than 127.0.0.1."""
    first, other = fake_camera("elsewhere"), fake_camera("locked")
    first.elsewhere = other.url.replace("127.0.0.1", "localhost")
    server = edged([watching(first.url, credentials=credentials)])
    server.wait_camera("front", says("redirects to another host, which wants a password and gets none"))
    assert "DESCRIBE" in other.requests and other.logins == 0


def test_a_host_behind_what_looks_like_the_cameras_gets_no_password(edged, fake_camera, credentials):
    """GStreamer takes what is in front of the @ for a user, and logs in with that first."""
    first, other = fake_camera("elsewhere"), fake_camera("realms")
    first.elsewhere = other.url.replace("127.0.0.1", "127.0.0.1:1#@localhost")
    server = edged([watching(first.url, credentials=credentials)])
    server.wait_stderr("front: no signal: .* retrying in")
    assert "DESCRIBE" in other.requests and USER not in other.users


def test_the_same_host_on_another_port_gets_the_password(edged, fake_camera, credentials):
    first, other = fake_camera("elsewhere"), fake_camera("digest")
    first.elsewhere = other.url
    server = edged([watching(first.url, transport="tcp", credentials=credentials)])
    server.wait_camera("front", is_live)


# AddressSanitizer keeps 256 MB of what was freed, which is no collecting of edged's.
FREED_IS_GONE = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=8"}


def resident_mib(server):
    pid = server.camera()["process"]["pid"]
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s*(\d+)", status)[1]) / 1024


def test_a_description_of_16_mb_is_refused_before_it_is_read(edged, fake_camera):
    server = edged([watching(fake_camera("huge").url)], **FREED_IS_GONE)
    server.wait_camera("front", says("bytes, allowed: 128 and 65536"))
    assert resident_mib(server) < 300


def test_a_picture_that_never_ends_is_not_collected(edged, fake_camera):
    camera = fake_camera("endless")
    server = edged([watching(camera.url, transport="tcp")], **FREED_IS_GONE)
    daemon.wait_for(lambda: camera.sent > 300e6)
    assert resident_mib(server) < 300


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_a_camera_with_another_ssrc_is_opened_again_and_that_is_said(edged, fake_camera, transport):
    server = edged([watching(fake_camera("ssrc").url, transport=transport)])
    server.wait_camera("front", lambda c: c["frames"] > 150)
    assert server.camera()["process"]["restarts"] == 0
    server.wait_stderr("no signal: .*goes on with another SSRC")


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_a_camera_of_h264_needs_none_of_gstreamers_bad_plugins(edged, fake_camera, few_plugins, transport):
    server = edged([watching(fake_camera("burst03").url, transport=transport)], **few_plugins)
    server.wait_camera("front", lambda c: is_live(c) and c["frames"] > 100)


def test_a_pipeline_that_collects_without_end_costs_its_process_alone(edged):
    pipeline = ("videotestsrc pattern=black ! video/x-raw,format=I420,width=1280,height=720,framerate=30/1 ! "
                "identity sleep-time=2000 ! queue max-size-buffers=0 max-size-bytes=0 max-size-time=0 ! "
                "identity sleep-time=100000")
    server = edged([daemon.camera(source="gstreamer", pipeline=pipeline, width=320, height=240),
                    daemon.camera("other", width=320, height=240)])
    server.wait_stderr(r"front: the camera process used \d+ MiB of memory, allowed: \d+; .*starting it again")
    assert server.camera("other")["process"]["restarts"] == 0
