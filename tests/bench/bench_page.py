"""Capture to drawn picture in Chromium, of the page's three ways to show live video, the first of them inside TLS as
well, and of an <img> of /stream.mjpg.

The pattern, 1280x720 at 30 fps, on loopback; each frame's number is read from what the page draws, and its capture
time comes with it. MSE and <img> tell no capture time: there it is that of the number, 30 a second from a frame of
the first way. Also: the first picture after connecting, and how old the first picture is that is drawn after
the page was blocked for 2 s and 10 s. JPEGs are fetched 15 times a second, so none follows the one before.
"""

import argparse
import importlib.util
import json
import pathlib
import statistics
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "browser"))
import browser  # noqa: E402
import daemon  # noqa: E402
from ports import free_port  # noqa: E402

WIDTH, HEIGHT, FPS = 1280, 720, 30
BLOCK = """
const begin = performance.now();
while (performance.now() - begin < given[0] * 1000) {}
const blocked = seen.length;
await new Promise(resolve => setTimeout(resolve, 3000));
const after = seen.slice(blocked)[0];
return (after[1] - after[2]) / 1000;
"""


# Looks at an <img> whenever the screen is drawn.
FOLLOW_IMAGE = """
const image = Object.assign(new Image(), {src: "/stream.mjpg?camera=front&view=plain"});
let last = null;
const look = () => {
  const number = image.naturalWidth ? readNumber(image, image.naturalWidth) : null;
  if (number !== null && number !== last) {
    seen.push([last = number, (performance.timeOrigin + performance.now()) * 1000, 0]);
  }
  requestAnimationFrame(look);
};
look();
"""


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def measure(driver, base, way, seconds, due_us):
    driver.get("about:blank")
    is_image = way == "img"
    driver.get(f"{base}/page/icon.svg" if is_image else f"{base}/?way={way}")
    if is_image:  # a document of the same origin without the page's own video
        browser.run(driver, browser.READ_NUMBER + FOLLOW_IMAGE)
        browser.wait(driver, "seen.length", explain="a picture")
    else:
        browser.run(driver, browser.READER)
        browser.wait(driver, "edged.state.pictures.get('front/plain')?.size[0]", explain="a picture")
        assert browser.run(driver, "return edged.state.way") == way
        browser.run(driver, "follow('front/plain')")
    browser.run(driver, "await new Promise(resolve => setTimeout(resolve, 2000)); seen.length = 0;")
    cpu_s = due_us["cpu"]()
    seen = []
    for _ in range(int(seconds)):
        seen += browser.run(driver, "await new Promise(resolve => setTimeout(resolve, 1000)); return seen.splice(0)")
    cpu = 100 * (due_us["cpu"]() - cpu_s) / seconds
    read = [(number, now_us, captured_us) for number, now_us, captured_us in seen if number is not None]
    if way == "webcodecs":
        due_us["at"] = (read[-1][0], read[-1][2])
    number, at_us = due_us["at"]
    ages = [(now_us - (captured_us or at_us + (n - number) * 1e6 / FPS)) / 1000 for n, now_us, captured_us in read]
    in_order = sum(after[0] == before[0] + 1 for before, after in zip(read, read[1:]))
    row = {"way": way + (" in TLS" if base.startswith("https") else ""), "p50_ms": statistics.median(ages), "p95_ms": quantile(ages, 0.95),
           "p99_ms": quantile(ages, 0.99), "frames": len(seen), "unread": len(seen) - len(read),
           "in_order_percent": 100 * in_order / max(1, read[-1][0] - read[0][0]), "front_cpu_percent": cpu}
    if way == "webcodecs":
        row["after_2_s_ms"] = browser.run(driver, BLOCK, 2)
        row["after_10_s_ms"] = browser.run(driver, BLOCK, 10)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if not importlib.util.find_spec("selenium"):
        print("bench_page: left out, it needs Chromium: scripts/setup --group browser")
        return
    camera = daemon.camera(views=[{"name": "plain", "view": "camera", "encoder": "x264enc"}],
                           width=WIDTH, height=HEIGHT, fps=FPS)
    rows = []
    for tls, ways in (False, ("webcodecs", "mse", "jpeg", "img")), (True, ("webcodecs",)):
        with tempfile.TemporaryDirectory(prefix="edged-bench-") as directory, browser.opened() as driver:
            server = daemon.Daemon(directory, [camera], settings={"http": {"port": free_port(), "tls": tls}},
                                   STATE_DIRECTORY=directory)
            try:
                server.start()
                due_us = {"cpu": lambda: daemon.process_cpu_s(server.process.pid)}
                for way in ways:
                    rows.append(measure(driver, server.status()["http"], way, arguments.seconds, due_us))
            finally:
                server.kill()
    if arguments.json:
        print(json.dumps(rows))
        return
    for row in rows:
        print("  ".join(f"{key} {value:.1f}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
