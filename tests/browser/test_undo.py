"""Undo brings back what was there, and what it cannot undo it says and keeps."""


import pytest
from selenium.webdriver.common.by import By

import browser
import daemon

DOOR = {"name": "door", "polygon": [[0.1, 0.4], [0.4, 0.4], [0.4, 0.8]], "erode": 0, "start": 0.5, "cooldown_s": 3}
PAD = {"name": "pad", "polygon": [[0.6, 0.4], [0.9, 0.4], [0.9, 0.8]]}
LIST = "return document.querySelector('#tab .list').textContent"
GAIN = '[data-key="cameras.front.views.edges.gain"] input[type=range]'
CAMERAS = [daemon.camera(views=[{"name": "plain", "view": "camera"}, {"name": "edges", "view": "edges"}],
                         width=320, height=240, regions=[DOOR], privacy=[PAD])]


@pytest.fixture
def page(server, driver):
    server.hang_up()   # what the last test has set
    driver.get(browser.page_link(server))
    browser.run(driver, browser.READER)
    browser.wait(driver, "edged.state.pictures.get('front/plain')?.drawnMs", explain="a picture")
    browser.run(driver, "location.hash = '#settings/front/plain'")
    browser.wait(driver, "document.querySelector('#tab .field')", explain="the settings")
    browser.run(driver, "document.getElementById('tab-picture').click()")
    return driver


def regions(page):
    return browser.run(page, "return (await (await fetch('/v1/config')).json()).cameras.front.regions")


def click(page, selector, text):
    # In one step, as the page draws its lists anew at any time.
    browser.run(page, "[...document.querySelectorAll(given[0])].find(each => each.textContent === given[1]).click()",
                selector, text)


def wait_said(page, words):
    browser.wait(page, f"document.querySelector('.actions p').textContent.includes('{words}')", explain=words)


@pytest.mark.parametrize("button", ["#tab .list button", ".actions button"])
def test_a_removed_region_comes_back_with_its_settings(page, button):
    browser.run(page, "document.getElementById('tab-shapes').click()")
    browser.run(page, browser.HOLD_UNDO)
    before = regions(page)
    browser.patiently(lambda: page.find_element(By.CSS_SELECTOR, "[aria-label='Remove door']").click())
    wait_said(page, "door is changed")
    assert "door" not in regions(page)
    assert "door is removed." in browser.run(page, LIST)
    click(page, button, "Undo")
    wait_said(page, "door is as before")
    assert regions(page) == before
    browser.wait(page, "document.querySelector(\"[aria-label='Remove door']\")", explain="the region in the list")
    assert "is removed" not in browser.run(page, LIST)


def test_a_change_that_was_made_is_not_called_refused_where_the_settings_after_it_do_not_come(page):
    browser.run(page, "location.hash = '#settings/front/edges'")
    browser.wait(page, f"document.querySelector('{GAIN}')", explain="the gain")
    browser.run(page, browser.MEDDLE + "failNext('GET v1/config$')")
    browser.run(page, f"""const slider = document.querySelector('{GAIN}'); slider.value = 2; slider.dispatchEvent(new Event("input"))""")
    wait_said(page, "gain is changed")


def test_an_undo_that_is_refused_stays_and_says_why(server, page):
    browser.run(page, "location.hash = '#settings/front/edges'")
    browser.wait(page, f"document.querySelector('{GAIN}')", explain="the gain")
    browser.run(page, f"""const slider = document.querySelector('{GAIN}'); slider.value = 3; slider.dispatchEvent(new Event("input"))""")
    wait_said(page, "gain is changed")
    front, = server.cameras
    server.reload([{**front, "views": front["views"][:1]}])
    click(page, ".actions button", "Undo")
    assert "edges" in browser.wait(page, "document.querySelector('.actions p.fault')?.textContent", explain="a refusal")
    server.reload([front])
    browser.wait(page, "document.querySelector('#views [data-path=\"front/edges\"]')", explain="the view again")
    click(page, ".actions button", "Undo")
    wait_said(page, "gain is as before")
