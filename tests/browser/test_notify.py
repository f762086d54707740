"""Notifications of motion while nobody looks at the page, and why there are none where a browser has none."""

import subprocess
import time

import pytest

import browser
import daemon

REGION = {"name": "door", "polygon": [[0.1, 0.4], [0.4, 0.4], [0.4, 0.8]], "erode": 0, "start": 0.5, "cooldown_s": 0.2}
CAMERAS = [daemon.camera(views=[{"name": "plain", "view": "camera"}], width=320, height=240, regions=[REGION])]
# What the page shows by the browser.
RECORD = """
window.shown = [];
window.Notification = class extends EventTarget {
  static permission = "default";
  static async requestPermission() { return this.permission = "granted"; }
  constructor(title, options) { super(); shown.push({title, ...options, it: this}); }
  close() {}
};
document.hasFocus = () => false;
"""


def open_page(driver, server, script):
    with browser.loads_with(driver, script):
        driver.get("about:blank")
        driver.get(f"{server.status()['http']}/#front/plain")
    browser.run(driver, browser.READER)
    browser.wait(driver, "edged.state.pictures.get('front/plain')?.drawnMs", explain="a picture")


def set_armed(server, armed):
    subprocess.run([daemon.EDGECTL, "set", "--socket", server.socket, f"cameras.front.armed={str(armed).lower()}"], check=True, capture_output=True)


def turn_on(driver):
    browser.run(driver, "document.getElementById('notify').click()")
    browser.wait(driver, "document.getElementById('notify').getAttribute('aria-pressed') === 'true'", explain="permission")


def move_anew(server):
    """Until something has begun to move."""
    events = server.camera()["regions"][0]["events"]

    def look():
        set_armed(server, False)
        time.sleep(1)
        set_armed(server, True)
        time.sleep(2)
        return server.camera()["regions"][0]["events"] > events

    daemon.wait_for(look, browser.PATIENCE_S)


@pytest.mark.parametrize("hours", [-1, 1])
def test_motion_is_shown_where_the_clocks_differ(server, driver, hours):
    open_page(driver, server, f"{RECORD} const now = Date.now; Date.now = () => now() + {hours} * 3600e3;")
    turn_on(driver)
    move_anew(server)
    browser.wait(driver, "shown.length", explain="a notification")


def test_motion_is_shown_with_a_picture_also_while_the_tab_is_hidden(server, driver):
    open_page(driver, server, RECORD)
    turn_on(driver)
    page = driver.current_window_handle
    driver.switch_to.new_window("tab")
    move_anew(server)
    driver.close()
    driver.switch_to.window(page)
    browser.wait(driver, "shown.length", explain="a notification")
    title, body, width = browser.run(driver, """const image = new Image(); image.src = shown[0].icon; await image.decode();
        return [shown[0].title, shown[0].body, image.naturalWidth]""")
    assert title == "Motion in door" and body.startswith("front, ") and width == 320
    browser.run(driver, "shown[0].it.onclick()")
    browser.wait(driver, "location.hash.startsWith('#front/plain@20')", explain="what was recorded then")


@pytest.mark.parametrize("script, reason", [("delete window.Notification", "no notifications"),
                                            ("window.Notification = class { static permission = 'denied' }", "settings of the site"),
                                            ("Object.defineProperty(window, 'isSecureContext', {value: false})", "inside TLS")])
def test_a_browser_without_notifications_says_why(server, driver, script, reason):
    open_page(driver, server, script)
    browser.run(driver, "document.getElementById('notify').click()")
    browser.wait(driver, f"document.getElementById('notify-said').textContent.includes('{reason}')", explain=reason)
    assert browser.run(driver, "return document.getElementById('notify').getAttribute('aria-pressed')") == "false"
