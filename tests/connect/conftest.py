import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "e2e")]

from fixtures import edged  # noqa: E402, F401
from home_assistant import HomeAssistant  # noqa: E402
from tidy import pytest_runtest_makereport, tmp_path  # noqa: E402, F401


@pytest.fixture
def home(tmp_path):
    one = HomeAssistant(tmp_path / "home")
    one.start()
    one.onboard()
    yield one
    one.stop()


@pytest.fixture
def engines():
    """Other programs that a test started: those that still run are ended after it."""
    started = []
    yield started
    for engine in reversed(started):
        if engine.process.poll() is None:
            engine.end()
