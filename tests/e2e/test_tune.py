"""`edgectl tune` and `bench` on the GPU that tests/fakes/cuda plays."""

import http.server
import json
import os
import pty
import signal
import socketserver
import subprocess
import threading

import pytest

import daemon
import fake_gpu
from fake_gpu import edgectl, environment
from sanitized import once

BOARDS = once("xavier", "orin-nano", "agx-orin", "thor", "h200")
KINDS = ["registered", "pinned", "managed"]
VIEWS = [{"view": "edges"}, {"name": "l1", "view": "edges", "norm": "l1"}, {"view": "gray"},
         {"view": "camera"}]


@pytest.fixture
def config(tmp_path):
    """Writes a configuration of a small camera: config(kernels={…}) is its path."""

    def write(views=VIEWS, **keys):
        camera = {"name": "front", "source": "pattern", "format": "YUYV", "width": 64,
                  "height": 48, "views": views}
        keys = {"control": {"socket": str(tmp_path / "control.sock")}, "cameras": [camera], **keys}
        path = tmp_path / "edged.conf"
        path.write_text("".join(f"{key} = {daemon.libconfig(v)};\n" for key, v in keys.items()))
        return path

    return write


@pytest.mark.parametrize("board", BOARDS)
def test_tune_measures_every_view_in_every_kind_of_memory(config, board):
    result = edgectl("tune", "--config", config(), "--json", fake=f"board={board}")
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert (report["camera"], report["format"], report["width"], report["height"]) == (
        "front", "YUYV", 64, 48)
    assert [(s["view"], s["memory"]) for s in report["sweeps"]] == [
        (view, kind) for view in ("edges", "l1", "gray", "camera") for kind in KINDS]
    for sweep in report["sweeps"]:
        shapes = [(*entry["block"], entry["rows"]) for entry in sweep["blocks"]]
        times = [entry["us"] for entry in sweep["blocks"]]
        blocks = {(x, y) for x, y, _ in shapes}
        assert len(set(shapes)) == len(shapes)
        assert 30 <= len(blocks) <= 62
        assert all(1 <= x * y <= 1024 for x, y in blocks)
        assert times == sorted(times) and times[0] > 0
        assert (*sweep["best"], sweep["best_rows"]) == shapes[0]
        assert (*sweep["in_use"], sweep["rows_in_use"]) in shapes
        # The best four and the one in use, where the kernel has a choice of rows.
        rows = {block: {r for x, y, r in shapes if (x, y) == block} for block in blocks}
        swept = {block for block in blocks if rows[block] >= {2, 4, 8, 16, 32}}
        assert (4 <= len(swept) <= 5) == (sweep["kernel"] == "gradient")
        assert all(len(rows[block]) == 1 for block in blocks - swept)
        assert not swept or tuple(sweep["in_use"]) in swept
        assert sweep["frame_us"] > 0 and sweep["memcpy_us"] > 0
        best = sweep["blocks"][0]
        assert best["memcpy_share"] == pytest.approx(sweep["memcpy_us"] / best["us"], rel=1e-5)
    # YUYV is 2 bytes a pixel; luma alone is written of gray and edges, all of NV12 of camera.
    assert [s["bytes"] for s in report["sweeps"][::3]] == [
        64 * 48 * 3, 64 * 48 * 3, 64 * 48 * 3, 64 * 48 * 7 // 2]


CHAIN = {"name": "clean", "view": "binary", "operator": "scharr", "blur": 3, "threshold": "otsu",
         "morphology": "open", "times": 2}


def test_every_kernel_of_a_view_is_tuned_in_its_turn(config):
    path = config(views=[CHAIN], kernels={"blur": {"block": [24, 4]}})
    result = edgectl("tune", "--config", path, "--quick", "--json", "--memory", "pinned")
    assert result.returncode == 0, result.stderr
    sweeps = json.loads(result.stdout)["sweeps"]
    assert [(s["kernel"], s["memory"]) for s in sweeps] == [
        (kernel, kind) for kind in ("registered", "pinned")
        for kernel in ("gray", "blur", "gradient", "threshold", "morphology")]
    for sweep in sweeps:
        assert sweep["view"] == "clean" and sweep["frame_us"] > 0
        assert sweep["in_use"] == ([24, 4] if sweep["kernel"] == "blur" else [32, 8])
    # A whole frame has all of them, so it is one time a kind of memory.
    assert len({s["frame_us"] for s in sweeps}) == 2
    table = edgectl("tune", "--config", path, "--quick", "--memory", "pinned").stdout
    frames = table[table.index("Whole frames"):].splitlines()
    assert [line.split()[:2] for line in frames if "clean" in line] == [
        ["clean", "registered"], ["clean", "pinned"]]


def test_bench_names_all_kernels_of_a_view(config):
    result = edgectl("bench", "--config", config(views=[CHAIN]), "--runs", "3", "--json")
    assert result.returncode == 0, result.stderr
    rows = [r for r in json.loads(result.stdout) if r["what"] == "kernel"]
    assert [(r["name"], r["memory"], r["bytes"]) for r in rows] == [
        ("gray+blur+gradient+threshold+morphology", kind, 64 * 48 * 3)
        for kind in ("device", "registered")]


def test_the_table_marks_the_best_and_the_one_in_use(config):
    path = config(kernels={"gray": {"block": [17, 3]}})
    result = edgectl("tune", "--config", path, "--view", "gray", "--quick",
                     "--memory", "pinned,pinned,registered")
    assert result.returncode == 0, result.stderr
    rows = [line.split() for line in result.stdout.splitlines() if " x " in line]
    assert len(rows) == 2 * 13  # a dozen and 17 x 3
    assert rows[0][-1] in ("best", "use")
    assert [row[-2:] for row in rows if row[:3] == ["17", "x", "3"]] == 2 * [["in", "use"]]
    assert "registered memory" in result.stdout and "pinned memory" in result.stdout


def test_rows_in_the_configuration_are_in_use_and_tried(config):
    path = config(kernels={"gradient": {"rows": 5}})
    result = edgectl("tune", "--config", path, "--view", "edges", "--quick", "--json")
    assert result.returncode == 0, result.stderr
    sweep = json.loads(result.stdout)["sweeps"][0]
    assert sweep["in_use"] == [32, 8] and sweep["rows_in_use"] == 5
    rows = {entry["rows"] for entry in sweep["blocks"] if entry["block"] == [32, 8]}
    assert rows == {2, 4, 5, 8, 16, 32}


def test_the_table_has_the_rows_and_marks_the_ones_in_use_alone(config):
    path = config(kernels={"gradient": {"rows": 5, "block": [17, 3]}})
    result = edgectl("tune", "--config", path, "--view", "edges", "--quick")
    assert result.returncode == 0, result.stderr
    title = next(line.split() for line in result.stdout.splitlines() if "BLOCK" in line)
    assert title[:4] == ["BLOCK", "THREADS", "ROWS", "US"]
    rows = [line.split() for line in result.stdout.splitlines() if " x " in line]
    mine = {row[4]: row[-1] == "use" for row in rows if row[:3] == ["17", "x", "3"]}
    assert mine == {"2": False, "4": False, "5": True, "8": False, "16": False, "32": False}


def test_blocks_that_a_kernel_cannot_take_are_left_out(config):
    result = edgectl("tune", "--config", config(), "--view", "edges", "--json",
                     fake="board=orin-nano,registers=gradient:200")
    assert result.returncode == 0, result.stderr
    for sweep in json.loads(result.stdout)["sweeps"]:
        # 65536 registers, 200 a thread: 327 threads, whole warps.
        assert 20 < len(sweep["blocks"])
        assert max(x * y for x, y in (entry["block"] for entry in sweep["blocks"])) <= 320


def test_an_illegal_block_in_the_configuration_is_not_in_use(config):
    path = config(kernels={"gradient": {"block": [32, 32]}})
    result = edgectl("tune", "--config", path, "--view", "edges", "--quick", "--json",
                     fake="board=orin-nano,registers=gradient:200")
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["sweeps"][0]["in_use"] == [32, 8]


@pytest.mark.parametrize("runs", [True, False])
def test_write_keeps_what_is_faster_than_a_slow_block(edged, tmp_path, monkeypatch, runs):
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path / "state"))
    camera = daemon.camera("front", format="YUYV", width=64, height=48, views=[{"view": "gray"}])
    server = edged([camera], settings={"kernels": {"gray": {"block": [1024, 1]}}})
    before = server.config.read_text()
    if not runs:
        server.stop()

    def tune(*words):
        result = edgectl("tune", "--config", server.config, "--quick", "--json", *words)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)["sweeps"][0], result.stderr

    def write():
        sweep, told = tune("--write")
        return "nothing is kept" not in told and (sweep["best"], told)  # a busy machine's noise

    best, told = daemon.wait_for(write)
    assert f'edgectl: kept, {"and in force" if runs else "for when edged is started"}: ' in told
    assert f'{{"kernels":{{"gray":{{"block":[{best[0]},{best[1]}]}}}}}}' in told
    if runs:
        assert json.loads(server.http_get("/v1/config"))["kernels"]["gray"]["block"] == best
        server.stop()
    checked = daemon.run_edged("--check", "--config", server.config)
    assert f"kept: kernels.gray.block = {best}, over [1024, 1] ({server.config}:2)\n" in checked.stdout
    assert server.config.read_text() == before and tune()[0]["in_use"] == best


def test_tune_asks_the_running_edged_for_format_and_size(config, tmp_path):
    status = {"cameras": [{"name": "other", "format": "GREY", "width": 8, "height": 8},
                          {"name": "front", "format": "UYVY", "width": 640, "height": 360}]}

    class Status(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            assert self.path == "/v1/status"
            body = json.dumps(status).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def address_string(self):
            return "edgectl"

        def log_message(self, *_):
            pass

    path = config()
    with socketserver.UnixStreamServer(str(tmp_path / "control.sock"), Status) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        asked = edgectl("tune", "--config", path, "--view", "edges", "--quick")
        told = edgectl("tune", "--config", path, "--view", "edges", "--quick", "--format", "GREY",
                       "--size", "80x60")
        status["cameras"][1]["format"] = ""
        unknown = edgectl("tune", "--config", path, "--view", "edges", "--quick")
        server.shutdown()
    assert "camera front: UYVY 640x360 (the running edged)" in asked.stdout
    assert "camera front: GREY 80x60 (the command line)" in told.stdout
    assert "YUYV 64x48 (the configuration; the running edged has no picture" in unknown.stdout


def test_a_view_that_passes_pictures_on_has_nothing_to_tune(config):
    result = edgectl("tune", "--config", config(), "--view", "camera", "--format", "NV12")
    assert result.returncode == 0
    assert "view camera passes the camera's NV12 on" in result.stderr


# The first 6 launches are the GPU's self-tests.
FAULTS = ["illegal=gradient:5", "hang=gradient:5", "fail=cuLaunchKernel:13:719",
          "fail=cuEventRecord:40:999", "fail=cuMemcpyDtoDAsync_v2:1:700"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_lost_gpu_ends_tune_and_bench_with_the_reason(config, fault):
    for command in ("tune", "bench"):
        result = edgectl(command, "--config", config(), fake=f"board=orin-nano,{fault}")
        lines = [line for line in result.stderr.splitlines() if line.startswith("edgectl: ")]
        assert result.returncode == 1
        assert len(lines) == 1 and "view edges: " in lines[0]


def test_an_interrupt_ends_with_what_was_measured(config):
    """On a terminal, with its bar; --write then writes nothing."""
    path = config()
    controller, terminal = pty.openpty()
    command = [str(daemon.FAKE_CUDA / "edgectl"), "tune", "--config", str(path), "--view", "gray",
               "--write"]
    work = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, text=True,
                            env=environment("board=orin-nano,slow=gray:5"))
    os.close(terminal)
    shown = ""
    while "10 %" not in shown:
        shown += os.read(controller, 1024).decode()
    work.send_signal(signal.SIGINT)
    output, _ = work.communicate(timeout=daemon.PATIENCE_S)
    assert work.returncode == 130
    assert "[###" in shown and "gray, registered memory" in shown
    assert "Interrupted" in output and "32 x 8" in output
    os.close(controller)


@pytest.mark.parametrize("board", BOARDS)
def test_bench_measures_stages_kernels_and_views(config, board):
    result = edgectl("bench", "--config", config(), "--runs", "3", "--json", "--size", "64x48",
                     "--size", "33x17", fake=f"board={board}")
    assert result.returncode == 0, result.stderr
    rows = json.loads(result.stdout)
    for size in ((64, 48), (33, 17)):
        found = [(r["view"], r["what"], r["name"], r["backend"][:4], r["memory"])
                 for r in rows if (r["width"], r["height"]) == size]
        assert found[:7] == [
            ("edges", "stage", "gray", "CPU", "host"),
            ("edges", "stage", "gradient", "CPU", "host"),
            ("edges", "stage", "compose", "CPU", "host"),
            ("edges", "view", "edges", "CPU", "host"),
            ("edges", "kernel", "gradient", "CUDA", "device"),
            ("edges", "kernel", "gradient", "CUDA", "registered"),
            ("edges", "view", "edges", "CUDA", "registered"),
        ]
        assert ("camera", "kernel", "convert", "CUDA", "device") in found
    assert all(r["us"] > 0 and r["memcpy_us"] > 0 and r["bytes"] > 0 for r in rows)


def test_bench_measures_on_the_cpu_alone_where_told_to(config):
    views = [{"view": "canny"}, {"view": "motion"}]
    result = edgectl("bench", "--config", config(views=views), "--runs", "3", "--json",
                     "--size", "64x48", "--backend", "cpu")
    assert result.returncode == 0, result.stderr
    found = [(r["what"], r["name"], r["backend"], r["bytes"]) for r in json.loads(result.stdout)]
    yuyv, gray = 64 * 48 * 2, 64 * 48
    assert found == [
        ("stage", "gray", "CPU", yuyv + gray),
        ("stage", "canny", "CPU", 2 * gray),
        ("stage", "compose", "CPU", 2 * gray),
        ("view", "canny", "CPU", yuyv + gray),
        ("view", "motion", "CPU", yuyv + gray * 3 // 2),
    ]


def test_bench_says_that_a_split_is_not_measured_on_a_gpu(config):
    views = [{"view": "split", "left": "edges", "right": "canny"}]
    result = edgectl("bench", "--config", config(views=views), "--runs", "1", "--backend", "cuda")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[1] == (
        "a split is not measured on a GPU: --backend cpu measures it")


@pytest.mark.parametrize("fault, reason", fake_gpu.REFUSED.items())
def test_a_gpu_that_is_refused_is_named(config, fault, reason):
    tune = edgectl("tune", "--config", config(), fake=fault)
    assert tune.returncode == 1 and f"edgectl: tune needs a GPU: {reason}\n" in tune.stderr
    bench = edgectl("bench", "--config", config(), "--runs", "1", fake=fault)
    assert bench.returncode == 0 and f"edgectl: the CPU alone: {reason}\n" in bench.stderr
