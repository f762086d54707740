"""A clip in Chromium: found on the page, played over the live picture, sought in, kept and deleted."""

import os
import subprocess
import time

import pytest

import browser
import daemon
from fake_recorder import Recorder
from test_in_browser import open_page

VIEWS = [{"name": "plain", "view": "camera"}, {"name": "edges", "view": "edges"}, {"name": "moves", "view": "motion"}]
S = 1_000_000_000


@pytest.fixture
def recorder(tmp_path):
    recorder = Recorder(tmp_path / "recorder.sock")
    video, picture = tmp_path / "clip.mp4", tmp_path / "clip.jpg"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=640x360:rate=30", "-t", "60", "-g", "30",
                    "-pix_fmt", "yuv420p", "-c:v", "libx264", "-b:v", "2M", video], check=True)
    subprocess.run(["ffmpeg", "-v", "error", "-i", video, "-frames:v", "1", picture], check=True)
    for number in (3, 4):
        begin = time.time_ns() - (9 - number) * 3600 * S
        recorder.add(number, video.read_bytes(), picture.read_bytes(), camera=b"front", view=b"plain", event=number,
                     regions=("door",), start_wall_ns=begin, end_wall_ns=begin + 60 * S)
    yield recorder
    recorder.close()


@pytest.fixture
def server(tmp_path, recorder):
    one = daemon.Daemon(tmp_path, [daemon.camera(views=VIEWS, width=640, height=360)],
                        settings={"http": {"port": browser.free_port()}}, EDGED_RECORDER=recorder.path)
    one.start()
    yield one
    one.kill()


def test_a_clip_is_played_over_the_live_picture_and_kept(server, recorder):
    with browser.chromium() as driver:
        open_page(driver, server)
        browser.run(driver, "edged.showTab('clips')")
        browser.wait(driver, "document.querySelectorAll('#tab .list li').length === 2", explain="two clips")
        assert browser.run(driver, "return document.querySelectorAll('#tab .lane rect.button').length") == 2
        driver.find_element("css selector", "#tab .lane rect.button").click()
        browser.wait(driver, "document.querySelector('#playing video')?.currentTime > 0.5", explain="it plays")
        browser.run(driver, "document.querySelector('#playing video').currentTime = 50")
        browser.wait(driver, "document.querySelector('#playing video').currentTime > 50.5", explain="it plays elsewhere")
        size = browser.run(driver, "const video = document.querySelector('#playing video'); return [video.videoWidth, video.duration]")
        assert size == [640, pytest.approx(60, abs=0.1)]
        if picture := os.environ.get("EDGED_SCREENSHOT"):
            browser.screenshot(driver, picture)
        browser.run(driver, "document.querySelector('#tab .list input').click()")
        daemon.wait_for(lambda: recorder.clips[4].is_kept, browser.PATIENCE_S)
        browser.run(driver, "window.confirm = () => true; [...document.querySelectorAll('#tab .list button')].at(-1).click()")
        browser.wait(driver, "document.querySelectorAll('#tab .list li').length === 1", explain="one is deleted")
        assert list(recorder.clips) == [4]
        browser.run(driver, "document.querySelector('#playing button').click()")
        assert browser.run(driver, "return document.querySelector('#playing')") is None
