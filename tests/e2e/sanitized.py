"""Which end-to-end tests the sanitizers run, too (make asan): those of the files below, in which input is
parsed, something fails, is reloaded or attacked; and of tests that run the same code, the first."""

import pytest

HOSTILE = ("bad_input", "cameras", "confinement", "describe", "doctor", "events", "faults", "http", "http_video", "live_config",
           "mask", "multicast", "passwd", "raw", "reload", "rtp", "rtsp_attacks", "rtsp_protocol", "rtsp_recorded",
           "rtsp_source", "rtsps", "setup", "support", "users", "v4l2")


def pytest_configure(config):
    config.addinivalue_line("markers", "hostile: set by HOSTILE")
    config.addinivalue_line("markers", "repeats: the same code as another test, set by once()")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.stem.removeprefix("test_") in HOSTILE:
            item.add_marker("hostile")


def once(*names):
    """Parameters of a test that differ in numbers alone: the first one runs the code of all."""
    return [*names[:1], *(pytest.param(name, marks=pytest.mark.repeats) for name in names[1:])]
