"""The place Recorded, and the page as a whole, while clips and cameras come and go."""

import datetime
import time

import pytest

import browser
import daemon
from fake_recorder import STRUCTS, Recorder
from ports import free_port
from test_http import write_users

S = 1_000_000_000
BEGIN_NS = time.time_ns() - 4800 * S
CARDS = "[...document.querySelectorAll('.card')].map(each => Number(each.dataset.id))"
DELETE = "[...document.querySelectorAll(`.card[data-id='${given[0]}'] button`)].find(each => each.textContent === 'Delete').click()"


def camera(name):
    return daemon.camera(name, views=[{"name": "plain", "view": "camera"}], width=320, height=240, fps=5)


@pytest.fixture
def recorder(tmp_path):
    """70 clips, a minute apart."""
    recorder = Recorder(tmp_path / "recorder")
    for number in range(1, 71):
        add_clip(recorder, number)
    yield recorder
    recorder.close()


@pytest.fixture
def server(tmp_path, recorder):
    write_users(tmp_path / "rtsp.users", otto="operator")
    one = daemon.Daemon(tmp_path, [camera("front"), camera("back")], EDGED_RECORDER=recorder.path, settings={"http": {"port": free_port()}})
    one.start()
    yield one
    one.kill()


def open_page(driver, server, place):
    driver.get("about:blank")
    driver.get(browser.page_link(server))
    browser.run(driver, browser.READER)
    browser.run(driver, "location.hash = given[0]", place)
    browser.wait(driver, "edged.state.status && edged.state.session.can_change", explain="the page")
    return driver


@pytest.fixture
def page(server, driver):
    open_page(driver, server, "#recorded")
    browser.wait(driver, f"{CARDS}[0] === 70", explain="the clips")
    return driver


def add_clip(recorder, number, **facts):
    recorder.add(number, b"no film", camera=b"front", view=b"plain", start_wall_ns=BEGIN_NS + 60 * number * S,
                 end_wall_ns=BEGIN_NS + (60 * number + 10) * S, **facts)


def end_clip(recorder, number):
    """As the recorder tells of it, once edged has asked it for something."""
    clip = STRUCTS["clip"].from_buffer_copy(recorder.clips.get(number) or recorder.clips[70])
    for clip.id, clip.is_open in ((number, 1), (number, 0)):
        daemon.wait_for(lambda: recorder.tell("RECORD_CLIP", clip), browser.PATIENCE_S)


def test_a_clip_that_somebody_else_deletes_goes_from_the_list(page, recorder):
    del recorder.clips[68]
    end_clip(recorder, 70)
    browser.wait(page, f"{CARDS}.slice(0, 3).join() === '70,69,67'", explain="the list without it")


def test_undo_stands_in_the_place_of_a_clip_also_in_a_list_that_was_filtered(page, recorder):
    browser.run(page, browser.HOLD_UNDO)
    browser.run(page, DELETE, 69)
    browser.run(page, "const [camera] = document.querySelectorAll('.head select'); camera.value = 'front'; camera.dispatchEvent(new Event('change'))")
    browser.wait(page, f"{CARDS}.includes(69) && {CARDS}[0] === 70", explain="the filtered list")
    assert browser.run(page, "return document.querySelector(`.card[data-id='69']`).textContent") == "Deleted.Undo"
    assert 69 in recorder.clips
    browser.run(page, "expire()")
    browser.wait(page, f"!{CARDS}.includes(69)", explain="the clip to go")
    assert 69 not in recorder.clips


def test_a_clip_is_deleted_at_once_when_its_user_logs_out(page, recorder):
    browser.run(page, browser.HOLD_UNDO + DELETE, 70)
    assert 70 in recorder.clips
    browser.run(page, "document.getElementById('logout').click()")
    daemon.wait_for(lambda: 70 not in recorder.clips, browser.PATIENCE_S)
    daemon.wait_for(lambda: page.execute_script("return document.getElementById('logout')?.hidden"), browser.PATIENCE_S)


def test_no_undo_is_offered_on_the_way_back_to_a_page_that_was_left(page, recorder):
    browser.run(page, browser.HOLD_UNDO + DELETE, 70)
    browser.run(page, "addEventListener('pageshow', ({persisted}) => { window.isOld = persisted; })")
    page.get(page.current_url.split("#")[0] + "v1/session")
    daemon.wait_for(lambda: 70 not in recorder.clips, browser.PATIENCE_S)
    page.back()
    assert browser.wait(page, "window.isOld", explain="the page as it was left")
    browser.wait(page, f"{CARDS}[0] === 69 && !document.querySelector('.gone')", explain="the clips that are left")


def test_a_page_of_clips_that_did_not_come_is_asked_for_again(page, recorder):
    recorder.is_open = False
    browser.run(page, "document.querySelector('#clips').scrollTo(0, 1e6); document.querySelector('.end').scrollIntoView()")
    browser.wait(page, "document.querySelector('#clips > .fault').textContent", explain="the fault")
    assert "No older" not in browser.run(page, "return document.querySelector('.end').textContent")
    recorder.is_open = True
    browser.wait(page, f"{CARDS}.at(-1) === 1 && !document.querySelector('#clips > .fault').textContent", explain="the oldest clip")


def test_clips_that_could_not_be_had_are_asked_for_again(page, recorder):
    recorder.is_open = False
    del recorder.clips[68]
    end_clip(recorder, 70)
    browser.wait(page, "document.querySelector('#clips > .fault').textContent", explain="the fault")
    recorder.is_open = True
    browser.wait(page, f"{CARDS}.slice(0, 3).join() === '70,69,67' && !document.querySelector('#clips > .fault').textContent",
                 explain="the list without the clip that is gone")


def test_clips_are_asked_for_again_that_alone_could_not_be_had(page, recorder):
    answer = recorder._record_list

    def refuse_once(payload):
        if STRUCTS["list"].from_buffer_copy(payload).count > 100:  # those of the events beside the picture
            return answer(payload)
        recorder._record_list = answer
        recorder._refuse("list", payload)

    recorder._record_list = refuse_once
    del recorder.clips[68]
    end_clip(recorder, 70)
    browser.wait(page, f"{CARDS}.slice(0, 3).join() === '70,69,67' && !document.querySelector('#clips > .fault').textContent",
                 explain="the list without the clip that is gone")


def test_a_list_that_comes_late_takes_no_newer_clip_away(page, recorder):
    browser.run(page, browser.MEDDLE + "keepNext('v1/clips.limit=60')")
    end_clip(recorder, 70)
    browser.wait(page, "window.letGo", explain="a question")
    add_clip(recorder, 71)
    end_clip(recorder, 71)
    browser.wait(page, f"{CARDS}[0] === 71", explain="the newer clip")
    browser.run(page, "letGo(); await new Promise(resolve => setTimeout(resolve, 1000))")
    assert browser.run(page, f"return {CARDS}[0]") == 71


def test_a_list_that_comes_late_does_not_say_that_a_clip_is_not_kept(page, recorder):
    browser.run(page, browser.MEDDLE + "keepNext('v1/clips.limit=60')")
    end_clip(recorder, 70)
    browser.wait(page, "window.letGo", explain="a question")
    kept = "[...document.querySelectorAll(`.card[data-id='69'] button`)].find(each => /^Kee?p/.test(each.textContent))"
    browser.run(page, f"{kept}.click()")
    browser.wait(page, f"{kept}.textContent === 'Kept'", explain="a clip that is kept")
    browser.run(page, "letGo(); await new Promise(resolve => setTimeout(resolve, 1000))")
    assert browser.run(page, f"return {kept}.textContent") == "Kept"


def test_a_card_that_had_the_focus_while_its_clip_was_kept_shows_it_later(page, recorder):
    browser.run(page, "document.querySelector(`.card[data-id='69'] .play`).focus()")
    recorder.clips[69].is_kept = 1
    asked = len(recorder.asked)
    end_clip(recorder, 70)
    daemon.wait_for(lambda: any(getattr(each, "count", 0) == 60 for each in recorder.asked[asked:]), browser.PATIENCE_S)
    browser.run(page, "await new Promise(resolve => setTimeout(resolve, 1000)); document.activeElement.blur()")
    browser.wait(page, "document.querySelector(`.card[data-id='69'] [aria-pressed=true]`)", explain="a clip that is kept")


def test_older_clips_that_did_not_come_are_asked_for_on_the_way_back(page, recorder):
    browser.run(page, browser.MEDDLE + "failNext('v1/clips.*before')")
    browser.run(page, "document.querySelector('#clips').scrollTo(0, 1e6); document.querySelector('.end').scrollIntoView()")
    browser.wait(page, "document.querySelector('#clips > .fault').textContent", explain="the fault")
    browser.run(page, "location.hash = '#front/plain'; await new Promise(resolve => setTimeout(resolve, 3000)); location.hash = '#recorded'")
    browser.wait(page, f"{CARDS}.at(-1) === 1 && !document.querySelector('#clips > .fault').textContent", explain="the oldest clip")


def test_the_days_that_have_clips_are_asked_for_again(server, recorder, driver):
    with browser.loads_with(driver, browser.MEDDLE + "failNext('v1/timeline.*steps=1$')"):
        open_page(driver, server, "#recorded")
    browser.wait(driver, "[...document.querySelectorAll('.head select')].at(-1)?.options.length > 1", explain="the days")


def test_the_clips_of_events_that_come_late_hide_no_newer_one(server, recorder, driver):
    open_page(driver, server, "#front/plain")
    browser.run(driver, browser.MEDDLE + "keepNext('v1/clips.limit=200')")
    end_clip(recorder, 70)
    browser.wait(driver, "window.letGo", explain="a question")
    add_clip(recorder, 71, is_open=1, is_triggered=1)
    end_clip(recorder, 70)
    browser.wait(driver, "document.getElementById('record').textContent === 'Stop recording'", explain="the clip that is recorded")
    browser.run(driver, "letGo(); await new Promise(resolve => setTimeout(resolve, 1000))")
    assert browser.run(driver, "return document.getElementById('record').textContent") == "Stop recording"


def test_the_clips_of_events_are_asked_for_again_from_a_recorder_that_nobody_wanted_before(server, recorder, driver):
    refuse = browser.MEDDLE + "for (let i = 0; i < 2; i++) { answerNext('v1/clips.limit=200', 503); }"
    with browser.loads_with(driver, refuse):
        open_page(driver, server, "#front/plain")
    daemon.wait_for(lambda: any(getattr(each, "count", 0) == 200 for each in recorder.asked), browser.PATIENCE_S)


def test_a_complaint_about_the_timeline_ends_with_its_cause(server, recorder, driver):
    open_page(driver, server, "#front/plain")
    browser.wait(driver, "edged.state.pictures.get('front/plain')?.drawnMs", explain="a picture")
    for status in (401, 500):
        browser.run(driver, browser.MEDDLE + "answerNext('v1/timeline', given[0])", status)
        browser.run(driver, "document.getElementById('fault').textContent = ''")
        end_clip(recorder, 70)
        if status == 500:
            browser.wait(driver, "document.getElementById('fault').textContent === 'status 500'", explain="the complaint")
            end_clip(recorder, 70)
            browser.wait(driver, "!document.getElementById('fault').textContent", explain="no complaint")
        else:
            browser.run(driver, "await new Promise(resolve => setTimeout(resolve, 2000))")
            assert not browser.run(driver, "return document.getElementById('fault').textContent")


def test_a_timeline_that_is_not_seen_is_asked_for_once_it_is(page, recorder):
    asked = "performance.getEntriesByType('resource').filter(({name}) => /timeline.*steps=\\d\\d/.test(name)).map(({name}) => name.split('steps=')[1])"
    browser.run(page, "location.hash = '#front/plain'")
    browser.wait(page, f"{asked}.length", explain="the timeline")
    browser.run(page, "location.hash = '#recorded'; await new Promise(resolve => setTimeout(resolve, 500))")
    end_clip(recorder, 70)
    browser.run(page, "await new Promise(resolve => setTimeout(resolve, 1500))")
    steps = browser.run(page, f"return {asked}")
    assert "100" not in steps and len(steps) >= 1, steps


@pytest.mark.skipif(browser.NAME != "chromium", reason="Chromium alone takes a time zone")
def test_days_are_those_of_the_clock_in_summer_and_in_winter(server, recorder, driver):
    for number, begin in ((1, "2026-01-10T23:30"), (2, "2026-07-10T22:30"), (3, "2026-07-12T22:30")):
        begin_ns = int(datetime.datetime.fromisoformat(begin + "+00:00").timestamp()) * S
        recorder.clips.pop(number)
        recorder.add(number, b"no film", camera=b"front", view=b"plain", start_wall_ns=begin_ns, end_wall_ns=begin_ns + 10 * S)
    driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "Europe/Berlin"})
    try:
        open_page(driver, server, "#recorded")
        days = browser.wait(driver, """(all => all.length > 3 && all)(
            [...[...document.querySelectorAll('.head select')].at(-1)?.options ?? []].map(each => each.value))""",
            explain="the days")
    finally:
        driver.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": ""})
    assert [day for day in days if day < "2026-07-14"] == ["", "2026-07-13", "2026-07-11", "2026-01-11"]


def test_many_clips_that_have_ended_are_asked_for_once(server, recorder, driver):
    open_page(driver, server, "#recorded")
    browser.wait(driver, f"{CARDS}[0] === 70", explain="the clips")
    for number in range(1, 71):
        end_clip(recorder, number)
    time.sleep(1)
    driver.get("about:blank")
    recorder.asked.clear()
    open_page(driver, server, "#front/plain")
    browser.wait(driver, "edged.state.pictures.get('front/plain')?.drawnMs", explain="a picture")

    def asked():
        return sum(getattr(each, "count", 0) == 200 for each in recorder.asked)

    daemon.wait_for(asked, browser.PATIENCE_S)
    time.sleep(2)
    assert asked() <= 10


@pytest.mark.parametrize("fails", ["", "v1/session", "v1/status"])
def test_clips_are_asked_for_once_somebody_has_logged_in(tmp_path, server, recorder, driver, fails):
    """Also if one of the page's first requests then fails, as with an edged that is not run for 3 s."""
    server.stop()
    server.settings["rtsp"] = {"users": str(tmp_path / "rtsp.users")}
    server.write_config(server.cameras)
    server.start()
    driver.get("about:blank")
    driver.get(server.status()["http"])
    browser.run(driver, browser.READER)
    browser.wait(driver, "document.getElementById('login').open", explain="the login")
    time.sleep(1)
    assert not driver.find_element("id", "fault").text
    recorder.asked.clear()
    browser.run(driver, """const real = window.fetch; let left = 1; window.fetch = (path, ...how) =>
        given[0] && String(path).includes(given[0]) && left-- > 0 ? Promise.reject(new TypeError("gone")) : real(path, ...how)""", fails)
    for name, text in (("user", "otto"), ("password", "pass\ue007")):
        driver.find_element("css selector", f"#login input[name={name}]").send_keys(text)
    browser.wait(driver, "edged.state.pictures.get('front/plain')?.drawnMs", explain="a picture")
    daemon.wait_for(lambda: any(getattr(each, "count", 0) == 200 for each in recorder.asked), browser.PATIENCE_S)


def test_on_a_phone_the_head_the_player_and_a_cards_buttons_stand_in_one_row_each(page):
    rows = """const tops = [...document.querySelectorAll(given[0])].filter(each => each.checkVisibility()).map(each => {
        const {top, bottom} = each.getBoundingClientRect(); return Math.round((top + bottom) / 2); });
        return [tops.length, new Set(tops).size]"""
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True})
    page.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    try:
        browser.wait(page, "innerWidth === 390 && matchMedia('(max-width: 60rem)').matches", explain="a phone")
        assert browser.run(page, rows, ".card[data-id='70'] .row > *") == [3, 1]
        browser.run(page, f"location.hash = '#front/plain@' + new Date({BEGIN_NS // 1000000 + 4201000}).toISOString()")
        browser.wait(page, "document.getElementById('player').checkVisibility()", explain="the player")
        assert browser.run(page, rows, "#player > *") == [6, 1]
        as_with_users = "document.getElementById('logout').hidden = false;"
        assert browser.run(page, as_with_users + rows, "nav a, #who button") == [6, 1]
    finally:
        page.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_a_clip_that_was_deleted_is_not_called_one_that_the_browser_cannot_play(page, recorder):
    link = browser.run(page, "return document.querySelector(`.card[data-id='70'] .play`).hash")
    del recorder.clips[70], recorder.files[70]
    browser.run(page, "location.hash = given[0]", link)
    browser.wait(page, "document.getElementById('gap').textContent.startsWith('Nothing is recorded')", explain="there is none")
    add_clip(recorder, 70)
    browser.run(page, browser.MEDDLE + "answerNext('v1/clips.*camera', 502)")   # as another server does that finds no edged
    browser.run(page, f"location.hash = '#front/plain@' + new Date({BEGIN_NS // 1000000 + 4201000}).toISOString()")
    browser.wait(page, "/cannot play/.test(document.getElementById('gap').textContent)", explain="a film that is none")
    recorder.files[70] = (b"", b"")
    held = recorder._record_find
    recorder._record_find = lambda payload: (recorder.clips.pop(70, None), held(payload))
    browser.run(page, "location.hash = '#front/plain'")
    browser.run(page, f"location.hash = '#front/plain@' + new Date({BEGIN_NS // 1000000 + 4202000}).toISOString()")
    browser.wait(page, "document.getElementById('gap').textContent === 'This clip has been deleted.'", explain="why")


def test_a_large_picture_goes_on_when_another_camera_goes(server, driver):
    open_page(driver, server, "#front/plain")
    browser.wait(driver, "edged.state.pictures.get('front/plain')?.drawnMs", explain="a picture")
    server.write_config(server.cameras[:1])
    server.hang_up()
    browser.wait(driver, "edged.state.status.cameras.length === 1", explain="one camera")
    # As long as it takes to call a link too slow.
    browser.wait(driver, f"edged.state.pictures.get('front/plain').drawnMs > {browser.run(driver, 'return performance.now()')} + 7000",
                 explain="pictures that go on")
    assert "too slow" not in driver.find_element("id", "way").text


def test_the_timeline_waits_for_an_answer_that_takes_long(server, recorder, driver):
    answer = recorder._record_timeline
    recorder._record_timeline = lambda payload: (time.sleep(2.5), answer(payload))
    open_page(driver, server, "#front/plain")
    browser.wait(driver, "document.getElementById('lanes').width > 200", explain="the timeline")
    blue = """(() => { const canvas = document.getElementById("lanes"), {data} = canvas.getContext("2d").getImageData(0, 22, canvas.width, 4);
        const tint = getComputedStyle(document.documentElement).getPropertyValue("--footage");
        const pen = new OffscreenCanvas(1, 1).getContext("2d"); pen.fillStyle = tint; pen.fillRect(0, 0, 1, 1);
        const [r, g, b] = pen.getImageData(0, 0, 1, 1).data;
        for (let i = 0; i < data.length; i += 4) { if (data[i] === r && data[i + 1] === g && data[i + 2] === b) { return true; } }
        return false; })()"""
    browser.wait(driver, blue, explain="footage")
