"""`edgectl bench` on the CPU, and every wrong use of bench and tune gets a sentence and its status.

The GPU's side is in tests/e2e/test_tune.py, on a driver that plays one.
"""

import json
import os
import subprocess

import pytest

import oracle
import programs
from ffmpeg import complaints

KEYS = {"view", "format", "width", "height", "origin", "what", "name", "backend", "memory", "bytes",
        "us", "spread_us", "memcpy_us", "memcpy_share"}


def edgectl(*words, cwd=None):
    command = [str(programs.EDGECTL), *map(str, words)]
    no_gpu = dict(os.environ, CUDA_VISIBLE_DEVICES="")
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd, env=no_gpu)


# The stages of each view, then the view: edges, gray, camera, binary, canny, motion, overlay,
# direction, split.
BINARY = ["gradient", "threshold", "compose", "binary"]
LAST = ["canny", "compose", "canny", "motion"]
OVERLAY = ["gradient", "threshold", "overlay"]
COLOUR = [*OVERLAY, "direction", "split"]
STAGES = [
    ("GREY", ["gradient", "compose", "edges", "gray", "gray", "convert", "camera", *BINARY, *LAST,
              *COLOUR]),
    ("NV12", ["gradient", "compose", "edges", "gray", "gray", *BINARY, *LAST, *COLOUR]),
    ("YUYV", ["gray", "gradient", "compose", "edges", "gray", "gray", "convert", "camera",
              "gray", *BINARY, "gray", *LAST, "gray", *OVERLAY, "gray", "direction", "split"]),
    ("RGB3", ["gray", "gradient", "compose", "edges", "gray", "compose", "gray", "convert",
              "camera", "gray", *BINARY, "gray", *LAST, "gray", *OVERLAY, "gray", "direction",
              "split"]),
]


@pytest.mark.parametrize("form, names", STAGES)
def test_every_stage_and_every_view_is_measured(form, names):
    result = edgectl("bench", "--backend", "cpu", "--runs", "3", "--json", "--format", form,
                     "--size", "64x48")
    assert result.returncode == 0 and not complaints(result.stderr)
    rows = json.loads(result.stdout)
    assert [row["name"] for row in rows] == names
    for row in rows:
        assert set(row) == KEYS
        assert (row["format"], row["width"], row["height"]) == (form, 64, 48)
        assert row["backend"] == "CPU" and row["memory"] == "host"
        assert row["us"] > 0 and row["memcpy_us"] > 0 and row["spread_us"] >= 0
        assert row["memcpy_share"] == pytest.approx(row["memcpy_us"] / row["us"], rel=1e-5)


def test_a_clip_is_measured_in_its_own_format(tmp_path):
    config = tmp_path / "edged.conf"
    config.write_text('cameras = ( { source = "file"; path = "%s"; } );'
                      % (oracle.DATA / "street.mp4"))
    result = edgectl("bench", "--backend", "cpu", "--runs", "1", "--json", "--config", config)
    assert result.returncode == 0, result.stderr
    for row in json.loads(result.stdout):
        assert (row["format"], row["width"], row["height"]) == ("YU12", 768, 576)
        assert row["origin"] == "the clip"


def test_bytes_are_those_read_and_written():
    result = edgectl("bench", "--backend", "cpu", "--runs", "1", "--json", "--format", "YUYV",
                     "--size", "100x50")
    found = {(row["what"], row["name"]): row["bytes"] for row in json.loads(result.stdout)}
    assert found[("stage", "gradient")] == 100 * 50 * 2
    assert found[("view", "edges")] == 100 * 50 * (2 + 1)
    assert found[("view", "camera")] == 100 * 50 * 2 + 100 * 50 * 3 // 2


def test_the_table_has_a_row_a_stage(tmp_path):
    config = tmp_path / "edged.conf"
    config.write_text('cameras = ( { name = "door"; source = "pattern"; format = "GREY"; '
                      'width = 64; height = 48; views = ( { name = "mine"; norm = "l1"; } ); } );')
    result = edgectl("bench", "--config", config, "--runs", "3", "--backend", "cpu")
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "View mine of GREY 64x48 (the configuration)"
    assert [line.split()[:3] for line in lines[2:5]] == [
        ["stage", "gradient", "CPU"], ["stage", "compose", "CPU"], ["view", "mine", "CPU"]]


def test_threads_are_those_asked_for_or_the_configurations(tmp_path):
    config = tmp_path / "edged.conf"
    config.write_text('cpu_threads = 3; cameras = ( { source = "pattern"; format = "GREY"; '
                      'width = 64; height = 480; views = ( { view = "canny"; } ); } );')
    words = ["bench", "--config", config, "--runs", "3", "--backend", "cpu", "--json"]
    for more, backend in (([], "CPU x3"), (["--threads", "2"], "CPU x2"), (["--threads", 1], "CPU")):
        result = edgectl(*words, *more)
        assert result.returncode == 0 and not complaints(result.stderr)
        assert {row["backend"] for row in json.loads(result.stdout)} == {backend}


USAGE = [
    (["bench", "x"], 2, 'bench takes no argument "x"'),
    (["bench", "--bad"], 2, "Usage: edgectl bench"),
    (["bench", "--size", "64"], 2, "--size 64: allowed are 1x1 to 16384x16384"),
    (["bench", "--size", "0x9"], 2, "--size 0x9: allowed are"),
    (["bench", "--size", "-1x9"], 2, "--size -1x9: allowed are"),
    (["bench", "--size", "64x48x2"], 2, "--size 64x48x2: allowed are"),
    (["bench", "--size", "16385x1"], 2, "--size 16385x1: allowed are"),
    (["bench", "--threads", "0"], 2, "--threads 0: allowed are 1 to 16"),
    (["bench", "--threads", "x"], 2, "--threads x: allowed are 1 to 16"),
    (["bench", "--runs", "0"], 2, "--runs 0: allowed are 1 to 1000"),
    (["bench", "--runs", "1001"], 2, "--runs 1001: allowed are 1 to 1000"),
    (["bench", "--runs", "9999999999999"], 2, "allowed are 1 to 1000"),
    (["bench", "--backend", "gpu"], 2, "--backend gpu: allowed are auto, cpu, cuda"),
    (["bench", "--backend", "cuda"], 1, "--backend cuda: "),
    (["bench", "--format", "MJPG"], 2, "--format MJPG: allowed are YUYV, UYVY, NV12"),
    (["bench", "--format", "RG10"], 2, "--format RG10: allowed are YUYV, UYVY, NV12"),
    (["bench", "--config", "missing.conf"], 1, "missing.conf: error: cannot read"),
    (["bench", "--config", "bad.conf"], 1, "bad.conf:1: error: "),
    (["bench", "--config", "good.conf", "--camera", "x"], 1, "--camera x: there is none"),
    (["tune", "x"], 2, 'tune takes no argument "x"'),
    (["tune", "--bad"], 2, "Usage: edgectl tune"),
    (["tune", "--size", "1"], 2, "--size 1: allowed are 1x1 to 16384x16384"),
    (["tune", "--memory", "host"], 2, "allowed are registered, pinned, managed"),
    (["tune", "--memory", "pinned,"], 2, "allowed are registered, pinned, managed"),
    (["tune", "--memory", ""], 2, "allowed are registered, pinned, managed"),
    (["tune", "--memory", "pinned,pinned,pinned,pinned"], 2, "allowed are registered, pinned"),
    (["tune", "--config", "missing.conf"], 1, "missing.conf: error: cannot read"),
    (["tune", "--config", "good.conf", "--camera", "x"], 1, "--camera x: there is none"),
    (["tune", "--config", "good.conf", "--view", "x"], 1, "--view x: camera camera0 has none"),
    (["tune", "--config", "good.conf", "--format", "x"], 2, "--format x: allowed are YUYV"),
    (["tune", "--config", "odd.conf"], 1, "camera camera0 has the format BA81, which only a "),
    (["tune", "--config", "good.conf"], 1, "tune needs a GPU: "),
    (["tune", "--config", "good.conf", "--write"], 1, "tune needs a GPU: "),
]


@pytest.mark.parametrize("words, status, message", USAGE)
def test_wrong_words_say_what_is_allowed(tmp_path, words, status, message):
    nobody = f'control = {{ socket = "{tmp_path}/none.sock"; }}; '
    (tmp_path / "good.conf").write_text(nobody + 'cameras = ( { source = "pattern"; } );')
    (tmp_path / "odd.conf").write_text(nobody + 'cameras = ( { format = "BA81"; } );')
    (tmp_path / "bad.conf").write_text("cameras = 7;\n")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    result = edgectl(*words, cwd=tmp_path)
    assert result.returncode == status
    assert message in result.stderr and result.stdout == ""
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("command", ["bench", "tune"])
def test_help_names_every_option(command):
    result = edgectl(command, "--help")
    assert result.returncode == 0 and not complaints(result.stderr)
    for option in ("--config", "--camera", "--size", "--format", "--json"):
        assert option in result.stdout
