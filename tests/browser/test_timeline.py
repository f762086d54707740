"""The timeline under the picture: zoomed, dragged, let go, by mouse and by fingers."""

import time

import pytest

import browser
import daemon
from fake_recorder import Recorder
from ports import free_port

S = 1_000_000_000
CLIP_S = 60   # of the fixture filmed
BEGIN_NS = time.time_ns()
# Where a moment is on the track, in pixels of the window; `given` has how many seconds it lies before BEGIN_NS, and that in ms.
FIND = """
const track = document.getElementById("track"), box = document.getElementById("lanes").getBoundingClientRect();
const {from, to, left} = track.dataset, ms = given[1] - 1000 * given[0];
const x = box.left + Number(left) + (ms - from) / (to - from) * (box.width - left);
return [x, box.top + 30, from, to];
"""
SEEN = "document.querySelector('#film video')"


@pytest.fixture(scope="module")
def recorder(tmp_path_factory, filmed):
    """Clips of 30, 29, 20 and 10 minutes before BEGIN; the second follows the first at once."""
    recorder = Recorder(tmp_path_factory.mktemp("recorder") / "socket")
    for number, minutes in enumerate((30, 29, 20, 10), 1):
        begin = BEGIN_NS - minutes * 60 * S
        recorder.add(number, *filmed, camera=b"front", view=b"plain", event=number, regions=("door",) if number > 2 else (),
                     start_wall_ns=begin, end_wall_ns=begin + CLIP_S * S)
    yield recorder
    recorder.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory, recorder):
    cameras = [daemon.camera(name, views=[{"name": "plain", "view": "camera"}], width=320, height=240, fps=5) for name in ("front", "back")]
    one = daemon.Daemon(tmp_path_factory.mktemp("edged"), cameras, settings={"http": {"port": free_port()}}, EDGED_RECORDER=recorder.path)
    one.start()
    yield one
    one.kill()


@pytest.fixture
def page(server, driver):
    driver.get("about:blank")
    driver.get(f"{server.status()['http']}/#front/plain")
    browser.run(driver, browser.READER)
    browser.wait(driver, "edged.state.pictures.get('front/plain')?.drawnMs && document.getElementById('track').dataset.from", explain="the timeline")
    # It is moved a little into the past, where it stands still.
    left, top, width, height = browser.still_box(driver, "#lanes")
    wheel(driver, left + width / 2, top + height / 2, 0, -40)
    browser.wait(driver, "document.getElementById('track').dataset.to < Date.now()", explain="the past")
    return driver


def find(driver, seconds):
    return browser.run(driver, FIND, seconds, BEGIN_NS // 1000000)


def mouse(driver, kind, x, y, buttons=1):
    driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, "button": "left" if buttons else "none",
                                                        "buttons": buttons, "clickCount": 1})


def wheel(driver, x, y, delta, sideways=0):
    driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": "mouseWheel", "x": x, "y": y, "deltaX": sideways, "deltaY": delta})


def minutes(driver):
    _, _, begin, end = find(driver, 0)
    return (int(end) - int(begin)) / 60000


def colours(driver, seconds):
    """Red, green and blue of the first lane at a moment."""
    return browser.run(driver, f"""const [x, y] = await (async () => {{ {FIND} }})();
        const canvas = document.getElementById("lanes"), box = canvas.getBoundingClientRect(), scale = canvas.width / box.width;
        return [...canvas.getContext("2d").getImageData((x - box.left) * scale, (y - box.top) * scale, 1, 1).data].slice(0, 3)""", seconds, BEGIN_NS // 1000000)


def test_footage_has_bars_and_motion_is_red(page):
    empty = colours(page, 15 * 60)
    daemon.wait_for(lambda: colours(page, 9.5 * 60) != empty, browser.PATIENCE_S)
    red, green, _ = colours(page, 9.5 * 60)
    assert red > 2 * green
    footage = colours(page, 28.5 * 60)
    assert footage != empty and footage[0] < footage[2]


def test_the_wheel_zooms_from_ten_minutes_to_thirty_days(page):
    x, y, *_ = find(page, 10 * 60)
    assert minutes(page) == pytest.approx(60)
    for _ in range(40):
        wheel(page, x, y, -100)
    daemon.wait_for(lambda: minutes(page) == pytest.approx(10), browser.PATIENCE_S)
    for _ in range(80):
        wheel(page, x, y, 100)
    daemon.wait_for(lambda: minutes(page) == pytest.approx(30 * 24 * 60), browser.PATIENCE_S)


def test_dragging_shows_the_moment_where_the_pointer_rests_and_letting_go_plays(page):
    x, y, *_ = find(page, 9.5 * 60)
    far, *_ = find(page, 15 * 60)
    mouse(page, "mousePressed", far, y)
    browser.wait(page, "document.getElementById('gap').textContent === 'Nothing is recorded here.'", explain="no footage there")
    # A pointer that never rests is shown the clip's picture.
    browser.run(page, """window.pictures = []; new MutationObserver(() => pictures.push(document.getElementById("still").src)).observe(
        document.getElementById("still"), {attributes: true})""")
    for _ in range(20):
        for nudge in (1, 2):
            mouse(page, "mouseMoved", x + nudge, y)
    assert browser.wait(page, "pictures[0]", explain="the clip's picture").endswith("/v1/clips/4.jpg")
    mouse(page, "mouseMoved", x, y)
    browser.wait(page, f"{SEEN}?.readyState >= 2 && Math.abs({SEEN}.currentTime - 30) < 8 && {SEEN}.paused", explain="the moment")
    assert browser.run(page, f"return {SEEN}.src").endswith("/v1/clips/4.mp4")
    # Within the clip, from where the pointer rests to its picture.
    near, *_ = find(page, 9.3 * 60)
    browser.run(page, f"""window.took = new Promise(resolve => {{
        document.getElementById("track").addEventListener("pointermove", () => {{
          const begin = performance.now();
          {SEEN}.addEventListener("seeked", () => resolve(performance.now() - begin), {{once: true}});
        }}, {{once: true}});
    }})""")
    mouse(page, "mouseMoved", near, y)
    print(f"the moment under a pointer that rests: {browser.run(page, 'return await took'):.0f} ms")
    mouse(page, "mouseReleased", near, y)
    browser.wait(page, f"!{SEEN}.paused && {SEEN}.currentTime > 35", explain="it plays")
    assert browser.run(page, "return location.hash").startswith("#front/plain@20")
    browser.run(page, "document.getElementById('now').click()")
    browser.wait(page, f"!{SEEN} && location.hash === '#front/plain'", explain="live again")


def test_it_plays_across_clips_and_names_gaps(page):
    x, y, *_ = find(page, 28 * 60 + 4)
    browser.run(page, browser.NOTE_GAPS)
    mouse(page, "mousePressed", x, y)
    mouse(page, "mouseReleased", x, y)
    browser.wait(page, f"{SEEN}?.src.endsWith('/2.mp4') && {SEEN}.currentTime > 0", explain="the second clip")
    browser.wait(page, "gaps.some(each => /^Nothing is recorded from .*: 8 minutes$/.test(each))", explain="the gap")
    browser.wait(page, f"{SEEN}.src.endsWith('/3.mp4') && {SEEN}.currentTime > 0", explain="the third clip")
    browser.run(page, f"{SEEN}.currentTime = 59.9; await {SEEN}.play()")
    browser.wait(page, f"{SEEN}.src.endsWith('/4.mp4')", explain="the fourth clip")
    browser.run(page, "document.getElementById('last').click()")
    browser.wait(page, f"{SEEN}.src.endsWith('/3.mp4')", explain="the third clip again")


def test_keys_move_the_playhead_and_say_where_it_is(page):
    track = page.find_element("css selector", "#track")
    assert track.get_attribute("aria-valuetext") == "Live"
    browser.run(page, "document.getElementById('track').focus()")
    track.send_keys("+")
    daemon.wait_for(lambda: minutes(page) == pytest.approx(42), browser.PATIENCE_S)
    browser.run(page, f"location.hash = '#front/plain@' + new Date({BEGIN_NS // 1000000 - 590000}).toISOString()")
    browser.wait(page, f"{SEEN}?.src.endsWith('/4.mp4')", explain="the fourth clip")
    track.send_keys("\ue012")   # the left arrow
    browser.wait(page, "document.getElementById('track').getAttribute('aria-valuetext') !== 'Live' && "
                       f"{SEEN}.currentTime >= 0 && location.hash.includes('@')", explain="a moment before")
    track.send_keys("\ue010")   # End
    browser.wait(page, "document.getElementById('track').getAttribute('aria-valuetext') === 'Live'", explain="live")


def test_fingers_drag_and_pinch_on_a_phone(page):
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True})
    page.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    try:
        browser.wait(page, "innerWidth === 390", explain="a phone")
        browser.still_box(page, "#lanes")
        x, y, *_ = find(page, 28.5 * 60)

        def touch(kind, *points):
            page.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y, "id": i}
                                                                                            for i, (x, y) in enumerate(points)]})

        touch("touchStart", (150, y), (250, y))
        touch("touchMove", (100, y), (300, y))
        touch("touchEnd")
        daemon.wait_for(lambda: minutes(page) == pytest.approx(30, abs=0.5), browser.PATIENCE_S)
        x, y, *_ = find(page, 28.5 * 60)
        touch("touchStart", (x - 20, y))
        touch("touchMove", (x - 10, y))
        touch("touchMove", (x, y))
        touch("touchEnd")
        browser.wait(page, f"{SEEN}?.src.endsWith('/2.mp4') && !{SEEN}.paused", explain="it plays")
    finally:
        page.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
