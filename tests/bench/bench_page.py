"""Capture to drawn picture in Chromium, of the page's three ways to show live video, the first of them inside TLS and
behind an uneven link as well, and of an <img> of /stream.mjpg; a page's first picture; what twelve cameras cost.

The pattern, 1280x720 at 30 fps, on loopback; each frame's number is read from what the page draws, and its capture
time comes with it. MSE and <img> tell no capture time: there it is that of the number, 30 a second from a frame of
the first way. Also: the first picture after connecting, and how old the first picture is that is drawn after
the page was blocked for 2 s and 10 s. JPEGs are fetched 15 times a second, so none follows the one before.

The uneven link (tests/browser/slow_link.py) delays each piece of 2 KiB by 40 ms on average, exponentially distributed,
and keeps their order; the pattern, 640x360 at 24 fps, behind it. `link_p50_ms` is how late another reader has the whole
frame behind such a link, and `needless` the pictures that were left out although no newer one was drawn within 30 ms.

The first picture is that of a new browser, from the beginning of the navigation, the median of FIRST of them. Twelve
cameras of 640x360 and 15 fps are tiles on 1440x900 pixels: CPU time of all of the browser's processes and of the front.
"""

import argparse
import contextlib
import importlib.util
import json
import pathlib
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "browser"))
import browser  # noqa: E402
import daemon  # noqa: E402
import http_video  # noqa: E402
from ports import free_port  # noqa: E402
from slow_link import RECORD, needless, slow_link  # noqa: E402

WIDTH, HEIGHT, FPS = 1280, 720, 30
JITTER_MS = 40
FIRST = 5
BLOCK = """
const begin = performance.now();
while (performance.now() - begin < given[0] * 1000) {}
const blocked = seen.length;
await new Promise(resolve => setTimeout(resolve, 3000));
const [, after] = seen.slice(blocked);  // the first one may have been decoded before
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


# When the page drew its first frame, since it was asked for.
NOTE_FIRST = """
const draw = CanvasRenderingContext2D.prototype.drawImage;
CanvasRenderingContext2D.prototype.drawImage = function (image, ...where) {
  draw.call(this, image, ...where);
  if (image instanceof VideoFrame) {
    globalThis.firstMs ??= performance.now();
  }
};
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
    return row


def age_ms(record):
    return time.time() * 1e3 - record.time_us / 1e3


def measure_uneven(driver, server, seconds):
    due_us = {"cpu": lambda: daemon.process_cpu_s(server.process.pid)}
    with slow_link(server.settings["http"]["port"]) as link:
        link.jitter_ms = JITTER_MS
        with http_video.Video(server, "/v1/video?view=front/plain", port=link.port) as reader:
            ages = [age_ms(reader.next(http_video.UNIT)) for _ in range(300)]
        row = measure(driver, f"http://127.0.0.1:{link.port}", "webcodecs", seconds, due_us)
        pictures = browser.run(driver, RECORD, 1000 * seconds)
        driver.get("about:blank")
    return {**row, "way": f"webcodecs, {JITTER_MS} ms of jitter", "link_p50_ms": statistics.median(ages),
            "skipped": sum(not is_drawn for _, is_drawn in pictures), "needless": len(needless(pictures, 30))}


def measure_first(base):
    with browser.opened() as driver:
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": NOTE_FIRST})
        driver.get(base)
        return browser.wait(driver, "window.firstMs", explain="a picture")


def family(pid):
    """A process and those that it has started, and they."""
    return [pid, *(member for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
                   for child in (task / "children").read_text().split() for member in family(int(child)))]


def measure_twelve(driver, server, seconds):
    browser.resize(driver, 1440, 900)
    driver.get(server.status()["http"])
    browser.run(driver, browser.READER)
    browser.wait(driver, "[...edged.state.pictures.values()].filter(each => each.drawnMs).length === 12", explain="twelve pictures")
    time.sleep(5)
    processes = {"browser": family(driver.service.process.pid), "front": [server.process.pid]}
    before_s = {name: sum(map(daemon.process_cpu_s, pids)) for name, pids in processes.items()}
    time.sleep(seconds)
    cpu = {f"{name}_cpu_percent": 100 * (sum(map(daemon.process_cpu_s, pids)) - before_s[name]) / seconds
           for name, pids in processes.items()}
    pictures = browser.run(driver, "return [...edged.state.numbers.values()].reduce((sum, {fps}) => sum + fps, 0)")
    return {"way": "twelve tiles", "pictures_a_second": pictures, **cpu}


@contextlib.contextmanager
def serve(cameras, **http):
    with tempfile.TemporaryDirectory(prefix="edged-bench-") as directory:
        server = daemon.Daemon(directory, cameras, settings={"http": {"port": free_port(), **http}}, STATE_DIRECTORY=directory)
        try:
            yield server.start()
        finally:
            server.kill()


def measure_all(seconds):
    view = {"name": "plain", "view": "camera", "encoder": "x264enc"}
    camera = daemon.camera(views=[view], width=WIDTH, height=HEIGHT, fps=FPS)
    for tls, ways in (False, ("webcodecs", "mse", "jpeg", "img")), (True, ("webcodecs",)):
        with serve([camera], tls=tls) as server, browser.opened() as driver:
            due_us = {"cpu": lambda: daemon.process_cpu_s(server.process.pid)}
            for way in ways:
                row = measure(driver, server.status()["http"], way, seconds, due_us)
                if way == "webcodecs":
                    row |= {f"after_{pause_s}_s_ms": browser.run(driver, BLOCK, pause_s) for pause_s in (2, 10)}
                yield row
    with serve([daemon.camera(views=[dict(view)], width=640, height=360, fps=24)]) as server, browser.opened() as driver:
        yield measure_uneven(driver, server, seconds)
    with serve([camera]) as server:
        yield {"way": "first picture", "ms": statistics.median(measure_first(server.status()["http"]) for _ in range(FIRST))}
    cameras = [daemon.camera(f"camera{i}", views=[dict(view)], width=640, height=360, fps=15) for i in range(12)]
    with serve(cameras) as server, browser.opened() as driver:
        yield measure_twelve(driver, server, seconds)


def show(row):
    print("  ".join(f"{key} {value:.1f}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    if not importlib.util.find_spec("selenium"):
        print("bench_page: left out, it needs Chromium: scripts/setup --group browser")
        return
    rows = []
    for row in measure_all(arguments.seconds):
        rows.append(row)
        if not arguments.json:
            show(row)
    if arguments.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
