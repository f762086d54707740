"""The GPU's kernels beside the CPU's, bit for bit, as `make check-gpu` compares them on a real GPU: here the
stand-in driver computes them on the CPU, most by their own .cu files (tests/fakes/cuda)."""

import os
import subprocess

import programs

CHECK_GPU = programs.EDGECTL.parent / "tests/fakes/cuda/check_gpu"


def test_each_kernel_makes_the_pictures_of_the_cpu():
    environment = dict(os.environ, LD_LIBRARY_PATH=str(CHECK_GPU.parent))
    result = subprocess.run([CHECK_GPU, "--quick"], env=environment, capture_output=True, text=True,
                            timeout=600)
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.rstrip().endswith(" 0 different")
