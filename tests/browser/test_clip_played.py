"""A clip in Chromium: found on the page, played over the live picture, sought in, kept and deleted; and clips
that a power cut left."""

import os
import subprocess
import time

import pytest

import browser
import daemon
import disk_log
import test_recorder_cuts as cuts
from recorder_front import FPS, Video
from fake_recorder import Recorder
from ports import free_port
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
                        settings={"http": {"port": free_port()}}, EDGED_RECORDER=recorder.path)
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
        saved = browser.run(driver, """const link = document.querySelector("#tab .list a[download$='.mp4']");
            const reply = await fetch(link.href); return [reply.headers.get("Content-Type"), (await reply.blob()).size]""")
        assert saved == ["video/mp4", len(recorder.files[4][0])]
        if picture := os.environ.get("EDGED_SCREENSHOT"):
            browser.screenshot(driver, picture)
        browser.run(driver, "document.querySelector('#tab .list input').click()")
        daemon.wait_for(lambda: recorder.clips[4].is_kept, browser.PATIENCE_S)
        browser.run(driver, "window.confirm = () => true; [...document.querySelectorAll('#tab .list button')].at(-1).click()")
        browser.wait(driver, "document.querySelectorAll('#tab .list li').length === 1", explain="one is deleted")
        assert list(recorder.clips) == [4]
        browser.run(driver, "document.querySelector('#playing button').click()")
        assert browser.run(driver, "return document.querySelector('#playing')") is None


PLAY = """
const video = document.createElement("video");
video.muted = true;
video.playbackRate = 8;
video.src = `/v1/clips/${given[0]}.mp4`;
document.body.append(video);
await new Promise((resolve, reject) => {
  video.onended = resolve;
  video.onerror = () => reject(new Error(video.error.message));
  video.play().catch(reject);
});
video.remove();
return [video.duration, video.getVideoPlaybackQuality().corruptedVideoFrames, video.videoWidth];
"""


def clips_after_power_cuts(folder, count):
    """The bytes of as many clips that the recorder made whole, each after another power cut, and their pictures."""
    video = Video(folder, 1000, size="160x120", bitrate="200k")
    video.known = {}
    cuts.film(folder / "clips", video, cuts.with_disk(log=folder / "log")).end()
    log = disk_log.read(folder / "log")
    disk, found = disk_log.Disk(folder), {}
    for number, operation in enumerate(log):
        disk.do(operation)
        if number < len(log) * (len(found) + 1) // (count + 2):
            continue
        cut = folder / f"cut-{number}"
        disk.cut(cut, number)
        grown = {cuts.place(path) for path in cut.rglob("*.mp4.part")}
        cuts.check_folder(cut / "clips", video)
        for path in sorted(cut.rglob("*.mp4")):
            if cuts.place(path) in grown and len(found) < count:
                found[path.read_bytes()] = len(video.frames_in(path))
    return found


def test_clips_that_a_power_cut_left_play_to_their_end(server, recorder, tmp_path):
    clips = clips_after_power_cuts(tmp_path, 10)
    assert len(clips) == 10
    for number, content in enumerate(clips, 10):
        recorder.add(number, content, camera=b"front", view=b"plain", event=number, start_wall_ns=number * S,
                     end_wall_ns=(number + 1) * S)
    with browser.chromium() as driver:
        open_page(driver, server)
        for number, frames in enumerate(clips.values(), 10):
            assert browser.run(driver, PLAY, number) == [pytest.approx(frames / FPS, abs=0.01), 0, 160]
