import pathlib
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1])]

from machine import Machine  # noqa: E402


@pytest.fixture(scope="session")
def machine():
    bed = Machine()
    bed.check("modprobe vivid n_devs=1 node_types=0x1 num_inputs=1 input_types=0 && udevadm settle")
    yield bed
    bed.close()
