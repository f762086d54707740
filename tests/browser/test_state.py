"""What the page shows is what edged has: settings that others change, motion that was missed, a restart."""

import json
import subprocess
import time

import pytest

import browser
import daemon

REGION = {"name": "door", "polygon": [[0.1, 0.4], [0.4, 0.4], [0.4, 0.8]], "erode": 0, "start": 0.5, "cooldown_s": 0.2}
BITRATE = '[data-key="cameras.front.views.plain.bitrate_kbps"]'
CAMERAS = [daemon.camera(views=[{"name": "plain", "view": "camera"}], width=320, height=240, regions=[REGION])]


@pytest.fixture
def page(server, driver):
    """The page with the rights to change something."""
    driver.get(browser.page_link(server))
    browser.run(driver, browser.READER)
    browser.wait(driver, "edged.state.pictures.get('front/plain')?.drawnMs", explain="a picture")
    browser.run(driver, "location.hash = '#settings/front/plain'")
    browser.wait(driver, "document.querySelector('#tab .field')", explain="the settings")
    return driver


def edgectl_set(server, *settings):
    subprocess.run([daemon.EDGECTL, "set", "--socket", server.socket, *settings], check=True, capture_output=True)


def show(driver, tab):
    browser.run(driver, f"document.getElementById('tab-{tab}').click()")


@pytest.mark.parametrize("way", ["webcodecs", "mse"])
def test_a_form_shows_what_others_set(server, page, way):
    page.get(f"{server.status()['http']}/?way={way}#settings/front/plain")
    browser.run(page, browser.READER)
    browser.wait(page, f"document.querySelector('{BITRATE} input')", explain="the form")
    other = 1234 if way == "mse" else 2345
    edgectl_set(server, f"cameras.front.views.plain.bitrate_kbps={other}")
    browser.wait(page, f"document.querySelector('{BITRATE} input').value === '{other}'", explain="the other bit rate")


def test_what_is_typed_stays_while_others_set(server, page):
    show(page, "camera")
    browser.run(page, """const field = document.querySelector('[data-key="cameras.front.width"] input'); field.focus(); field.value = 77""")
    edgectl_set(server, "cameras.front.views.plain.bitrate_kbps=1500")
    browser.run(page, "await new Promise(resolve => setTimeout(resolve, 1500))")
    assert browser.run(page, """return document.querySelector('[data-key="cameras.front.width"] input').value""") == "77"
    browser.run(page, "document.activeElement.value = document.activeElement.defaultValue; document.activeElement.blur()")
    browser.wait(page, "edged.state.config.cameras.front.views.plain.bitrate_kbps === 1500", explain="the other bit rate")


def value(page):
    return browser.run(page, f"return document.querySelector('{BITRATE} input')?.value")


@pytest.mark.parametrize("number, fails", enumerate(["v1/session", "v1/config$", "v1/status"]))
def test_settings_that_could_not_be_had_are_asked_for_again(server, page, number, fails):
    browser.run(page, browser.MEDDLE + "failNext(given[0])", fails)
    edgectl_set(server, f"cameras.front.views.plain.bitrate_kbps={1600 + number}")
    browser.wait(page, f"document.querySelector('{BITRATE} input')?.value === '{1600 + number}'", explain="the other bit rate")


def test_settings_that_come_late_do_not_take_the_place_of_newer_ones(server, page):
    browser.run(page, browser.MEDDLE + "keepNext('v1/config$')")
    edgectl_set(server, "cameras.front.views.plain.bitrate_kbps=1700")
    browser.wait(page, "window.letGo", explain="a question")
    edgectl_set(server, "cameras.front.views.plain.bitrate_kbps=1800")
    browser.wait(page, f"document.querySelector('{BITRATE} input').value === '1800'", explain="the newer bit rate")
    browser.run(page, "letGo(); await new Promise(resolve => setTimeout(resolve, 1000))")
    assert value(page) == "1800"


def test_what_is_typed_while_settings_are_asked_for_stays(server, page):
    show(page, "camera")
    browser.run(page, browser.MEDDLE + "keepNext('v1/config$')")
    edgectl_set(server, "cameras.front.views.plain.bitrate_kbps=1900")
    browser.wait(page, "window.letGo", explain="a question")
    typed = browser.run(page, """const field = document.querySelector('[data-key="cameras.front.width"] input'); field.focus(); field.value = 77;
        letGo(); await new Promise(resolve => setTimeout(resolve, 1000));
        return document.querySelector('[data-key="cameras.front.width"] input').value""")
    browser.run(page, "document.activeElement.value = document.activeElement.defaultValue; document.activeElement.blur()")
    assert typed == "77"


def test_the_one_switch_of_motion_events_shows_what_others_set(server, page):
    show(page, "camera")
    assert browser.run(page, """return document.querySelectorAll('[data-key$=".armed"]').length""") == 0
    for armed in (False, True):
        edgectl_set(server, f"cameras.front.armed={json.dumps(armed)}")
        browser.wait(page, f"document.getElementById('armed').checked === {json.dumps(armed)}", explain="the switch")


def test_a_view_of_a_reloaded_file_gets_a_chip(server, page):
    front, = server.cameras
    server.reload([{**front, "views": [*front["views"], {"name": "fresh", "view": "gray", "governor": "off"}]}])
    browser.wait(page, "document.querySelector('#views [data-path=\"front/fresh\"]')", explain="the chip of the new view")
    server.reload([front])
    browser.wait(page, "!document.querySelector('#views [data-path=\"front/fresh\"]')", explain="no chip of it")


def motion(server):
    """How many events have begun."""
    return daemon.wait_for(lambda: server.camera()["regions"])[0]["events"]


def move_again(server):
    """A camera process that gets two settings at once takes the second alone, and the event goes on."""
    begun = motion(server)

    def look():
        for armed in ("false", "true"):
            edgectl_set(server, f"cameras.front.armed={armed}")
            time.sleep(0.5)
        return motion(server) > begun

    daemon.wait_for(look)


def test_events_before_the_page_and_while_it_was_hidden_are_listed(server, page):
    daemon.wait_for(lambda: motion(server) >= 1)
    browser.wait(page, "edged.state.events.length >= 1", explain="the events before")
    first = page.current_window_handle
    page.switch_to.new_window("tab")
    for _ in range(3):
        move_again(server)
    all_events = motion(server)
    edgectl_set(server, "cameras.front.armed=false")
    page.close()
    page.switch_to.window(first)
    browser.wait(page, f"edged.state.events.length >= {all_events} && edged.state.events.every(each => each.endedMs) &&"
                       f"document.querySelectorAll('#events li').length >= {all_events} && !document.querySelector('#events .moves')",
                 explain="all events, and each one's end")
    edgectl_set(server, "cameras.front.armed=true")


def test_motion_under_way_when_edged_is_killed_ends(server, page):
    browser.wait(page, "edged.state.events[0] && !edged.state.events[0].endedMs", explain="motion")
    server.reload([{**server.cameras[0], "armed": False}])
    edgectl_set(server, "cameras.front.armed=true")
    browser.wait(page, "edged.state.events[0] && !edged.state.events[0].endedMs", explain="motion")
    server.process.kill()
    server.process.wait()
    server.start()
    assert not server.camera().get("armed")
    browser.wait(page, "edged.state.events.every(each => each.endedMs)", explain="its end")


def test_rights_that_a_restart_has_ended_are_not_shown(server, page):
    assert browser.run(page, f"return document.querySelector('{BITRATE} input').disabled") is False
    server.stop()
    server.start()
    browser.wait(page, "document.getElementById('user').textContent === 'may watch' && !document.querySelector('#tab .field') &&"
                       "document.getElementById('to-settings').hidden",
                 explain="the rights of who only watches")
