import os

import pytest

import daemon
from fixtures import edged, watch  # noqa: F401


@pytest.fixture
def seconds():
    """How long streams are watched: 60 s for acceptance."""
    return float(os.environ.get("EDGED_E2E_SECONDS", "3" if daemon.sanitized() else "8"))
