import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "systemd")]

from packages import PackagedSystem  # noqa: E402


@pytest.fixture
def system():
    system = PackagedSystem()
    yield system
    system.close()
