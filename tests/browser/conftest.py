"""The browser and the edged that the tests of a file share, unless it has its own."""

import pytest

import browser
import daemon
from ports import free_port


@pytest.fixture(scope="module")
def driver():
    with browser.chromium() as one:
        yield one


@pytest.fixture(scope="module")
def server(request, tmp_path_factory):
    """It has the CAMERAS of the file."""
    folder = tmp_path_factory.mktemp("edged")
    one = daemon.Daemon(folder, request.module.CAMERAS, settings={"http": {"port": free_port()}}, STATE_DIRECTORY=folder)
    one.start()
    yield one
    one.kill()
