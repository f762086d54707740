"""Which end-to-end tests the sanitizers run, too (make asan): those of the files below, in which input is
parsed, something fails, is reloaded or attacked; and of tests that run the same code, the first."""

import pytest

HOSTILE = ("bad_input", "cameras", "confinement", "describe", "doctor", "endings", "events", "faults", "http", "http_video", "live_config",
           "mask", "multicast", "onvif", "onvif_discovery", "passwd", "raw", "reload", "rtp", "rtsp_attacks", "rtsp_protocol", "rtsp_recorded",
           "rtsp_source", "rtsps", "set_file", "setup", "setup_answers", "support", "users", "v4l2")
# Of these, the ones that show something else without a sanitizer: what a process may do, how much memory it
# takes. .ci/run has `make check` run them again, and leaves the other hostile ones to `make asan`.
DIFFER = ("cameras", "confinement", "endings", "live_config")


def pytest_configure(config):
    config.addinivalue_line("markers", "hostile: set by HOSTILE")
    config.addinivalue_line("markers", "differs: set by DIFFER")
    config.addinivalue_line("markers", "repeats: the same code as another test, set by once()")


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.stem.removeprefix("test_") in HOSTILE:
            item.add_marker("hostile")
        if item.path.stem.removeprefix("test_") in DIFFER:
            item.add_marker("differs")


def once(*names):
    """Parameters of a test that differ in numbers alone: the first one runs the code of all."""
    return [*names[:1], *(pytest.param(name, marks=pytest.mark.repeats) for name in names[1:])]
