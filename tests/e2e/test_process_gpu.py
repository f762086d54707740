"""`edgectl process` on the GPU that tests/fakes/cuda plays."""

import subprocess

import cv2
import numpy
import pytest

import daemon
import fake_gpu
from fake_gpu import edgectl
from sanitized import once


@pytest.mark.parametrize("view", ["edges", "gray", "camera", "binary", "canny"])
@pytest.mark.parametrize("board", once("xavier", "h200"))
def test_the_gpu_makes_the_same_picture_as_the_cpu(tmp_path, view, board):
    picture = numpy.random.default_rng(1).integers(0, 256, (41, 67, 3), dtype=numpy.uint8)
    assert cv2.imwrite(str(tmp_path / "in.ppm"), picture)
    for backend in ("cpu", "cuda", "auto"):
        result = edgectl("process", "--view", view, "--backend", backend, tmp_path / "in.ppm",
                         tmp_path / f"{backend}.ppm", fake=f"board={board}")
        assert result.returncode == 0 and result.stderr == ""
    expected = (tmp_path / "cpu.ppm").read_bytes()
    assert (tmp_path / "cuda.ppm").read_bytes() == expected
    assert (tmp_path / "auto.ppm").read_bytes() == expected


def test_process_computes_on_the_gpu_when_it_can(tmp_path):
    """What the fake counted tells."""
    assert cv2.imwrite(str(tmp_path / "in.pgm"), numpy.zeros((8, 8), numpy.uint8))
    for backend, launches in (("cpu", False), ("auto", True), ("cuda", True)):
        report = tmp_path / f"{backend}.txt"
        result = edgectl("process", "--backend", backend, tmp_path / "in.pgm",
                         tmp_path / "out.pgm", fake=f"report={report}")
        assert result.returncode == 0, result.stderr
        assert ("cuLaunchKernel" in (report.read_text() if report.exists() else "")) == launches


FAULTS = ["illegal=gradient:1", "hang=gradient:1", "fail=cuLaunchKernel:9:719",
                  "fail=cuMemHostGetDevicePointer_v2:3:999", "fail=cuMemHostRegister_v2:2:2"]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_gpu_that_fails_is_replaced_by_the_cpu_unless_it_was_asked_for(tmp_path, fault):
    picture = numpy.random.default_rng(2).integers(0, 256, (50, 60), dtype=numpy.uint8)
    assert cv2.imwrite(str(tmp_path / "in.pgm"), picture)
    edgectl("process", "--backend", "cpu", tmp_path / "in.pgm", tmp_path / "cpu.pgm")
    auto = edgectl("process", tmp_path / "in.pgm", tmp_path / "auto.pgm", fake=fault)
    assert auto.returncode == 0
    assert ", using the CPU\n" in auto.stderr
    assert (tmp_path / "auto.pgm").read_bytes() == (tmp_path / "cpu.pgm").read_bytes()
    cuda = edgectl("process", "--backend", "cuda", tmp_path / "in.pgm", tmp_path / "cuda.pgm",
                   fake=fault)
    assert cuda.returncode == 1 and "edgectl: " in cuda.stderr
    assert not (tmp_path / "cuda.pgm").exists()


@pytest.mark.parametrize("fault, reason", fake_gpu.REFUSED.items())
def test_a_gpu_that_is_refused_is_named_and_replaced_by_the_cpu(tmp_path, fault, reason):
    picture = numpy.random.default_rng(2).integers(0, 256, (50, 60), dtype=numpy.uint8)
    assert cv2.imwrite(str(tmp_path / "in.pgm"), picture)
    edgectl("process", "--backend", "cpu", tmp_path / "in.pgm", tmp_path / "cpu.pgm")
    auto = edgectl("process", tmp_path / "in.pgm", tmp_path / "auto.pgm", fake=fault)
    assert auto.returncode == 0 and f"edgectl: {reason}, using the CPU\n" in auto.stderr
    assert (tmp_path / "auto.pgm").read_bytes() == (tmp_path / "cpu.pgm").read_bytes()
    cuda = edgectl("process", "--backend", "cuda", tmp_path / "in.pgm", tmp_path / "cuda.pgm",
                   fake=fault)
    assert cuda.returncode == 1 and f"edgectl: --backend cuda: {reason}\n" in cuda.stderr


@pytest.fixture
def clip(tmp_path):
    """The street's first seconds."""
    path = tmp_path / "clip.mp4"
    subprocess.run(["ffmpeg", "-loglevel", "error", "-i", daemon.ROOT / "tests/data/street.mp4",
                    "-t", "4", "-c", "copy", path], check=True)
    return path


def test_a_clip_is_computed_on_the_gpu_too(tmp_path, clip):
    """x264 with threads makes other bits every time: hence a measure of likeness."""
    for backend in ("cpu", "cuda"):
        result = edgectl("process", "--backend", backend, "--set", "bitrate_kbps=20000", clip,
                         tmp_path / f"{backend}.mkv")
        assert result.returncode == 0, result.stderr
    clips = [cv2.VideoCapture(str(tmp_path / f"{backend}.mkv")) for backend in ("cpu", "cuda")]
    for number in range(30):
        (more, cpu), (_, cuda) = (clip.read() for clip in clips)
        assert more and cv2.PSNR(cpu, cuda) > 40, f"frame {number}"


def test_a_gpu_that_fails_within_a_clip_costs_no_frame(tmp_path, clip):
    result = edgectl("process", clip, tmp_path / "out.mkv", fake="illegal=gradient:20")
    assert result.returncode == 0, result.stderr
    assert ", using the CPU\n" in result.stderr
    before, after = cv2.VideoCapture(str(clip)), cv2.VideoCapture(str(tmp_path / "out.mkv"))
    while before.grab():
        assert after.grab()
    assert not after.grab()
