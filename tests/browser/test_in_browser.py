"""The page in Chromium: each way to show live video draws it, and everything comes from edged alone."""

import contextlib
import re
import subprocess

import pytest

import browser
import daemon
from ports import free_port

VIEWS = [{"name": "plain", "view": "camera"}, {"name": "edges", "view": "edges", "gain": 0.2},
         {"name": "moves", "view": "motion"}]


@contextlib.contextmanager
def serve(folder, views, width=640, height=360):
    one = daemon.Daemon(folder, [daemon.camera(views=views, width=width, height=height)],
                        settings={"http": {"port": free_port()}}, STATE_DIRECTORY=folder)
    try:
        yield one.start()
    finally:
        one.kill()


@pytest.fixture
def server(tmp_path):
    with serve(tmp_path, VIEWS) as one:
        yield one


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


@pytest.mark.parametrize("way", ["webcodecs", "mse"])
def test_views_that_the_way_does_not_play_are_drawn_as_jpegs(tmp_path, way):
    """More than a browser has connections for, MJPEG, and H.265, which Debian's Chromium does not decode. Settings can be
    changed all the same, and the view that is looked at comes by the best way."""
    views = [*({"name": f"plain{i}", "view": "camera"} for i in range(6)), {"name": "mjpeg", "view": "camera", "codec": "mjpeg"},
             {"name": "h265", "view": "camera", "codec": "h265"}]
    with serve(tmp_path, views, 160, 120) as server, browser.chromium() as driver:
        driver.get(f"{server.status()['http']}/?way={way}#front/plain5")
        browser.run(driver, browser.READER)
        browser.wait(driver, """edged.state.pictures.size === 8 &&
            [...edged.state.pictures.values()].every(each => each.size[0] === 160)""", explain="eight pictures")
        assert browser.run(driver, "return (await fetch('/v1/session')).status") == 200
        viewers = {mount["view"]: mount["http_viewers"] for mount in server.status()["mounts"]}
        assert viewers == {**{f"plain{i}": int(way == "webcodecs" or i in (0, 1, 5)) for i in range(6)}, "mjpeg": 0, "h265": 0}


def test_the_page_loads_less_than_100_kib_and_from_its_origin_alone(server):
    with browser.chromium() as driver:
        open_page(driver, server)
        for tab in ("camera", "kernels", "numbers", "shapes", "clips", "events"):
            browser.run(driver, f"edged.showTab('{tab}')")
        browser.run(driver, "edged.choose('front/edges')")
        loaded = browser.run(driver, """return [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
            .map(({name, encodedBodySize}) => [name, encodedBodySize])""")
        assert {name.split("?")[0].split("/", 3)[3] for name, _ in loaded} >= {"", "page/app.js", "page/style.css", "page/icon.svg"}
        assert all(name.startswith(server.status()["http"] + "/") for name, _ in loaded)
        # All but pictures, which go on.
        assert sum(size for name, size in loaded if not re.search("/v1/video|/v1/events|/snapshot|/stream", name)) < 100 * 1024
