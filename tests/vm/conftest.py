import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "deb"), str(TESTS / "systemd"), str(TESTS / "vm"), str(TESTS / "e2e")]

import beds  # noqa: E402
from machine import Machine  # noqa: E402
from packages import PackagedMachine  # noqa: E402


# Gone before tests/deb starts its own: an emulated one that has to share a core is too slow.
@pytest.fixture(scope="module")
def machine():
    if beds.CROSSED:
        bed = PackagedMachine()
        bed.install()
    else:
        bed = Machine()
    bed.check("modprobe vivid n_devs=1 node_types=0x1 num_inputs=1 input_types=0 && udevadm settle")
    yield bed
    bed.close()
