"""What the page says of pictures that do not come: an edged that is gone, stopped or out of reach, a camera without a signal."""

import contextlib
import os
import re
import signal

import pytest

import browser
import daemon
from elsewhere import THERE, network
from ports import free_port

WAYS = ["webcodecs", "mse", "jpeg"]
ALL_LIVE = """[...edged.state.pictures.values()].length && !document.querySelector(".old") &&
    !document.getElementById("fault").textContent && /^front.plain · live$/.test(document.getElementById("place").textContent) &&
    /^\\d+ ms/.test(document.getElementById("age").textContent)"""
FROZEN = r"/^frozen since \d\d:\d\d:\d\d$/.test(document.getElementById('age').textContent)"
CAMERAS = [daemon.camera(views=[{"name": "plain", "view": "camera"}], width=320, height=240),
           daemon.camera("lost", "rtsp", url=f"rtsp://127.0.0.1:{free_port()}/x", views=[{"name": "plain", "view": "camera"}])]


def open_page(driver, address, way):
    driver.get(f"{address}/?way={way}#front/plain")
    driver.refresh()
    browser.run(driver, browser.READER)
    browser.wait(driver, ALL_LIVE, explain="a live picture")


def wait_frozen(driver):
    browser.wait(driver, f"""{FROZEN} && document.querySelector("#screen.old") &&
        document.getElementById("place").textContent === "front/plain · frozen" &&
        document.getElementById("fault").textContent.startsWith("No connection to edged")""", explain="a frozen picture")


@pytest.mark.parametrize("way", WAYS)
def test_a_stopped_edged_freezes_the_picture_until_it_goes_on(server, driver, way):
    open_page(driver, server.status()["http"], way)
    server.signal(signal.SIGSTOP)
    try:
        wait_frozen(driver)
    finally:
        server.signal(signal.SIGCONT)
    browser.wait(driver, ALL_LIVE, explain="the picture after the stop")


def test_a_stopped_edged_freezes_the_tiles_of_the_wall(server, driver):
    open_page(driver, server.status()["http"], "webcodecs")
    browser.run(driver, "location.hash = ''")
    tile = "document.querySelector('.tile[data-path=\"front/plain\"]')"
    browser.wait(driver, f"{tile}?.dataset.state === 'live' && edged.state.pictures.get('front/plain').drawnMs", explain="a live tile")
    server.signal(signal.SIGSTOP)
    try:
        browser.wait(driver, f"{tile}.matches('.old') && /^frozen since \\d\\d:\\d\\d:\\d\\d$/.test({tile}.querySelector('.age').textContent)",
                     explain="a frozen tile")
    finally:
        server.signal(signal.SIGCONT)
    browser.wait(driver, f"!{tile}.matches('.old') && !{tile}.querySelector('.age').textContent", explain="the tile after the stop")


def test_a_killed_edged_freezes_the_picture_until_another_runs(server, driver):
    open_page(driver, server.status()["http"], "webcodecs")
    children = daemon.process_children(server.process.pid)
    server.process.kill()
    server.process.wait()
    wait_frozen(driver)
    for pid in children:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    server.start()
    browser.wait(driver, ALL_LIVE, explain="the picture of the next edged")


@pytest.mark.parametrize("way", WAYS)
def test_a_picture_without_a_signal_says_why_and_no_latency(server, driver, way):
    driver.get(browser.page_link(server))
    open_page(driver, server.status()["http"], way)
    browser.run(driver, "location.hash = '#lost/plain'")
    shown = browser.wait(driver, """document.getElementById("age").textContent.includes("refused") && [
        document.getElementById("age").textContent, document.getElementById("place").textContent]""", explain="why there is no signal")
    browser.run(driver, "location.hash = ''")
    shown.append(browser.wait(driver, """(age => age?.includes("refused") && age)(
        document.querySelector('.tile[data-path="lost/plain"] .age')?.textContent)""", explain="the same on the tile"))
    why = server.camera("lost")["error"]
    assert shown[0].endswith(why) and shown[2].endswith(why), (shown, why)
    browser.run(driver, "location.hash = '#settings/lost/plain'")
    browser.wait(driver, "document.getElementById('tab-numbers')", explain="the settings")
    browser.run(driver, "document.getElementById('tab-numbers').click()")
    shown.append(browser.wait(driver, "document.querySelector('#numbers dd')?.textContent", explain="the numbers"))
    assert not any(re.search(r"\d ms", text) for text in shown)
    assert "live" not in shown[1]


@pytest.mark.parametrize("patience_s, is_old", [(0.5, True), (3, True), (15, False)])
def test_a_camera_whose_frames_are_rare_is_frozen_later(server, driver, patience_s, is_old):
    """Its newest picture is 5 s old."""
    open_page(driver, server.status()["http"], "webcodecs")
    seen = browser.run(driver, """const {judge} = await import("/page/age.js");
        return judge({drawnMs: 1000, ageMs: nowMs => nowMs - 1000}, {state: "live", patience_s: given[0]}, 6000)""", patience_s)
    assert seen["isOld"] == is_old and seen["state"] == ("frozen" if is_old else "live")
    assert server.camera("front")["patience_s"] == 0.5 and server.camera("lost")["patience_s"] == 0


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2"])
@pytest.mark.parametrize("slept_h", [1, -1])
def test_a_picture_is_as_old_as_it_is_after_a_clock_was_set(tmp_path, driver, host, slept_h):
    """The browser's own clock stands still in sleep, and does not follow the clock of day."""
    port = free_port()
    server = daemon.Daemon(tmp_path, CAMERAS[:1], settings={"http": {"port": port, "address": host}})
    server.start()
    try:
        open_page(driver, f"http://{host}:{port}", "webcodecs" if host == "127.0.0.1" else "mse")
        browser.run(driver, """const picture = edged.state.pictures.get("front/plain"), draw = picture.draw.bind(picture);
            picture.draw = (image, width, height, capturedUs, offsetUs) => { draw(image, width, height, capturedUs, offsetUs); window.offsetUs = offsetUs; };
            Object.defineProperty(performance, "timeOrigin", {value: performance.timeOrigin - given[0] * 3600e3})""", slept_h)
        # By the clock that is asked for again at once: that is done each minute anyhow.
        browser.wait(driver, f"Math.abs(window.offsetUs) > 3e9 && {ALL_LIVE} && Math.abs(edged.state.pictures.get('front/plain').lagMs) < 2000",
                     50, "the right age")
        assert "slow" not in browser.run(driver, "return document.getElementById('way').textContent")
    finally:
        driver.get("about:blank")
        server.kill()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes networks")
def test_a_link_that_is_down_freezes_the_picture_until_it_is_up(tmp_path, driver):
    with network(tmp_path, daemon.EDGED) as (program, plug):
        port = free_port()
        server = daemon.Daemon(tmp_path, [daemon.camera(views=[{"name": "plain", "view": "camera"}], width=320, height=240)],
                               settings={"http": {"port": port, "address": "0.0.0.0"}, "rtsp": {"auth": "none"}},
                               program=program, STATE_DIRECTORY=tmp_path)
        try:
            server.start()
            open_page(driver, f"http://{THERE}:{port}", "mse")
            plug(False)
            wait_frozen(driver)
            plug(True)
            browser.wait(driver, ALL_LIVE, explain="the picture after the link is up again")
        finally:
            driver.get("about:blank")
            server.kill()
