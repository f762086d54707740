"""A browser, headless, with the page of an edged; what it has drawn, by the numbers in the pattern.

It is Debian's Chromium, or Firefox with EDGED_BROWSER=firefox."""

import base64
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "e2e"), str(HERE.parent)]

import daemon  # noqa: E402

NAME = os.environ.get("EDGED_BROWSER", "chromium")
# What anything is waited for, however busy the machine is.
PATIENCE_S = 120

# Reads the number of the frame that is drawn: tests/e2e/pattern.py for a view of the camera itself.
READ_NUMBER = """
window.seen = [];
window.readNumber = (image, width) => {
  const size = Math.max(4, Math.floor(width / 20 / 4) * 4);
  const row = window.row ??= new OffscreenCanvas(20 * size, 2).getContext("2d", {willReadFrequently: true});
  row.drawImage(image, 0, size / 2, 20 * size, 2, 0, 0, 20 * size, 2);
  const data = row.getImageData(0, 0, 20 * size, 2).data;
  let bits = 0;
  for (let k = 0; k < 20; k++) {
    let sum = 0;
    for (let x = size / 4; x < size * 3 / 4; x++) {
      sum += data[4 * (k * size + x) + 1];
    }
    bits |= (sum > 77 * size / 2 ? 1 : 0) << k;
  }
  const number = bits & 0xffff;
  const check = (number ^ number >> 4 ^ number >> 8 ^ number >> 12 ^ 10) & 15;
  return (bits >> 16 & 15) === check ? number : null;
};
"""
READER = READ_NUMBER + """
window.edged = await import("/page/app.js");
window.follow = path => {
  const picture = edged.state.pictures.get(path);
  const draw = picture.draw.bind(picture);
  picture.draw = (image, width, height, capturedUs, offsetUs) => {
    draw(image, width, height, capturedUs, offsetUs);
    const nowUs = (performance.timeOrigin + performance.now()) * 1000;
    seen.push([readNumber(image, width), nowUs, capturedUs]);
  };
};
"""
# Has requests go wrong, of which "GET v1/status" matches an expression: the next one of these fails, is answered by a
# status, or its answer is kept back until letGo().
MEDDLE = """
const real = window.fetch, rules = [];
window.fetch = (path, options, ...rest) => {
  const reply = () => real(path, options, ...rest), asked = `${options?.method ?? "GET"} ${path}`;
  const found = rules.findIndex(([part]) => new RegExp(part).test(asked));
  return found < 0 ? reply() : rules.splice(found, 1)[0][1](reply);
};
window.failNext = part => rules.push([part, () => Promise.reject(new TypeError("gone"))]);
window.answerNext = (part, status) => rules.push([part, async () => new Response("{}", {status, statusText: `status ${status}`})]);
window.keepNext = part => rules.push([part, async reply => {
  const came = await reply();
  await new Promise(resolve => { window.letGo = resolve; });
  return came;
}]);
"""
# A clip or a region that is removed goes for good after 10 s: with this once expire() is called.
HOLD_UNDO = """
const later = window.setTimeout;
window.setTimeout = (does, ms, ...rest) => ms === 10000 ? (window.expire = does, 0) : later(does, ms, ...rest);
"""
# All that stood in the gap's place since then, in `gaps`: some of it stands there for a second and a half.
NOTE_GAPS = """
window.gaps = [];
new MutationObserver(() => gaps.push(document.getElementById("gap").textContent)).observe(document.getElementById("gap"), {childList: true});
"""


@contextlib.contextmanager
def chromium(size):
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--mute-audio", "--ignore-certificate-errors",
                     f"--window-size={size[0]},{size[1]}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    try:
        yield driver
    finally:
        driver.quit()


@contextlib.contextmanager
def opened(size=(1280, 900)):
    if NAME == "firefox":
        from firefox import firefox as start
    else:
        start = chromium
    with start(size) as driver:
        driver.set_script_timeout(2 * PATIENCE_S)
        driver.set_page_load_timeout(PATIENCE_S)
        yield driver


def resize(driver, width, height):
    """Gives the page so many pixels."""
    if NAME == "firefox":
        driver.set_window_size(width, height)
    else:
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})


def run(driver, script, *arguments):
    """Runs JavaScript that may await; returns what it returns."""
    said = driver.execute_async_script(
        "const done = arguments[arguments.length - 1]; const given = [...arguments].slice(0, -1);"
        f"(async () => {{ {script} }})().then(value => done({{value}}), fault => done({{fault: String(fault.stack ?? fault)}}));",
        *arguments)
    if "fault" in said:
        raise AssertionError(said["fault"])
    return said.get("value")


def patiently(act):
    """Does it again where the page has drawn an element anew after it was found, or has not drawn it yet."""
    from selenium.common import exceptions

    end_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            return act()
        except (exceptions.StaleElementReferenceException, exceptions.NoSuchElementException,
                exceptions.ElementClickInterceptedException, exceptions.ElementNotInteractableException):
            if time.monotonic() > end_s:
                raise
            time.sleep(0.05)


def still_box(driver, selector):
    """Left, top, width and height of an element that is seen, once they stay as they are."""
    return wait(driver, f"""(async () => {{
        const box = () => {{ const {{left, top, width, height}} = document.querySelector({json.dumps(selector)})?.getBoundingClientRect() ?? {{}};
            return [left, top, width, height]; }};
        const before = box();
        await new Promise(resolve => setTimeout(resolve, 300));
        return before[2] && String(before) === String(box()) && before; }})()""", explain=f"{selector} to stand still")


def double_click(driver, selector):
    """Two clicks that the browser takes for one, however far apart a busy machine brings them."""
    if NAME == "firefox":
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(driver).double_click(driver.find_element("css selector", selector)).perform()
        return
    left, top, width, height = still_box(driver, selector)
    for count in (1, 2):
        for kind in ("mousePressed", "mouseReleased"):
            driver.execute_cdp_cmd("Input.dispatchMouseEvent", {
                "type": kind, "x": left + width / 2, "y": top + height / 2, "button": "left", "clickCount": count})


@contextlib.contextmanager
def loads_with(driver, script):
    """Pages that are loaded meanwhile run this script before their own."""
    identifier = driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})["identifier"]
    yield
    driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", {"identifier": identifier})


def wait(driver, condition, timeout_s=PATIENCE_S, explain=""):
    """Waits until the JavaScript expression is true; returns its value."""
    return run(driver, f"""
        const end = performance.now() + {timeout_s * 1000};
        for (;;) {{
          const value = await (async () => {condition})();
          if (value) {{ return value; }}
          if (performance.now() > end) {{ throw new Error(given[0] + " was waited for; the page says: " +
            document.getElementById("fault")?.textContent + " " + document.getElementById("numbers")?.textContent); }}
          await new Promise(resolve => setTimeout(resolve, 50));
        }}""", explain or condition)


def page_link(server):
    """The page's address with the right to change something, by `edgectl page`."""
    return subprocess.run([daemon.EDGECTL, "page", "--socket", server.socket], check=True, capture_output=True, text=True).stdout.split()[-1]


def screenshot(driver, path):
    pathlib.Path(path).write_bytes(base64.b64decode(driver.get_screenshot_as_base64()))
