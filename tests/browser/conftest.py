"""The browser and the edged that the tests of a file share, unless it has its own."""

import subprocess

import pytest

import browser
import daemon
from ports import free_port


@pytest.fixture(scope="module")
def driver():
    with browser.opened() as one:
        yield one


@pytest.fixture(scope="session")
def filmed(tmp_path_factory):
    """A minute's video, and its picture."""
    folder = tmp_path_factory.mktemp("clip")
    video, picture = folder / "clip.mp4", folder / "clip.jpg"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=15", "-t", "60", "-g", "15",
                    "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast", video], check=True)
    subprocess.run(["ffmpeg", "-v", "error", "-i", video, "-frames:v", "1", picture], check=True)
    return video.read_bytes(), picture.read_bytes()


@pytest.fixture(scope="module")
def server(request, tmp_path_factory):
    """It has the CAMERAS of the file."""
    folder = tmp_path_factory.mktemp("edged")
    one = daemon.Daemon(folder, request.module.CAMERAS, settings={"http": {"port": free_port()}}, STATE_DIRECTORY=folder)
    one.start()
    yield one
    one.kill()
