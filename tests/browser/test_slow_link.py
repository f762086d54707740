"""The page behind links that are slow or uneven: no picture is left out but for a newer one."""

import pytest

import browser
import daemon
from slow_link import RECORD, needless, slow_link

LINKS = {"jitter": {"jitter_ms": 40}, "three_quarters": {"share": 0.75}, "a_thirteenth": {"share": 0.077}}
CAMERAS = [daemon.camera(views=[{"name": "plain", "view": "camera", "bitrate_kbps": 4000, "keyframe_s": 1}],
                         width=640, height=360, fps=24)]


def open_page(driver, port):
    driver.get(f"http://127.0.0.1:{port}/")
    browser.run(driver, browser.READER)
    browser.wait(driver, "edged.state.pictures.get('front/plain')?.drawnMs", explain="a picture")
    assert browser.run(driver, "return edged.state.way") == "webcodecs"


@pytest.fixture(scope="module")
def kbps(server, driver):
    """What the view takes on a link that is fast enough."""
    open_page(driver, server.settings["http"]["port"])
    return browser.wait(driver, """(all => all.length > 4 && all.reduce((sum, each) => sum + each.kbps, 0) / all.length)(
        edged.state.history.slice(3))""", explain="the bit rate")


@pytest.mark.parametrize("link", LINKS)
def test_the_newest_picture_is_drawn(server, driver, kbps, link):
    with slow_link(server.settings["http"]["port"]) as between:
        open_page(driver, between.port)
        between.jitter_ms, between.kbps = LINKS[link].get("jitter_ms", 0), LINKS[link].get("share", 0) * kbps
        pictures = browser.run(driver, RECORD, 5000)
        driver.get("about:blank")
    # A busy machine pauses for longer than these links do, and what came meanwhile is decoded at once.
    paused = [after for (before, _), (after, _) in zip(pictures, pictures[1:]) if after - before > 150]
    left_out = [at_ms for at_ms, is_drawn in pictures if not is_drawn and not any(0 <= at_ms - end < 500 for end in paused)]
    print(f"{link}: {kbps:.0f} kbit/s, {len(pictures)} pictures came, {len(left_out)} left out after no pause")
    assert any(is_drawn for _, is_drawn in pictures) and not needless(pictures, 500)
    assert len(left_out) < 0.2 * len(pictures)


def test_a_link_too_slow_for_video_gets_small_pictures_until_it_is_faster(server, driver, kbps):
    with slow_link(server.settings["http"]["port"]) as between:
        open_page(driver, between.port)
        between.kbps = 0.1 * kbps
        browser.wait(driver, "edged.state.way === 'jpeg'", explain="small pictures")
        assert "too slow for video" in browser.run(driver, "return document.getElementById('way').textContent")
        browser.wait(driver, "edged.state.pictures.get('front/plain').size[0] === 160 && !document.querySelector('.old')",
                     explain="a new picture")
        browser.run(driver, "follow('front/plain')")
        browser.wait(driver, "seen.length > 5", explain="five more")
        between.kbps = 0
        browser.wait(driver, "edged.state.way === 'webcodecs' && edged.state.pictures.get('front/plain').size[0] === 640",
                     explain="video again")
        driver.get("about:blank")
