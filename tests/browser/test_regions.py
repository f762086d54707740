"""Regions and hidden parts, drawn on the picture: named, renamed, corners removed by touch, locked where the file hides."""


import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import browser
import daemon

SQUARE = [[0.1, 0.4], [0.4, 0.4], [0.4, 0.8], [0.1, 0.8]]
DOOR = {"name": "door", "polygon": SQUARE, "erode": 0, "start": 2.0, "cooldown_s": 3}
PAD = {"name": "pad", "polygon": [[0.6, 0.4], [0.9, 0.4], [0.9, 0.8]]}
CAMERAS = [daemon.camera(views=[{"name": "plain", "view": "camera"}], width=320, height=240, fps=5, regions=[DOOR], privacy=[PAD],
                         record={"mode": "off", "regions": ["door"]})]
START, END = (f'[data-key="cameras.front.regions.door.{key}"] input' for key in ("start", "end"))


@pytest.fixture
def page(server, driver):
    server.hang_up()   # what the last test has set
    driver.get(browser.page_link(server))
    browser.run(driver, browser.READER)
    browser.wait(driver, "edged.state.pictures.get('front/plain')?.drawnMs", explain="a picture")
    browser.run(driver, "location.hash = '#settings/front/plain'")
    browser.wait(driver, "document.getElementById('tab-shapes')", explain="the settings")
    browser.run(driver, "document.getElementById('tab-shapes').click()")
    browser.wait(driver, "document.getElementById('tab').textContent.includes('hidden, set in the file')", explain="what the file hides")
    return driver


def camera(page):
    return browser.run(page, "return (await (await fetch('/v1/config')).json()).cameras.front")


def press(page, text):
    browser.run(page, "[...document.querySelectorAll('#tab button, #names button')].find(each => each.textContent === given[0]).click()", text)


def write_name(page, name):
    def write():
        field = page.find_element(By.ID, "shape-name")
        field.send_keys(Keys.CONTROL + "a")
        field.send_keys(name + Keys.ENTER)

    browser.patiently(write)


def test_names_are_on_the_picture_and_what_the_file_hides_is_locked(page):
    assert browser.run(page, "return [...document.querySelectorAll('#names .name')].map(each => each.textContent)") == ["door", "pad"]
    assert browser.run(page, """const inside = (a, b) => a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom;
        const box = document.querySelector("#shapes polygon").getBoundingClientRect();
        return inside(document.querySelector("#names .name").getBoundingClientRect(), box)""")
    assert not page.find_elements(By.CSS_SELECTOR, "[aria-label='Remove pad']")
    press(page, "pad")
    assert browser.run(page, "return document.querySelectorAll('#shapes ellipse').length") == 0
    page.find_element(By.CSS_SELECTOR, "#shapes").click()
    assert camera(page)["privacy"] == {"pad": {"polygon": PAD["polygon"]}}
    press(page, "door")
    assert browser.run(page, "return document.querySelectorAll('#shapes ellipse').length") == 4


def test_where_settings_come_from_is_asked_for_again(server, driver):
    driver.get(browser.page_link(server))
    with browser.loads_with(driver, browser.MEDDLE + "failNext('v1/config/settings')"):
        driver.get("about:blank")
        driver.get(f"{server.status()['http']}/#settings/front/plain")
    browser.wait(driver, "document.getElementById('tab-shapes')", explain="the settings")
    browser.run(driver, "document.getElementById('tab-shapes').click()")
    browser.wait(driver, "document.getElementById('tab').textContent.includes('hidden, set in the file')", explain="what the file hides")


def test_a_region_gets_another_name_with_its_settings_and_undo_gives_it_back(page):
    before = camera(page)
    press(page, "door")
    write_name(page, "gate")
    browser.wait(page, "document.querySelector('#names .name').textContent === 'gate'", explain="the new name on the picture")
    now = camera(page)
    assert list(now["regions"]) == ["gate"] and now["regions"]["gate"] == before["regions"]["door"]
    assert now["record"]["regions"] == ["gate"]
    assert browser.run(page, "return document.getElementById('shape-name').value") == "gate"
    press(page, "Undo")
    browser.wait(page, "document.querySelector('#names .name').textContent === 'door'", explain="the old name")
    assert camera(page) == before


def test_a_name_that_is_taken_or_not_allowed_is_refused_with_the_reason(page):
    press(page, "New region")
    browser.wait(page, "document.querySelector(\"[aria-label='Remove region1']\") && document.getElementById('shape-name')", explain="a region")
    for name, reason in (("door", "There is a door already"), ("my gate", "allowed")):
        write_name(page, name)
        browser.wait(page, f"document.querySelector('.actions .fault')?.textContent.includes('{reason}')", explain=reason)
        browser.wait(page, "document.querySelector(\"[aria-label='Remove region1']\")", explain="the region")
        if not page.find_elements(By.ID, "shape-name"):
            press(page, "region1")
    assert set(camera(page)["regions"]) == {"door", "region1"}


def test_a_corner_is_removed_by_touch(page):
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True})
    page.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    try:
        press(page, "door")
        browser.wait(page, "innerWidth === 390 && (scrollTo(0, 0), true)", explain="a phone")
        left, top, width, height = browser.still_box(page, "[data-corner='2']")
        x, y = left + width / 2, top + height / 2
        for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
            page.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        browser.wait(page, "document.querySelector('#names .cut')", explain="the offer beside the corner")
        browser.patiently(lambda: page.find_element(By.CSS_SELECTOR, "#names .cut").click())
        daemon.wait_for(lambda: camera(page)["regions"]["door"]["polygon"] == [SQUARE[0], SQUARE[1], SQUARE[3]], browser.PATIENCE_S)
    finally:
        page.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_the_end_of_an_event_follows_its_start_until_it_is_set(page):
    press(page, "door")
    assert browser.run(page, f"return document.querySelector('{END}').value") == "1"
    browser.run(page, f"const start = document.querySelector('{START}'); start.value = 3; start.dispatchEvent(new Event('input'))")
    browser.wait(page, f"document.querySelector('{END}').value === '1.5'", explain="half of it")
    assert camera(page)["regions"]["door"]["end"] == 1.5
