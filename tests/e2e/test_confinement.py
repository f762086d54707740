"""What a camera process may not do, tried from inside one of its encoders, while its frames go on."""

import errno
import os
import pathlib
import shutil
import stat
import subprocess
import tempfile

import pytest

import daemon
import pattern
from fixtures import daemons
from test_http_login import make_token

REFUSED = {"execve", "execveat", "socket-packet", "ptrace", "process_vm_readv", "process_vm_writev",
           "pidfd_getfd", "io_uring_setup"}
NETWORK = {"socket-inet", "socket-inet6", "socket-netlink"}


def tried(path):
    daemon.wait_for(lambda: path.exists() and "kill" in path.read_text())
    return {call: int(code) for call, code in map(str.split, path.read_text().splitlines())}


def start(edged, elements, watch, path, environment=None, groups=None, in_units=False, **settings):
    server = edged([daemon.camera(width=320, height=240, **settings)], FAKE_ENCODER=f"try:{path}",
                   settings=groups, in_units=in_units, **(environment or {}), **elements("encoder"))
    viewer = watch(server.url("/front/edges"))
    results = tried(path)
    return server, viewer, results


def has_landlock():
    told = subprocess.run([daemon.EDGECTL, "doctor"], capture_output=True, text=True, check=False,
                          env=daemon.environment(), timeout=daemon.PATIENCE_S).stdout
    return any("landlock" in line and line.startswith("ok") for line in told.splitlines())


def test_a_camera_process_is_refused_what_no_camera_needs(edged, elements, watch, tmp_path):
    server, viewer, results = start(edged, elements, watch, tmp_path / "tried")
    assert {call for call in REFUSED | NETWORK if results[call] != errno.EPERM} == set(), results
    assert results["socket-unix"] == results["own-memory"] == 0
    viewer.wait_numbers(pattern.FPS)
    assert server.mount()["encoder"] == "v4l2h264enc"
    assert server.camera()["process"]["restarts"] == 0
    assert "seccomp" not in server.stderr()


def test_a_camera_process_cannot_open_the_fronts_memory(edged, elements, watch, tmp_path):
    """Where the kernel has landlock, which `edgectl doctor` says."""
    _, _, results = start(edged, elements, watch, tmp_path / "tried")
    if has_landlock():
        assert results["memory"] in (errno.EPERM, errno.EACCES)


def test_a_camera_in_the_network_has_sockets_of_the_network_alone(edged, elements, watch, tmp_path):
    _, viewer, results = start(edged, elements, watch, tmp_path / "tried", source="gstreamer",
                               pipeline="videotestsrc is-live=true ! video/x-raw,framerate=30/1")
    assert {results[call] for call in NETWORK} == {0}
    assert {call for call in REFUSED if results[call] != errno.EPERM} == set(), results
    viewer.wait_frames(pattern.FPS)


@pytest.fixture
def own_folder():
    """One that only its owner may write to, as are those above it: not in /tmp, where this checkout may be."""
    places = [daemon.BUILD, pathlib.Path.home(), pathlib.Path("/run")]
    own = [place for place in places if os.access(place, os.W_OK) and not any(
        above.stat().st_mode & stat.S_IWOTH for above in (place, *place.resolve().parents))]
    path = pathlib.Path(tempfile.mkdtemp(prefix="edged-", dir=own[0]))
    yield path
    shutil.rmtree(path)


@pytest.mark.parametrize("in_units", [False, True])
def test_a_camera_process_cannot_touch_files_with_secrets(edged, elements, watch, tmp_path, own_folder, in_units):
    """Where the kernel has landlock. What is beside them it can read."""
    state = own_folder / "state"
    state.mkdir()
    make_token(own_folder / "rtsp.tokens", "desk")
    (own_folder / "beside").write_text("")
    broker = own_folder / "mqtt.password"
    broker.write_text("words of it\n")
    broker.chmod(0o600)
    secrets = [own_folder / "rtsp.tokens", broker, state / "settings.conf", state / "tls.pem"]
    environment = {"STATE_DIRECTORY": state, "FAKE_ENCODER_SECRETS": ":".join(map(str, [
        *secrets, own_folder / "beside"]))}
    _, viewer, results = start(edged, elements, watch, tmp_path / "tried", environment,
                               {"rtsp": {"tokens": secrets[0]}, "mqtt": {
                                   "broker": "192.0.2.1", "user": "gate", "password_file": broker}}, in_units)
    if has_landlock():
        assert {results[f"{action}-{path.name}"] for path in secrets
                for action in ("read", "write", "replace") if path.exists() or action == "write"} == {errno.EACCES}
        assert not (state / "settings.conf").exists()
    assert results["read-beside"] == 0
    viewer.wait_numbers(pattern.FPS)


def test_a_camera_process_cannot_touch_secrets_that_no_key_names(elements, watch, tmp_path, own_folder):
    """Beside the configuration, from where edged takes them."""
    tokens, plain = (own_folder / "edged-0" / name for name in ("rtsp.tokens", "onvif.passwords"))
    tokens.parent.mkdir()
    make_token(tokens, "desk")
    plain.write_text("hass:a-password\n")
    plain.chmod(0o600)
    with daemons(own_folder) as edged:
        _, _, results = start(edged, elements, watch, tmp_path / "tried",
                              {"FAKE_ENCODER_SECRETS": f"{tokens}:{plain}"})
    if has_landlock():
        assert {results[f"{action}-{path.name}"] for path in (tokens, plain)
                for action in ("read", "write", "replace")} == {errno.EACCES}


@pytest.mark.parametrize("in_units", [False, True])
def test_a_mask_that_is_replaced_is_read_by_a_new_process(edged, watch, tmp_path, own_folder, in_units):
    """Beside a secret, where the process cannot read what was put there after its start."""
    def picture(share):
        data = bytes(255 if x < 100 * share else 0 for x in range(100)) * 100
        (own_folder / "new").write_bytes(b"P5 100 100 255\n" + data)
        os.rename(own_folder / "new", own_folder / "mask.pgm")

    def region(found):
        return found["regions"] and found["regions"][0]

    make_token(own_folder / "rtsp.tokens", "desk")
    picture(0.2)
    front = daemon.camera(width=320, height=240, regions=[{"name": "door", "mask": str(own_folder / "mask.pgm")}])
    server = edged([front], settings={"rtsp": {"tokens": own_folder / "rtsp.tokens"}}, in_units=in_units)
    viewer = watch(server.url("/front/edges"))
    server.wait_camera("front", region)
    pid = server.camera()["process"]["pid"]
    picture(0.5)
    server.reload()
    if has_landlock():
        server.wait_camera("front", lambda c: c["process"]["pid"] not in (0, pid) and region(c))
        server.wait_stderr("mask.pgm is new, which only a new process can read")
    viewer.wait_frames(len(viewer.frames) + pattern.FPS)
    assert "cannot read its mask" not in server.stderr()


def test_the_control_socket_refuses_what_a_camera_process_has_started(edged, elements, watch, tmp_path):
    """A process of a process of it, whose own parent has ended."""
    environment = {"FAKE_ENCODER_SOCKET": tmp_path / "edged-0/control.sock"}
    server, _, results = start(edged, elements, watch, tmp_path / "tried", environment)
    assert results["control-socket"] == 403
    assert server.camera()["state"] == "live"  # by the same socket


def test_processes_of_the_same_user_cannot_read_edgeds_memory(tmp_path):
    """The kernel gives what is in /proc of such a process to root."""
    def owner(wanted):
        tmp_path.chmod(0o777)
        config, socket = tmp_path / "edged.conf", tmp_path / f"control-{wanted}.sock"
        config.write_text('cameras = ( { source = "pattern"; } ); http = { port = 0; };'
                          f' rtsp = {{ port = 0; }}; control = {{ socket = "{socket}"; }};')
        user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
        process = subprocess.Popen([*user, edged, "--config", config], stderr=subprocess.DEVNULL,
                                   env=daemon.environment(EDGED_DUMPABLE=wanted, HOME=tmp_path))
        try:
            daemon.wait_for(socket.exists)
            return os.stat(f"/proc/{process.pid}/mem").st_uid
        finally:
            process.terminate()
            process.wait(daemon.PATIENCE_S)

    for parent in tmp_path.parents:  # pytest's folders, as deep as they lie for one of several workers
        if parent.stat().st_mode & 0o777 == 0o700:
            parent.chmod(0o755)
    edged = shutil.copy(daemon.EDGED, tmp_path)  # what is built may be where nobody else may go
    shutil.copy(daemon.EDGED.parent / "edged-camera", tmp_path)
    if "asan" in str(daemon.BUILD) or "tsan" in str(daemon.BUILD):
        return  # LeakSanitizer has to read it
    assert owner("") == 0
    assert owner("1") == (65534 if os.geteuid() == 0 else os.geteuid())


def test_the_recorder_keeps_clips_beside_secrets(edged, own_folder):
    """In a folder that is not there before it starts."""
    state = own_folder / "state"
    state.mkdir()
    edged([daemon.camera(width=320, height=240, record={"mode": "always"})], STATE_DIRECTORY=state)
    daemon.wait_for(lambda: [*(state / "clips").rglob("*.part")])
