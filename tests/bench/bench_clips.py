"""How long clients wait for lists and timelines of many clips: 30 days of them by default, asked of a running
edged over its control socket, whose recorder has their index alone.

usage: bench_clips.py [--clips 100000] [--days 30]
"""

import argparse
import json
import pathlib
import statistics
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "e2e"), str(pathlib.Path(__file__).resolve().parents[1])]

import daemon  # noqa: E402
from recorder_front import write_clips  # noqa: E402

BEGIN_S = 1_790_000_000  # of write_clips()
TURNS = 20


def measure(server, what, path):
    """Prints the median and the longest of some turns; returns the last reply."""
    took_ms = []
    for _ in range(TURNS):
        begin = time.monotonic()
        text = server.http_get(path)
        took_ms.append(1000 * (time.monotonic() - begin))
        time.sleep(0.05)
    print(f"{what:36} {statistics.median(took_ms):6.1f} ms, at most {max(took_ms):6.1f}; {len(text) / 1000:.1f} kB")
    return json.loads(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clips", type=int, default=100_000)
    parser.add_argument("--days", type=int, default=30)
    arguments = parser.parse_args()
    end_s = BEGIN_S + arguments.days * 86400
    middle = arguments.clips // 2
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_clips(folder / "clips", arguments.clips, days=arguments.days)
        camera = daemon.camera(width=320, height=240, record={"mode": "events"})
        server = daemon.Daemon(folder, [camera], settings={"storage": {"path": str(folder / "clips")}}).start()
        try:
            daemon.wait_for(lambda: server.status()["recorder"].get("clips") == arguments.clips, 60, server.stderr)
            span = f"from={BEGIN_S}&to={end_s}"
            told = measure(server, "timeline, 2000 steps", f"/v1/timeline?{span}&steps=2000")
            assert len(told["lanes"]) == 9 and arguments.days <= len(told["days"]) <= arguments.days + 1
            measure(server, "timeline of 10 minutes, 600 steps",
                    f"/v1/timeline?from={end_s - 600}&to={end_s}&steps=600")
            for what, query in (("newest 100", ""), ("100 before the middle", f"before={middle}"),
                                ("the oldest 100 by time", f"to={BEGIN_S + 3600}"),
                                ("1000 before the middle", f"before={middle}&limit=1000"),
                                ("100 after the oldest", "after=1"), ("camera without clips", "camera=other"),
                                ("region without clips", "region=other")):
                measure(server, f"page: {what}", f"/v1/clips?{query}")
        finally:
            server.stop()


main()
