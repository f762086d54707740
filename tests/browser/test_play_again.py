"""A clip that stops in its middle, because edged is gone for a while."""

import contextlib
import os
import signal
import subprocess
import time

import pytest

import browser
import daemon
from fake_recorder import Recorder
from ports import free_port
from test_http import write_users

S = 1_000_000_000
TIME = "document.querySelector('#film video')?.currentTime"


@pytest.fixture(scope="module")
def long_film(tmp_path_factory):
    """A minute of 16 Mbit/s, which no browser loads at once."""
    video = tmp_path_factory.mktemp("film") / "film.mp4"
    rate = "nal-hrd=cbr:bitrate=16000:vbv-maxrate=16000:vbv-bufsize=16000"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=5", "-t", "60", "-g", "5", "-pix_fmt", "yuv420p",
                    "-c:v", "libx264", "-preset", "ultrafast", "-x264-params", rate, "-movflags", "faststart", video], check=True)
    return video.read_bytes()


@pytest.fixture
def recorder(tmp_path, long_film):
    recorder = Recorder(tmp_path / "recorder")
    begin = time.time_ns() - 3600 * S
    recorder.add(1, long_film, camera=b"front", view=b"plain", start_wall_ns=begin, end_wall_ns=begin + 60 * S)
    yield recorder
    recorder.close()


@pytest.fixture
def server(tmp_path, recorder):
    write_users(tmp_path / "rtsp.users", otto="operator")
    views = [{"name": "plain", "view": "camera"}]
    one = daemon.Daemon(tmp_path, [daemon.camera(views=views, width=320, height=240, fps=5)], EDGED_RECORDER=recorder.path,
                        settings={"http": {"port": free_port()}})
    one.start()
    yield one
    one.kill()


@pytest.fixture
def page(server, driver):
    """It plays the clip."""
    driver.get("about:blank")
    driver.get(browser.page_link(server))
    browser.run(driver, browser.READER)
    browser.wait(driver, "edged.state.status && edged.state.session.can_change", explain="the page")
    browser.run(driver, "location.hash = '#recorded'")
    browser.wait(driver, "document.querySelector('.card .play')", explain="the clip")
    browser.run(driver, "document.querySelector('.card .play').click()")
    browser.wait(driver, f"{TIME} > 0.5", explain="it plays")
    return driver


def kill(server):
    children = daemon.process_children(server.process.pid)
    server.process.kill()
    server.process.wait()
    for pid in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_a_clip_plays_on_once_edged_is_back(page, server):
    kill(server)
    browser.run(page, "document.querySelector('#film video').currentTime = 40")
    browser.wait(page, "document.querySelector('#gap.fault')?.textContent.startsWith('No connection')", explain="why it stops")
    server.start()
    browser.wait(page, f"{TIME} > 40.5 && !document.querySelector('#gap').textContent", explain="it plays on")


def test_a_clip_that_is_chosen_while_edged_is_gone_plays_once_it_is_back(page, server):
    browser.run(page, "document.getElementById('back').click()")
    browser.wait(page, "!document.querySelector('#film video')", explain="it is live")
    kill(server)
    browser.run(page, "history.back()")
    browser.wait(page, "document.querySelector('#gap.fault')?.textContent.startsWith('No connection')", explain="why it does not play")
    server.start()
    browser.wait(page, f"{TIME} > 0.5", explain="it plays")
