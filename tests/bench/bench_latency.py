"""Push-to-decoded latency and server CPU of edged beside a stock GStreamer edge pipeline.

Both serve the moving pattern over RTSP on loopback with the same encoder settings, in turns, to the
same client: rtspsrc without jitter buffer, one decoder thread. The pattern carries the frame's
number, so the latency of frame n is the time from when n was pushed to when n was decoded:
- stock: the moment before push-buffer of a picture drawn beforehand;
- edged: the frame's capture time (due time), 30 a second from the one that its log names;
  drawing the picture counts against edged.
CPU is user and system time of the server's processes alone, both of edged's.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import clients  # noqa: E402
import daemon  # noqa: E402
import pattern  # noqa: E402

WIDTH, HEIGHT, BITRATE_KBPS, KEY_FRAMES = 1280, 720, 4000, 30
WARM_UP_FRAMES = pattern.FPS
STOCK_FILTER = "videoconvert ! cvsobel ! videoconvert"
STOCK_ENCODER = (
    "x264enc tune=zerolatency speed-preset=ultrafast"
    f" key-int-max={KEY_FRAMES} bitrate={BITRATE_KBPS}"
)
CAPTURED = re.compile(r"frame (\d+) was captured at (\d+) ns")


def watch(url, view, seconds, processes):
    """Watches for `seconds` after the warm-up. Returns the frames and the servers' CPU share."""
    with clients.Viewer(url, transport="udp", view=view) as viewer:
        viewer.wait_numbers(WARM_UP_FRAMES)
        begin_cpu_s = sum(daemon.process_cpu_s(pid) for pid in processes)
        begin = len(viewer.numbers())
        frames = viewer.wait_frames(begin + int(seconds * pattern.FPS), seconds + 10)
        cpu_s = sum(daemon.process_cpu_s(pid) for pid in processes) - begin_cpu_s
    frames = frames[begin:]
    span_s = (frames[-1][1] - frames[0][1]) / 1e9
    return frames, 100 * cpu_s / span_s


def summarize(frames, pushed_ns, cpu_percent):
    seen = [(number, arrival_ns) for number, arrival_ns in frames if number is not None]
    latencies = sorted((arrival_ns - pushed_ns(number)) / 1e6 for number, arrival_ns in seen)
    expected = seen[-1][0] - seen[0][0] + 1
    return {
        "p50_ms": statistics.median(latencies),
        "p95_ms": latencies[int(0.95 * len(latencies))],
        "max_ms": latencies[-1],
        "cpu_percent": cpu_percent,
        "frames": len(seen),
        "lost": expected - len({number for number, _ in seen}),
    }


def measure_edged(seconds):
    view = {
        "name": "edges", "view": "edges", "encoder": "x264enc", "bitrate_kbps": BITRATE_KBPS,
        "keyframe_s": KEY_FRAMES / pattern.FPS,
    }
    camera = daemon.camera(views=[view], width=WIDTH, height=HEIGHT, fps=pattern.FPS)
    with tempfile.TemporaryDirectory(prefix="edged-bench-") as directory:
        server = daemon.Daemon(directory, [camera], EDGED_LOG="debug")
        try:
            server.start()
            server.wait_stderr(CAPTURED.pattern)
            processes = [server.process.pid, *daemon.process_children(server.process.pid)]
            frames, cpu = watch(server.url("/front/edges"), "edges", seconds, processes)
            number, captured_ns = map(int, CAPTURED.findall(server.stderr())[-1])
            server.stop()
        finally:
            server.kill()
    return summarize(
        frames, lambda n: captured_ns + (n - number) * 1_000_000_000 / pattern.FPS, cpu
    )


def measure_stock(seconds):
    command = [sys.executable, HERE / "stock_server.py", "--filter", STOCK_FILTER]
    command += ["--encoder", STOCK_ENCODER, "--seconds", str(int(seconds) + 8)]
    command += ["--width", str(WIDTH), "--height", str(HEIGHT)]
    pushed = {}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        port = server.stdout.readline().split()[1]

        def read_pushes():
            for line in server.stdout:
                _, number, pushed_ns = line.split()
                pushed[int(number)] = int(pushed_ns)

        reader = threading.Thread(target=read_pushes)
        reader.start()
        try:
            url = f"rtsp://127.0.0.1:{port}/edges"
            frames, cpu = watch(url, "cvsobel", seconds, [server.pid])
        finally:
            server.stdin.close()
            reader.join()
    return summarize(frames, pushed.__getitem__, cpu)


def medians(rounds):
    return {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}


def print_row(name, row):
    print(
        f"{name:14} p50 {row['p50_ms']:6.2f} ms  p95 {row['p95_ms']:6.2f} ms"
        f"  CPU {row['cpu_percent']:5.1f} %  frames {row['frames']:g}  lost {row['lost']:g}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="turns of each server (default 3)")
    parser.add_argument("--seconds", type=float, default=10, help="of each turn (default 10)")
    parser.add_argument("--json", action="store_true", help="print JSON alone")
    arguments = parser.parse_args()
    results = {"edged": [], "stock": []}
    for number in range(1, arguments.rounds + 1):
        for name, measure in (("edged", measure_edged), ("stock", measure_stock)):
            results[name].append(measure(arguments.seconds))
            if not arguments.json:
                print_row(f"{name} round {number}", results[name][-1])
    summary = {name: medians(rounds) for name, rounds in results.items()}
    ratios = {
        key: summary["edged"][key] / summary["stock"][key]
        for key in ("p50_ms", "p95_ms", "cpu_percent")
    }
    if arguments.json:
        print(json.dumps({"rounds": results, "medians": summary, "edged_to_stock": ratios}))
        return
    for name, row in summary.items():
        print_row(f"{name} median", row)
    print(
        f"edged to stock: p50 {ratios['p50_ms']:.2f}, p95 {ratios['p95_ms']:.2f},"
        f" CPU {ratios['cpu_percent']:.2f}  (stock: {STOCK_FILTER} ! {STOCK_ENCODER})"
    )


if __name__ == "__main__":
    main()
