import subprocess

import pytest

import programs


@pytest.fixture
def process():
    """Runs `edgectl process` with the given words and returns what it left behind."""

    def run(*words):
        command = [str(programs.EDGECTL), "process", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, timeout=120)

    return run
