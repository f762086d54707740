"""`edgectl top`: on a terminal, one table after the other, and as lines of JSON."""

import fcntl
import json
import re
import struct
import subprocess
import termios

import pytest

import daemon
from edgectl import on_terminal

CAMERA = daemon.camera(width=320, height=240, views=("edges", "gray"))
STEPS = ["capture", "compute", "encode", "link", "capture_to_rtp"]


@pytest.fixture
def watched(edged, watch):
    server = edged([CAMERA])
    viewer = watch(server.url("/front/edges"), size=(320, 240))
    viewer.wait_frames(10)
    server.wait_camera("front", lambda c: c["fps"] > 0)
    return server


def top(server, *options):
    return subprocess.run(
        [daemon.EDGECTL, "top", "--socket", server.socket, *options], capture_output=True, text=True,
        timeout=daemon.PATIENCE_S, env=daemon.environment())


def test_lines_of_json_have_rates_between_two_readings(watched):
    result = top(watched, "--json", "-n", "2")
    assert result.returncode == 0, result.stderr
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert len(lines) == 2
    for line in lines:
        assert line["viewers"] == 1 and line["front_cpu_percent"] >= 0
        (camera,) = line["cameras"]
        assert (camera["name"], camera["state"], camera["backend"][:3]) == ("front", "live", "CPU")
        assert camera["cpu_percent"] > 0 and camera["fps"] > 0 and "pattern" in camera["path"]
        edges, gray = camera["views"]
        assert (edges["name"], edges["viewers"]) == ("edges", 1)
        assert edges["fps"] > 0 and edges["bitrate_kbps"] > 0 and edges["encoder"] and not edges["governor"]
        assert edges["frame_ms"] == pytest.approx(1000 / camera["fps"], rel=1e-3)
        assert 0 < edges["compute_ms"] and set(edges["latency_ms"]) == set(STEPS)
        assert all(0 < edges["latency_ms"][s]["p50"] <= edges["latency_ms"][s]["p95"] for s in STEPS)
        # Nobody watches it.
        assert (gray["viewers"], gray["fps"], gray["compute_ms"]) == (0, 0, None)
        assert gray["latency_ms"]["capture_to_rtp"] == {"p50": None, "p95": None}


def test_a_pipe_gets_one_table_unless_told(watched):
    (once, twice) = (top(watched), top(watched, "-b", "-n", "2", "-d", "1"))
    assert once.returncode == twice.returncode == 0
    assert "\033" not in once.stdout + twice.stdout
    for result, times in ((once, 1), (twice, 2)):
        rows = [line.split() for line in result.stdout.splitlines()]
        assert [row[0] for row in rows if row] == ["edged", "CAMERA", "front", "VIEW", "front/edges",
                                                   "front/gray"] * times
    edges = next(line.split() for line in once.stdout.splitlines() if line.startswith("front/edges"))
    assert edges[1] == "1" and float(edges[2]) > 0 and re.fullmatch(r"[\d.]+/[\d.]+", edges[9])


def resize(terminal, rows, columns):
    fcntl.ioctl(terminal.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def test_on_a_terminal_it_fits_the_window_and_ends_with_q(watched):
    terminal = on_terminal("top", "--socket", watched.socket)
    terminal.wait_shown(b"\033[?1049h")
    terminal.wait_shown(b"front/gray")
    terminal.wait_shown(b"front/gray")
    resize(terminal, 3, 20)
    lines = []
    while len(lines) != 3:  # what was drawn before may wait in the terminal
        terminal.wait_shown(b"\033[H")
        begin = terminal.seen
        terminal.wait_shown(b"\033[J")
        screen = terminal.shown[begin:terminal.seen].split(b"\033[J")[0]
        lines = [line.replace(b"\033[K", b"") for line in screen.split(b"\r\n")]
    assert any(line.startswith(b"CAMERA  STATE  FPS") for line in lines) and max(len(line) for line in lines) <= 20
    terminal.type(b"q")
    assert terminal.wait() == 0 and terminal.shown.endswith(b"\033[?25h\033[?1049l")


def test_without_edged_the_reason_is_told(tmp_path):
    result = subprocess.run([daemon.EDGECTL, "top", "--socket", tmp_path / "none"], capture_output=True,
                            text=True, timeout=daemon.PATIENCE_S, env=daemon.environment())
    assert result.returncode == 1 and result.stdout == ""
    assert result.stderr.startswith("edgectl: ") and "none" in result.stderr


def test_it_goes_on_when_edged_comes_back(edged):
    server = edged([CAMERA])
    terminal = on_terminal("top", "--socket", server.socket)
    terminal.wait_shown(b"front/edges")
    server.stop()
    terminal.wait_shown(b"edgectl: ")
    server.start()
    terminal.wait_shown(b"front/edges")
    terminal.type(b"q")
    assert terminal.wait() == 0
