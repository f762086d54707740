import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from fixtures import board, edged, elements, provoke, watch  # noqa: E402, F401
from repeats import pytest_configure  # noqa: E402, F401
