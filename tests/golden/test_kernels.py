"""The GPU's kernels beside the CPU's, bit for bit, as `make check-gpu` compares them on a real GPU: here the
stand-in driver computes them on the CPU by their own .cu files (tests/fakes/cuda)."""

import os
import subprocess

import programs

CHECK_GPU = programs.EDGECTL.parent / "tests/fakes/cuda/check_gpu"


def run_check(options):
    environment = dict(os.environ, LD_LIBRARY_PATH=str(CHECK_GPU.parent), EDGED_FAKE_CUDA=options)
    return subprocess.run([CHECK_GPU, "--quick"], env=environment, capture_output=True, text=True,
                          timeout=600)


def test_each_kernel_makes_the_pictures_of_the_cpu():
    result = run_check("board=orin-nano")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.rstrip().endswith(" 0 different")


def test_one_wrong_bit_is_found():
    result = run_check("board=orin-nano,wrong=direction")
    assert result.returncode == 1
    assert result.stdout.rstrip().splitlines()[-1].startswith("FAILED: ")
