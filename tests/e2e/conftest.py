import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from fixtures import board, edged, elements, provoke, shared_edged, watch  # noqa: E402, F401
from sanitized import pytest_collection_modifyitems, pytest_configure  # noqa: E402, F401
