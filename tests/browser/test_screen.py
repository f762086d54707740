"""The picture as a person wants it: zoomed, on the whole screen, in an own small window, on a phone."""

import pytest
from selenium.webdriver.common.action_chains import ActionChains

import browser
import daemon

CAMERAS = [daemon.camera(name, views=[{"name": "plain", "view": "camera"}, {"name": "edges", "view": "edges"}], width=320, height=180, fps=5)
           for name in ("front", "back")]
SCALE = "new DOMMatrix(getComputedStyle(document.getElementById('pane')).transform).a"
COVERS = """(({left, top, right, bottom}) => left <= 0 && top <= 0 && right >= innerWidth - 1 && bottom >= innerHeight - 1)(
    document.querySelector(given ?? "#screen").getBoundingClientRect())"""


def resize(driver, width, height):
    is_phone = min(width, height) < 500
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone})
    driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": is_phone, "maxTouchPoints": 2})


@pytest.fixture
def page(server, driver):
    driver.get("about:blank")
    resize(driver, 1440, 900)
    driver.get(f"{server.status()['http']}/#front/plain")
    browser.run(driver, browser.READER)
    browser.wait(driver, "edged.state.pictures.get('front/plain')?.drawnMs", explain="a picture")
    yield driver
    driver.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
    driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def center(driver):
    left, top, width, height = browser.still_box(driver, "#screen")
    return left + width / 2, top + height / 2, width


def test_the_wheel_zooms_where_the_pointer_is_and_a_double_click_goes_back(page):
    x, y, width = center(page)
    for _ in range(5):
        page.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseWheel", "x": x + width / 4, "y": y, "deltaX": 0, "deltaY": -100})
    # The point under the pointer stays, and no edge comes into the picture.
    scale, pane = browser.wait(page, f"{SCALE} > 3 && [{SCALE}, document.getElementById('pane').getBoundingClientRect().left]",
                               explain="a zoomed picture")
    assert pane + 0.75 * width * scale == pytest.approx(x + width / 4, abs=2)
    for kind, at in (("mousePressed", x), ("mouseMoved", x + 100), ("mouseMoved", x + 9000), ("mouseReleased", x + 9000)):
        page.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": at, "y": y, "button": "left", "buttons": 1, "clickCount": 1})
    browser.wait(page, """(([pane, screen]) => Math.abs(pane.left - screen.left) < 2)(
        ["pane", "screen"].map(id => document.getElementById(id).getBoundingClientRect()))""", explain="its left end")
    browser.double_click(page, "#screen")
    browser.wait(page, f"{SCALE} === 1", explain="the whole picture")
    browser.double_click(page, "#screen")
    browser.wait(page, "document.body.matches('.wall')", explain="all cameras")


def test_keys_zoom(page):
    ActionChains(page).send_keys("+++").perform()
    browser.wait(page, f"Math.abs({SCALE} - 1.4 ** 3) < 0.01", explain="a zoomed picture")
    ActionChains(page).send_keys("0").perform()
    browser.wait(page, f"{SCALE} === 1", explain="the whole picture")


def test_full_screen_shows_pictures_alone_also_where_the_browser_has_none(page):
    browser.run(page, "document.documentElement.requestFullscreen = undefined; document.getElementById('full').click()")
    assert browser.run(page, f"const given = null; return {COVERS}")
    browser.run(page, "location.hash = ''")
    browser.wait(page, "document.body.matches('.full.wall') && document.querySelector('.tile canvas').width > 16", explain="all cameras")
    assert browser.run(page, "return ['header', '#timeline'].every(each => getComputedStyle(document.querySelector(each)).display === 'none')")
    browser.run(page, "document.getElementById('leave').click()")
    assert browser.run(page, "return !document.body.matches('.full') && getComputedStyle(document.querySelector('header')).display") == "flex"


def test_a_phone_shows_picture_timeline_and_events_first_and_on_its_side_the_picture_alone(page):
    resize(page, 390, 844)
    browser.wait(page, "innerWidth === 390 && matchMedia('(max-width: 60rem) and (pointer: coarse)').matches", explain="a phone")
    order = browser.run(page, """return ["#screen", "#timeline", "#tools", "#events", "#actions"].map(
        each => document.querySelector(each).getBoundingClientRect().top)""")
    assert order == sorted(order)
    assert browser.run(page, "return document.documentElement.scrollWidth") <= 390
    assert browser.run(page, """return [...document.querySelectorAll("button, select, nav a")].filter(each => each.checkVisibility())
        .map(each => [each.id || each.textContent, each.getBoundingClientRect().height]).filter(([, height]) => height < 30)""") == []
    for place in ("#", "#recorded"):
        browser.run(page, f"location.hash = '{place}'")
        browser.still_box(page, {"#": ".tile", "#recorded": "#clips .head"}[place])
        assert browser.run(page, "return document.documentElement.scrollWidth") <= 390, place
    browser.run(page, "location.hash = '#front/plain'")
    resize(page, 844, 390)
    browser.wait(page, "document.body.matches('.full')", explain="the picture alone")
    assert browser.run(page, f"const given = null; return {COVERS}")
    browser.run(page, "location.hash = ''")
    browser.wait(page, """document.body.matches('.full.wall') && !document.getElementById("stage").checkVisibility() && [...document.querySelectorAll(".tile")].every(tile => {
        const {top, bottom, right} = tile.getBoundingClientRect(); return top >= 0 && bottom <= innerHeight && right <= innerWidth; })""",
                 explain="both cameras on one screen")


def test_a_tap_enlarges_and_two_fingers_zoom(page):
    resize(page, 390, 844)
    browser.run(page, "location.hash = ''")
    left, top, width, height = browser.still_box(page, ".tile[data-camera=back]")
    x, y = left + width / 2, top + height / 2

    def touch(kind, *points):
        page.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(points)]})

    touch("touchStart", (x, y))
    touch("touchEnd")
    browser.wait(page, "location.hash === '#back/plain'", explain="the large picture")
    x, y, _ = center(page)
    touch("touchStart", (x - 40, y), (x + 40, y))
    touch("touchMove", (x - 80, y), (x + 80, y))
    touch("touchMove", (x - 120, y), (x + 120, y))
    touch("touchEnd")
    browser.wait(page, f"Math.abs({SCALE} - 3) < 0.1", explain="a zoomed picture")
