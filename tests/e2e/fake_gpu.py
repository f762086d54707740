"""edgectl on the GPU that tests/fakes/cuda plays."""

import os
import subprocess

import daemon

# A GPU that is not to be used, and what is said of it.
REFUSED = {
    "wrong=selftest_lucas": 'the GPU computes wrongly: self-test "lucas" gave L(40) = 228826126, '
                            'expected 228826127',
    "hang=selftest_pi": 'self-test "pi": the GPU is not done in time',
    "fail=cuInit:1:999": "starting CUDA: unknown error (CUDA_ERROR_UNKNOWN, 999)",
}


def environment(fake):
    variables = dict(os.environ, LD_LIBRARY_PATH=str(daemon.FAKE_CUDA), EDGED_FAKE_CUDA=fake)
    variables.pop("XDG_RUNTIME_DIR", None)
    return variables


def edgectl(*words, fake="board=orin-nano"):
    """Runs edgectl on the GPU that `fake` describes; what the fake complains of is an error."""
    command = [str(daemon.FAKE_CUDA / "edgectl"), *map(str, words)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=daemon.PATIENCE_S,
                            env=environment(fake))
    assert not daemon.SANITIZER_REPORT.search(result.stderr), result.stderr
    if not any(word in fake for word in ("illegal", "hang", "fail")):
        assert "fake_cuda: " not in result.stderr
    return result
