"""What a viewer over TCP costs edged's front, beside gst-rtsp-server.

Both serve one H.264 stream of noise, 2 Mbit/s, to viewer_load on loopback. CPU is that of the front
alone, which encodes nothing; the peer encodes in the same process, so that its rows tell a viewer's
cost by what they have more than its row of one viewer.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import daemon  # noqa: E402
import rtsp  # noqa: E402

LOAD = daemon.BUILD / "tests/bench/viewer_load"
BITRATE_KBPS = 2000
# What the peer shows: no encoder makes it small.
NOISE = (
    "videotestsrc is-live=true pattern=snow"
    " ! video/x-raw,format=NV12,width=320,height=240,framerate=30/1"
)
LIMITS = {
    "connections": 4096, "connections_an_address": 4096,
    "sessions": 4096, "sessions_an_address": 4096,
}  # fmt: skip


def process_status(pid):
    """Resident memory in KiB and the number of threads."""
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    return int(fields["VmRSS"].split()[0]), int(fields["Threads"])


def watch(url, pid, count, seconds):
    """Has `count` viewers watch. What that costs process `pid`, as a row of the table."""
    with subprocess.Popen(
        [LOAD, url, str(count), str(seconds)], stdout=subprocess.PIPE, text=True
    ) as load:
        assert load.stdout.readline() == "playing\n", "viewer_load failed"
        begin_s, begin_cpu_s = time.monotonic(), daemon.process_cpu_s(pid)
        counts = json.loads(load.stdout.readline())
        span_s, cpu_s = time.monotonic() - begin_s, daemon.process_cpu_s(pid) - begin_cpu_s
        resident_kb, threads = process_status(pid)
    return {
        "viewers": count, "cpu_percent": 100 * cpu_s / span_s, "resident_mb": resident_kb / 1024,
        "threads": threads, "mbit_a_viewer": counts["bytes"] * 8e-6 / count / span_s, **counts,
    }  # fmt: skip


def measure_edged(counts, seconds):
    view = {"name": "noise", "view": "camera", "encoder": "x264enc", "bitrate_kbps": BITRATE_KBPS}
    camera = daemon.camera(
        source="gstreamer", pipeline=NOISE, views=[view], width=320, height=240, fps=30
    )
    with tempfile.TemporaryDirectory(prefix="edged-bench-") as directory:
        server = daemon.Daemon(directory, [camera], settings={"rtsp": {"limits": LIMITS}})
        try:
            server.start()
            url = server.url("/front/noise")
            rtsp.wait_served(url)
            for count in counts:
                yield watch(url, server.process.pid, count, seconds)
            server.stop()
        finally:
            server.kill()


def measure_peer(counts, seconds):
    command = [sys.executable, HERE / "gst_peer.py", "--bitrate", str(BITRATE_KBPS)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        port = server.stdout.readline().split()[1]
        for count in counts:
            yield watch(f"rtsp://127.0.0.1:{port}/edges", server.pid, count, seconds)
        server.stdin.close()


def print_row(name, row):
    print(
        f"{name:16} {row['viewers']:5} viewers  {row['mbit_a_viewer']:5.2f} Mbit/s each"
        f"  CPU {row['cpu_percent']:6.1f} %  {row['resident_mb']:6.1f} MiB"
        f"  {row['threads']:4} threads  lost {row['lost']:5} packets"
        f"  frames {row['fewest_frames']}-{row['most_frames']}"
        f"  longest gap {row['longest_gap_ms']} ms",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10, help="of each row (default 10)")
    parser.add_argument("--edged", type=int, nargs="*", default=[1, 50, 1000], metavar="VIEWERS")
    parser.add_argument("--peer", type=int, nargs="*", default=[1, 50], metavar="VIEWERS")
    parser.add_argument("--json", action="store_true", help="print JSON alone")
    arguments = parser.parse_args()
    rows = []
    for name, measure, counts in (
        ("edged", measure_edged, arguments.edged),
        ("gst-rtsp-server", measure_peer, arguments.peer),
    ):
        for row in measure(counts, arguments.seconds):
            rows.append({"server": name, **row})
            if not arguments.json:
                print_row(name, row)
    if arguments.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
