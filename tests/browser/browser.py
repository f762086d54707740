"""A browser, headless, with the page of an edged; what it has drawn, by the numbers in the pattern.

It is Debian's Chromium, or Firefox with EDGED_BROWSER=firefox."""

import base64
import contextlib
import os
import pathlib
import subprocess
import sys

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
