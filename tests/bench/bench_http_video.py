"""What readers of video over HTTP cost edged's front, beside viewers of RTSP over TCP, and how long a
picture takes to each.

One stream of the pattern's edges, 1280x720 at 30 a second, to readers that throw it away. CPU is that of
the front alone, which encodes nothing. The time is that from the camera's clock to the last byte of a
picture at one more client of each kind.
"""

import argparse
import contextlib
import json
import pathlib
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "e2e")]
import bench_viewers  # noqa: E402
import daemon  # noqa: E402
import http_video  # noqa: E402
import rtsp  # noqa: E402
import rtsp_client  # noqa: E402
from ports import free_port  # noqa: E402

WARM_UP_S = 2


def drain(port, path, count, seconds):
    """Has `count` readers read for so long; prints "playing" before it is measured, as viewer_load."""
    selector = selectors.DefaultSelector()
    for _ in range(count):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        selector.register(connection, selectors.EVENT_READ)
    buffer = bytearray(1 << 18)
    received, begun, ends = 0, False, time.monotonic() + WARM_UP_S
    while True:
        for key, _ in selector.select(0.1):
            size = key.fileobj.recv_into(buffer)
            assert size, "the server hung up"
            received += size
        if time.monotonic() < ends:
            continue
        if begun:
            break
        begun, received, ends = True, 0, time.monotonic() + seconds
        print("playing", flush=True)
    print(json.dumps({"bytes": received}), flush=True)
    sys.stdin.read()  # the readers stay until their cost is known


def cost(command, pid):
    """CPU of process `pid` in percent while the readers of `command` read."""
    with subprocess.Popen(list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as load:
        assert load.stdout.readline() == "playing\n", "no reader"
        begin_s, begin_cpu_s = time.monotonic(), daemon.process_cpu_s(pid)
        received = json.loads(load.stdout.readline())["bytes"]
        span_s = time.monotonic() - begin_s
        return 100 * (daemon.process_cpu_s(pid) - begin_cpu_s) / span_s, received * 8e-6 / span_s


def http_latencies(port, path, count):
    found = []
    with http_video.Video(None, path, port=port) as video:
        for _ in range(count):
            unit = video.next(http_video.UNIT)
            found.append((unit.time_us, time.time_ns() // 1000))
    return found


def note_arrivals(url, count, found):
    """Adds when the last packet of each picture came, in microseconds since 1970."""
    with rtsp_client.Connection(url) as connection:
        session = rtsp_client.set_up(connection, url)
        session.play()
        while len(found) < count:
            _, data = session.read()
            if data[1] & 0x80:  # the marker; RTCP has it too, and other types
                if not 200 <= data[1] <= 206:
                    found.append(time.time_ns() // 1000)


def percentiles(values):
    values = sorted(values)
    return [round(values[int(share * (len(values) - 1))] / 1e3, 2) for share in (0.5, 0.95, 0.99)]


def latencies(server, port, path, count):
    """p50, p95 and p99 in ms of HTTP and of RTSP. A picture of RTSP is the one of HTTP that came next to
    it, since only HTTP says when it was captured."""
    arrivals = []
    thread = threading.Thread(target=note_arrivals, args=(server.url("/front/edges"), count + 60, arrivals))
    thread.start()
    daemon.wait_for(lambda: arrivals)
    records = http_latencies(port, path, count)
    thread.join()
    records = records[30:]
    by_rtsp = []
    for captured_us, came_us in records:
        nearest = min(arrivals, key=lambda arrival: abs(arrival - came_us))
        if abs(nearest - came_us) < 15000:
            by_rtsp.append(nearest - captured_us)
    return percentiles([came - captured for captured, came in records]), percentiles(by_rtsp)


@contextlib.contextmanager
def served(port):
    limits = {"connections": 1000, "connections_an_address": 1000}
    settings = {"http": {"port": port, "limits": limits}, "rtsp": {"limits": bench_viewers.LIMITS}}
    with tempfile.TemporaryDirectory(prefix="edged-bench-") as directory:
        server = daemon.Daemon(directory, [daemon.camera()], settings=settings)
        try:
            server.start()
            rtsp.wait_served(server.url("/front/edges"))
            yield server
            server.stop()
        finally:
            server.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8, help="of each row (default 8)")
    parser.add_argument("--readers", type=int, nargs="*", default=[1, 10, 100])
    parser.add_argument("--drain", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.drain:
        port, path, count, seconds = arguments.drain
        drain(int(port), path, int(count), float(seconds))
        return
    port = free_port()
    with served(port) as server:
        url, pid = server.url("/front/edges"), server.process.pid
        paths = {"records": http_video.of("front", "edges"), "mp4": http_video.of("front", "edges", format="mp4")}
        for count in arguments.readers:
            rows = {"RTSP": cost([bench_viewers.LOAD, url, count, int(arguments.seconds)], pid)}
            for name, path in paths.items():
                command = [sys.executable, __file__, "--drain", port, path, count, arguments.seconds]
                rows[name] = cost(command, pid)
            for name, (cpu, mbit) in rows.items():
                print(f"{count:4} readers  {name:8} CPU {cpu:6.2f} %, {cpu / count:6.3f} each"
                      f"  {mbit / count:5.2f} Mbit/s each", flush=True)
        by_http, by_rtsp = latencies(server, port, paths["records"], 300)
        print(f"capture to client, p50 p95 p99 in ms: records {by_http}, RTSP {by_rtsp}")


if __name__ == "__main__":
    main()
