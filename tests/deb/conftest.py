import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "systemd"), str(TESTS / "vm")]

import beds  # noqa: E402
from packages import PackagedContainer, PackagedMachine  # noqa: E402


@pytest.fixture(scope="session")
def machine():
    machine = PackagedMachine()
    yield machine
    machine.close()


@pytest.fixture
def system(request):
    if beds.CROSSED:
        system = request.getfixturevalue("machine")
        yield system
        system.reset()
    else:
        system = PackagedContainer()
        yield system
        system.close()
