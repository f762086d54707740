"""What a camera process may not do, tried from inside one of its encoders, while its frames go on."""

import errno
import subprocess

import daemon
import pattern

REFUSED = {"execve", "execveat", "socket-packet", "ptrace", "process_vm_readv", "process_vm_writev",
           "pidfd_getfd", "io_uring_setup"}
NETWORK = {"socket-inet", "socket-inet6", "socket-netlink"}


def tried(path):
    daemon.wait_for(lambda: path.exists() and "kill" in path.read_text())
    return {call: int(code) for call, code in map(str.split, path.read_text().splitlines())}


def start(edged, elements, watch, path, **settings):
    server = edged([daemon.camera(width=320, height=240, **settings)], FAKE_ENCODER=f"try:{path}",
                   **elements("encoder"))
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
