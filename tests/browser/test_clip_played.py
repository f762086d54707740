"""Clips in Chromium: found on the page as cards, played over the live picture, sought in, kept and deleted; and clips
that a power cut left."""

import errno
import os
import subprocess
import time

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

import browser
import daemon
import disk_log
import test_recorder_cuts as cuts
from recorder_front import FPS, Video
from fake_recorder import STRUCTS, Recorder
from ports import free_port
from test_in_browser import open_page

VIEWS = [{"name": "plain", "view": "camera"}, {"name": "edges", "view": "edges"}, {"name": "moves", "view": "motion"}]
S = 1_000_000_000
START, STOP = 0, 1  # enum record_action


@pytest.fixture
def recorder(tmp_path, filmed):
    recorder = Recorder(tmp_path / "recorder.sock")
    for number in (3, 4):
        begin = time.time_ns() - (9 - number) * 3600 * S
        recorder.add(number, *filmed, camera=b"front", view=b"plain", event=number,
                     regions=("door",), start_wall_ns=begin, end_wall_ns=begin + 60 * S)
    yield recorder
    recorder.close()


@pytest.fixture
def server(tmp_path, recorder):
    one = daemon.Daemon(tmp_path, [daemon.camera(views=VIEWS, width=640, height=360, record={"mode": "events"})],
                        settings={"http": {"port": free_port()}}, EDGED_RECORDER=recorder.path)
    one.start()
    yield one
    one.kill()


def open_recorded(driver, server):
    open_page(driver, server)
    browser.run(driver, "location.hash = '#recorded'")
    browser.wait(driver, "document.querySelectorAll('.card .play').length === 2", explain="two clips")


def card(number):
    return f"document.querySelector('.card[data-id=\"{number}\"]')"


def click(driver, number, text):
    browser.run(driver, f"[...{card(number)}.querySelectorAll('button, a')].find(each => each.textContent === given[0]).click()", text)


def test_a_clip_is_played_over_the_live_picture_and_kept(server, recorder):
    with browser.opened() as driver:
        open_recorded(driver, server)
        assert "front" in driver.find_element("css selector", ".card").text and "door" in driver.find_element("css selector", ".card").text
        saved = browser.run(driver, """const link = document.querySelector(".card a[download$='.mp4']");
            const reply = await fetch(link.href); return [reply.headers.get("Content-Type"), (await reply.blob()).size]""")
        assert saved == ["video/mp4", len(recorder.files[4][0])]
        click(driver, 4, "Keep")
        daemon.wait_for(lambda: recorder.clips[4].is_kept, browser.PATIENCE_S)
        browser.wait(driver, f"{card(4)}.querySelector('[aria-pressed=true]')?.textContent === 'Kept'", explain="kept")
        if picture := os.environ.get("EDGED_SCREENSHOT"):
            browser.screenshot(driver, picture)
        driver.find_element("css selector", ".card[data-id='3'] .play").click()
        browser.wait(driver, "document.querySelector('#film video')?.currentTime > 0.5", explain="it plays")
        assert browser.run(driver, "return location.hash").startswith("#front/plain@20")
        browser.run(driver, browser.NOTE_GAPS + "document.querySelector('#film video').currentTime = 50")
        browser.wait(driver, "document.querySelector('#film video').currentTime > 50.5", explain="it plays elsewhere")
        size = browser.run(driver, "const video = document.querySelector('#film video'); return [video.videoWidth, video.duration]")
        assert size == [640, pytest.approx(60, abs=0.1)]
        # Behind its end comes the next clip, an hour later, and the gap in between has a name.
        browser.wait(driver, "gaps.some(each => /^Nothing is recorded from .*: 59 minutes$/.test(each))", explain="the gap")
        browser.wait(driver, "document.querySelector('#film video').src.endsWith('/4.mp4') && document.querySelector('#film video').currentTime > 0",
                     explain="the next clip")
        browser.run(driver, "document.getElementById('last').click()")
        browser.wait(driver, "document.querySelector('#film video').src.endsWith('/3.mp4')", explain="the last event")
        driver.find_element("css selector", "#back").click()
        browser.wait(driver, "!document.querySelector('#film video') && location.hash === '#front/plain' && "
                             "document.getElementById('place').textContent === 'front/plain · live'", explain="it is live again")


def test_a_clip_that_could_not_be_read_for_a_moment_is_not_called_one_that_the_browser_cannot_play(server, recorder):
    answer = recorder._record_read

    def refuse_film_once(payload):
        question = STRUCTS["read"].from_buffer_copy(payload)
        if question.part:
            return answer(payload)
        recorder._record_read = answer
        recorder._send("RECORD_BYTES", STRUCTS["bytes"](question.request, -errno.EIO))

    recorder._record_read = refuse_film_once
    with browser.opened() as driver:
        open_recorded(driver, server)
        browser.run(driver, f"{card(3)}.querySelector('.play').click()")
        browser.wait(driver, "document.querySelector('#film video')?.currentTime > 0.5 && !document.getElementById('gap').textContent",
                     explain="it plays")


def test_a_deleted_clip_comes_back_with_undo_and_goes_without(server, recorder):
    with browser.opened() as driver:
        open_recorded(driver, server)
        browser.run(driver, browser.HOLD_UNDO)
        click(driver, 3, "Delete")
        click(driver, 3, "Undo")
        browser.wait(driver, f"{card(3)}.querySelector('.play') === document.activeElement", explain="the card, with the focus")
        assert sorted(recorder.clips) == [3, 4]
        click(driver, 3, "Delete")
        assert sorted(recorder.clips) == [3, 4]
        browser.run(driver, "expire()")
        browser.wait(driver, f"!{card(3)}", explain="no card")
        assert list(recorder.clips) == [4]
        click(driver, 4, "Delete")
        assert list(recorder.clips) == [4]
        driver.get("about:blank")   # who leaves the page does not undo it
        daemon.wait_for(lambda: not recorder.clips, browser.PATIENCE_S)


def test_the_list_of_clips_has_no_end(server, recorder):
    for number in range(10, 200):
        begin = time.time_ns() - (300 - number) * 60 * S
        recorder.add(number, b"x", camera=b"front", view=b"plain", event=number, start_wall_ns=begin, end_wall_ns=begin + 9 * S)
    with browser.opened() as driver:
        open_page(driver, server)
        browser.run(driver, "location.hash = '#recorded'")
        browser.wait(driver, "document.querySelectorAll('.card').length >= 60", explain="the newest clips")
        assert browser.run(driver, "return document.querySelectorAll('.card').length") < 192
        browser.wait(driver, """(main => {
            main.scrollTop = main.scrollHeight;
            return [...document.querySelectorAll(".card")].map(each => Number(each.dataset.id));
        })(document.getElementById("main")).length === 192 && document.querySelector(".end").textContent === "No older clips." """,
                     explain="all of them")
        numbers = browser.run(driver, "return [...document.querySelectorAll('.card')].map(each => Number(each.dataset.id))")
        assert numbers == sorted(numbers, reverse=True) and len(set(numbers)) == 192


@pytest.mark.parametrize("late", [0, 3])
def test_record_now_begins_a_clip_and_ends_it(server, recorder, filmed, late):
    """Also one that is there only after the events' clips were asked for so often."""
    actions, questions = [], [0]
    answer, trigger = recorder._record_list, recorder._record_trigger

    def begin_and_end(payload):
        actions.append(STRUCTS["trigger"].from_buffer_copy(payload).action)
        questions[0] = 0
        if actions[-1] == STOP:
            recorder.clips[9].is_open = 0
        trigger(payload)

    def list_clips(payload):
        questions[0] += STRUCTS["list"].from_buffer_copy(payload).count == 200
        if actions == [START] and questions[0] > late and 9 not in recorder.clips:
            now = time.time_ns()
            recorder.add(9, *filmed, camera=b"front", view=b"plain", is_open=1, is_triggered=1, start_wall_ns=now, end_wall_ns=now + S)
        answer(payload)

    recorder._record_trigger, recorder._record_list = begin_and_end, list_clips
    with browser.opened() as driver:
        open_page(driver, server)
        browser.wait(driver, "document.getElementById('record').checkVisibility()", explain="the button")
        browser.run(driver, "document.getElementById('record').click()")
        browser.wait(driver, "document.getElementById('record').textContent === 'Stop recording' && "
                             "document.getElementById('tools-said').textContent === 'Recording front.'", explain="it records")
        assert actions == [START]
        browser.run(driver, "document.getElementById('record').click()")
        browser.wait(driver, "document.getElementById('record').textContent === 'Record now' && "
                             "document.getElementById('tools-said').textContent === 'Recorded front.'", explain="it has ended")
        assert actions == [START, STOP]


def test_a_clip_that_grows_while_it_plays_is_played_on(server, recorder, filmed, tmp_path):
    film, short = tmp_path / "film.mp4", tmp_path / "short.mp4"
    film.write_bytes(filmed[0])
    subprocess.run(["ffmpeg", "-v", "error", "-i", film, "-t", "3", "-c", "copy", short], check=True)
    begin = time.time_ns() - 60 * S
    open_clip = {"camera": b"front", "view": b"plain", "is_open": 1, "start_wall_ns": begin, "end_wall_ns": begin + 3 * S}
    recorder.add(9, short.read_bytes(), filmed[1], **open_clip)
    with browser.opened() as driver:
        open_page(driver, server)
        browser.run(driver, "location.hash = `#front/plain@${new Date(given[0]).toISOString()}`", begin // 1_000_000 + 500)
        browser.wait(driver, "(video => video?.currentTime > 1 && (video.pause(), true))(document.querySelector('#film video'))", explain="it plays")
        recorder.add(9, *filmed, **open_clip)
        browser.run(driver, "await document.querySelector('#film video').play()")
        browser.wait(driver, "document.querySelector('#film video')?.currentTime > 4", explain="what came later")


def test_arrows_lead_from_card_to_card_and_filters_choose(server, recorder):
    recorder.add(1, b"x", camera=b"front", view=b"plain", event=9, regions=("gate",), start_wall_ns=1_700_000_000 * S, end_wall_ns=1_700_000_009 * S)
    with browser.opened() as driver:
        open_page(driver, server)
        browser.run(driver, "location.hash = '#recorded'")
        browser.wait(driver, "document.querySelectorAll('.card .play').length === 3", explain="three clips")
        focused = "document.activeElement.closest('.card')?.dataset.id"
        for key, number in ((Keys.ARROW_RIGHT, "4"), (Keys.ARROW_RIGHT, "3"), (Keys.ARROW_LEFT, "4")):
            ActionChains(driver).send_keys(key).perform()
            browser.wait(driver, f"{focused} === '{number}'", explain=f"clip {number}")
        days = sorted({time.strftime("%Y-%m-%d", time.localtime(clip.start_wall_ns / S)) for clip in recorder.clips.values()})
        assert browser.run(driver, "return document.querySelectorAll('.day').length") == len(days)
        browser.wait(driver, f"[...document.querySelectorAll('.head label:last-of-type option')].map(each => each.value).join() === "
                             f"'{','.join(['', *reversed(days)])}'", explain="the days that have clips")
        browser.run(driver, """const day = document.querySelector(".head label:last-of-type select"); day.value = given[0];
            day.dispatchEvent(new Event("change"))""", days[0])
        browser.wait(driver, "document.querySelectorAll('.card').length === 1 && document.querySelector('.card').dataset.id === '1'",
                     explain="the clips until that day")


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
    with browser.opened() as driver:
        open_page(driver, server)
        for number, frames in enumerate(clips.values(), 10):
            assert browser.run(driver, PLAY, number) == [pytest.approx(frames / FPS, abs=0.01), 0, 160]
