"""`make soak SECONDS=600`: promises that a clock measures, which only a machine with nothing else
to do can keep. Each test has an equal share of the time; `SOAK="-k NAME"` gives one all of it.

Daemons, viewers and what they see come from tests/e2e, what is measured otherwise from tests/bench. A test is either a stream that is watched for
`seconds`, or something done again and again `for _ in turns()`.
"""

import os
import pathlib
import sys
import time

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "e2e"), str(TESTS / "bench"), str(TESTS)]

from fixtures import board, edged, elements, provoke, watch  # noqa: E402, F401
from sanitized import pytest_configure  # noqa: E402, F401


@pytest.fixture
def seconds(request):
    """This test's share of the time."""
    return float(os.environ.get("EDGED_SOAK_SECONDS", "600")) / request.session.testscollected


@pytest.fixture
def turns(seconds):
    """Counts from 0 until this test's share of the time is over: at least one turn."""

    def count():
        end, turn = time.monotonic() + seconds, 0
        while turn == 0 or time.monotonic() < end:
            yield turn
            turn += 1

    return count
