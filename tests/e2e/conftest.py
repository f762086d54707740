import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from fixtures import board, edged, elements, few_plugins, provoke, shared_edged, watch  # noqa: E402, F401
from sanitized import pytest_collection_modifyitems, pytest_configure  # noqa: E402, F401
from tidy import pytest_runtest_makereport, tmp_path  # noqa: E402, F401
