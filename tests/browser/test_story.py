"""What a person does with the page, with real mouse and keyboard: logs in, turns a slider, draws a region and a part to hide,
sees the motion, keeps it all, and finds it after a restart; once from another address without TLS."""

import contextlib
import itertools
import os
import subprocess
import threading

import numpy as np
import pytest
from selenium.common.exceptions import NoSuchElementException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

import browser
import daemon
import ffmpeg
import http_video
import pattern
from elsewhere import THERE, network
from ports import free_port
from test_http import write_users

SIZE = (640, 360)
VIEWS = [{"name": "plain", "view": "camera"}, {"name": "edges", "view": "edges", "gain": 0.2}, {"name": "moves", "view": "motion"}]
EDGES = ("cameras", "front", "views", "edges")
# Corners as shares of the picture, away from what is written on it.
REGION = [(0.1, 0.4), (0.4, 0.4), (0.4, 0.8), (0.1, 0.8)]
HIDDEN = [(0.6, 0.4), (0.9, 0.4), (0.9, 0.8), (0.6, 0.8)]
# How bright a part of the large picture is, 0 to 255: its shares from the left and top to the right and bottom.
BRIGHTNESS = """
const {width, height} = document.getElementById("large");
const [left, top, right, bottom] = given.map((share, i) => Math.round(share * (i % 2 ? height : width)));
const copy = new OffscreenCanvas(width, height).getContext("2d");
copy.drawImage(document.getElementById("large"), 0, 0);
const {data} = copy.getImageData(left, top, right - left, bottom - top);
return data.reduce((sum, value, i) => sum + (i % 4 === 1 ? value : 0), 0) / (data.length / 4);
"""


class Reader(contextlib.AbstractContextManager):
    """Reads a view while a person does things; which frames came is told at the end."""

    def __init__(self, server, path):
        self.server, self.units = server, []
        self.dropped_before = server.dropped()
        self.video = http_video.Video(server, f"/v1/video?view={path}")
        self.units += self.video.units(1)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        while not self.over.is_set():
            self.units += self.video.units(1)

    def __exit__(self, *_):
        self.over.set()
        self.thread.join(browser.PATIENCE_S)
        self.video.close()

    def assert_no_frame_lost(self):
        """But for those that edged says a busy machine cost."""
        raw = subprocess.run(
            ["ffmpeg", "-nostdin", "-v", "error", "-f", "h264", "-i", "-", "-vsync", "passthrough", "-f", "rawvideo",
             "-pix_fmt", "yuv420p", "-"], input=b"".join(unit.payload for unit in self.units), capture_output=True, check=True)
        assert not ffmpeg.complaints(raw.stderr), raw.stderr
        pictures = np.frombuffer(raw.stdout, np.uint8).reshape(-1, SIZE[1] * 3 // 2, SIZE[0])
        assert len(pictures) == len(self.units)
        numbers = [pattern.read_number(picture[: SIZE[1]], "edges") for picture in pictures]
        # A camera process that is not run for 0.7 s costs slates, behind which pictures go on with a key frame.
        runs = [[(number, 0) for _, number in run] for is_slate, run in itertools.groupby(
            zip(self.units, numbers), lambda pair: bool(pair[0].flags & http_video.SLATE)) if not is_slate]
        missing, unread = map(sum, zip(*map(pattern.holes, runs)))
        assert unread == 0, numbers
        daemon.wait_for(lambda: missing <= self.server.dropped() - self.dropped_before, browser.PATIENCE_S, lambda: str(numbers))


@pytest.fixture
def server(tmp_path):
    write_users(tmp_path / "rtsp.users", otto="operator")
    one = daemon.Daemon(tmp_path, [daemon.camera(views=VIEWS, width=SIZE[0], height=SIZE[1])], STATE_DIRECTORY=tmp_path,
                        settings={"http": {"port": free_port()}, "rtsp": {"users": str(tmp_path / "rtsp.users")}})
    one.start()
    yield one
    one.kill()


def find(driver, selector):
    return driver.find_element(By.CSS_SELECTOR, selector)


def click(driver, selector, text=""):
    """The element of that selector that begins with that text."""
    def do():
        found = [each for each in driver.find_elements(By.CSS_SELECTOR, selector) if each.text.startswith(text)]
        if not found:
            raise NoSuchElementException(f"{selector} {text}")
        found[0].click()

    browser.patiently(do)


def wait_picture(driver):
    browser.wait(driver, f"""(each => each?.size[0] === {SIZE[0]} && !each.slate && each.drawnMs)(
        edged.state.pictures.get(edged.state.chosen))""", explain="a picture")


def log_in(driver, password):
    for name, text in (("user", "otto"), ("password", password)):
        field = find(driver, f"#login input[name={name}]")
        field.clear()
        field.send_keys(text)
    find(driver, "#login input[name=password]").send_keys(Keys.ENTER)


def brightness(driver, left=0, top=0, right=1, bottom=1):
    return browser.run(driver, BRIGHTNESS, left, top, right, bottom)


def drag_slider(driver, key):
    """From where it is to its right end, as a mouse does."""
    def drag():
        slider = find(driver, f'[data-key="{".".join(key)}"] input[type=range]')
        slider.click()
        ActionChains(driver).click_and_hold(slider).move_by_offset(slider.size["width"] // 4, 0).move_by_offset(
            slider.size["width"] // 4 - 2, 0).release().perform()

    browser.patiently(drag)


def draw(driver, button, corners):
    """Clicks the corners of a shape on the picture, one after the other."""
    click(driver, "#tab button", button)
    shapes = find(driver, "#shapes")
    width, height = shapes.size["width"], shapes.size["height"]
    for x, y in corners:
        ActionChains(driver).move_to_element_with_offset(shapes, (x - 0.5) * width, (y - 0.5) * height).click().perform()


def make_least(driver, key):
    browser.patiently(lambda: find(driver, f'[data-key="{key}"] input').send_keys(Keys.HOME))


def wait_set(driver, *path):
    """Waits until edged has a setting, and returns it."""
    keys = "".join(f"?.[{key!r}]" for key in path)
    return browser.wait(driver, f"(await (await fetch('/v1/config')).json()){keys}")


def inside(corners, inset=0.03):
    (left, top), (right, bottom) = corners[0], corners[2]
    return left + inset, top + inset, right - inset, bottom - inset


def wait_motion(driver):
    click(driver, "nav a", "Live")
    browser.wait(driver, """document.querySelector("#events li")?.textContent.includes("region1")""", explain="the event")


def test_a_person_logs_in_tunes_draws_keeps_and_finds_it_after_a_restart(server):
    with browser.opened() as driver:
        driver.get(server.status()["http"])
        browser.run(driver, browser.READER)
        browser.wait(driver, "document.getElementById('login').open", explain="the login")
        log_in(driver, "wrong")
        browser.wait(driver, "document.getElementById('login-fault').textContent", explain="a refusal")
        assert browser.run(driver, "return edged.state.session.role") is None
        log_in(driver, "pass")
        wait_picture(driver)
        click(driver, "nav a", "Settings")
        click(driver, '#views [data-path="front/edges"]')
        wait_picture(driver)
        before = brightness(driver)
        with Reader(server, "front/edges") as reader:
            drag_slider(driver, (*EDGES, "gain"))
            browser.wait(driver, f"(given => {{ {BRIGHTNESS} }})([0, 0, 1, 1]) > 2 * {before}", explain="a brighter picture")
        reader.assert_no_frame_lost()

        click(driver, '#views [data-path="front/plain"]')
        wait_picture(driver)
        click(driver, "[role=tab]", "Regions")
        draw(driver, "New region", REGION)
        assert len(wait_set(driver, "cameras", "front", "regions", "region1", "polygon", "3")) == 2
        make_least(driver, "cameras.front.regions.region1.erode")
        browser.wait(driver, """(meter => meter?.value > 0 && meter.high === 1 && / of 1 %$/.test(meter.nextSibling.textContent))(
            document.querySelector("#tab .list meter"))""", explain="how much moves beside what begins an event")
        shown = brightness(driver, *inside(HIDDEN))
        draw(driver, "Hide a part", HIDDEN)
        browser.wait(driver, f"(given => {{ {BRIGHTNESS} }})({list(inside(HIDDEN))}) < 2", explain="a black part")
        assert shown > 30 and brightness(driver, *inside(REGION)) > 30
        if picture := os.environ.get("EDGED_SCREENSHOT"):
            browser.screenshot(driver, picture)
        click(driver, "#tab button", "Keep")
        browser.wait(driver, "document.getElementById('tab').textContent.includes('Kept')", explain="kept")
        wait_motion(driver)

        kept = browser.run(driver, "return (await (await fetch('/v1/config')).json()).cameras.front")
        server.stop()
        server.start()
        browser.wait(driver, "document.getElementById('login').open", explain="the login after the restart")
        browser.run(driver, "edged.state.events.length = 0; edged.state.pictures.forEach(each => each.size = [0, 0])")
        log_in(driver, "pass")
        browser.wait(driver, "!document.getElementById('login').open", explain="the login to be taken")
        wait_picture(driver)
        found = browser.run(driver, "return (await (await fetch('/v1/config')).json()).cameras.front")
        assert found == kept and found["views"]["edges"]["gain"] > 3 and found["regions"]["region1"]["erode"] == 0
        assert found["privacy"]["privacy1"]["polygon"] == [pytest.approx(corner, abs=0.01) for corner in HIDDEN]
        assert brightness(driver, *inside(HIDDEN)) < 2 and brightness(driver, *inside(REGION)) > 30
        browser.wait(driver, "document.querySelector('#events .moves')", explain="motion after the restart")


@pytest.mark.parametrize("place", ["#recorded", "#front/plain@2026-01-01T00:00:00Z"])
def test_a_page_without_a_live_picture_asks_for_a_login_that_has_ended(server, place):
    with browser.opened() as driver:
        driver.get(server.status()["http"] + "/" + place)
        browser.run(driver, browser.READER)
        browser.wait(driver, "document.getElementById('login').open", explain="the login")
        log_in(driver, "pass")
        browser.wait(driver, "edged.state.status && !document.getElementById('login').open", explain="the page")
        # Nothing of the page is asked for any more but the status.
        browser.wait(driver, "performance.getEntriesByType('resource').at(-1).name.endsWith('/v1/status') && performance.now() > 8000",
                     explain="a quiet page")
        server.stop()
        server.start()
        browser.wait(driver, "document.getElementById('login').open", explain="the login after the restart")
        log_in(driver, "pass")
        browser.wait(driver, "!document.getElementById('login').open && !document.getElementById('fault').textContent",
                     explain="the login to be taken")


@pytest.fixture
def elsewhere(tmp_path, server):
    """The same edged as a machine without TLS is seen from another one."""
    server.stop()
    with network(tmp_path, server.program) as (server.program, _):
        server.settings["http"]["address"] = "0.0.0.0"
        server.write_config(server.cameras)
        server.start()
        server.address = f"{THERE}:{server.settings['http']['port']}"
        yield server
        server.kill()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes networks")
def test_without_tls_from_another_address_the_page_plays_mse_and_logs_in_by_the_browser(elsewhere):
    with browser.opened() as driver:
        driver.get(f"http://{elsewhere.address}/")
        daemon.wait_for(lambda: driver.current_url.endswith("/login"), browser.PATIENCE_S,
                        lambda: f"no prompt: {driver.current_url} {driver.page_source}")
        driver.get(f"http://otto:wrong@{elsewhere.address}/login")
        driver.get(f"http://{elsewhere.address}/v1/config")
        assert "edges" not in driver.page_source
        driver.get(f"http://otto:pass@{elsewhere.address}/login")
        driver.get(f"http://{elsewhere.address}/")
        assert browser.run(driver, "return [isSecureContext, 'VideoDecoder' in window]") == [False, False]
        browser.run(driver, browser.READER)
        wait_picture(driver)
        way = find(driver, "#way").text
        assert "Media Source Extensions: WebCodecs needs https or localhost" in way and "not encrypted" in way
        browser.run(driver, "follow('front/plain')")
        browser.wait(driver, "seen.filter(([number]) => number !== null).length > 20", explain="20 frames")
        click(driver, "nav a", "Settings")
        click(driver, '#views [data-path="front/edges"]')
        wait_picture(driver)
        before = brightness(driver)
        drag_slider(driver, (*EDGES, "gain"))
        browser.wait(driver, f"(given => {{ {BRIGHTNESS} }})([0, 0, 1, 1]) > 2 * {before}", explain="a brighter picture")
        click(driver, "[role=tab]", "Regions")
        draw(driver, "New region", REGION)
        wait_set(driver, "cameras", "front", "regions", "region1", "polygon", "3")
        make_least(driver, "cameras.front.regions.region1.erode")
        wait_motion(driver)
        # A browser notes only so many requests, and the page asks its clock by what is noted of one.
        drawn_ms = browser.run(driver, "performance.setResourceTimingBufferSize(0);"
                                       "document.dispatchEvent(new Event('visibilitychange'));"
                                       "return edged.state.pictures.get('front/edges').drawnMs")
        browser.wait(driver, f"edged.state.pictures.get('front/edges').drawnMs > {drawn_ms} + 2000", explain="it goes on")
