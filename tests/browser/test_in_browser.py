"""The page in Chromium: the views are drawn, a slider changes the picture, and what is kept is there after a restart."""

import json
import os
import subprocess

import pytest

import browser
import daemon
from ports import free_port

VIEWS = [{"name": "plain", "view": "camera"}, {"name": "edges", "view": "edges", "gain": 0.2},
         {"name": "moves", "view": "motion"}]
# How bright the large picture is, 0 to 255.
BRIGHTNESS = """
const {width, height} = document.getElementById("large");
const copy = new OffscreenCanvas(width, height).getContext("2d");
copy.drawImage(document.getElementById("large"), 0, 0);
return copy.getImageData(0, 0, width, height).data.reduce((sum, value, i) => sum + (i % 4 === 1 ? value : 0), 0) / width / height;
"""


@pytest.fixture
def server(tmp_path):
    one = daemon.Daemon(tmp_path, [daemon.camera(views=VIEWS, width=640, height=360)],
                        settings={"http": {"port": free_port()}}, STATE_DIRECTORY=tmp_path)
    one.start()
    yield one
    one.kill()


def open_page(driver, server):
    link = subprocess.run([daemon.BUILD / "edgectl", "page", "--socket", server.socket], check=True,
                          capture_output=True, text=True).stdout.split()[-1]
    driver.get(link)
    browser.run(driver, browser.READER)
    browser.wait(driver, "edged.state.pictures.size === 3 && [...edged.state.pictures.values()].every(each => each.size[0] === 640)",
                 explain="three pictures")


@pytest.mark.parametrize("way", ["webcodecs", "mse", "jpeg"])
def test_each_way_draws_frame_after_frame(server, way):
    with browser.chromium() as driver:
        open_page(driver, server)
        driver.get(f"{server.status()['http']}/?way={way}")
        browser.run(driver, browser.READER)
        browser.wait(driver, "edged.state.pictures.get('front/plain')?.size[0]", explain="a picture")
        browser.run(driver, "follow('front/plain')")
        browser.wait(driver, "seen.filter(([number]) => number !== null).length > 20", explain="20 frames")
        assert browser.run(driver, "return edged.state.way") == way


def test_a_slider_changes_the_picture_and_is_kept_over_a_restart(server):
    with browser.chromium() as driver:
        open_page(driver, server)
        browser.run(driver, "edged.choose('front/edges'); edged.showTab('picture');")
        before = browser.run(driver, BRIGHTNESS)
        browser.run(driver, """
            const range = document.querySelector('[data-key="cameras.front.views.edges.gain"] input[type=range]');
            range.value = range.max;
            range.dispatchEvent(new Event("input"));""")
        browser.wait(driver, f"(() => {{ {BRIGHTNESS} }})() > 2 * {before}", explain="a brighter picture")
        browser.run(driver, "[...document.querySelectorAll('#tab button')].find(each => each.textContent.startsWith('Keep')).click()")
        browser.wait(driver, "document.getElementById('tab').textContent.includes('Kept')", explain="kept")
        if picture := os.environ.get("EDGED_SCREENSHOT"):
            browser.screenshot(driver, picture)
        kept = browser.run(driver, "return edged.state.config.cameras.front.views.edges.gain")
        server.stop()
        server.start()
        open_page(driver, server)
        shown = browser.run(driver, "return (await (await fetch('/v1/config')).json()).cameras.front.views.edges.gain")
        assert json.loads(json.dumps(shown)) == pytest.approx(kept)
