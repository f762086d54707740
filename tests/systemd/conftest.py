import pathlib
import sys

import pytest

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1])]

from container import Container  # noqa: E402


@pytest.fixture(scope="session")
def container():
    bed = Container()
    yield bed
    bed.close()
