"""What JPEGs of a view cost a camera process by their size: one MJPEG stream of 1920x1080 at 30 a second, whole and
small. The time is that of the thread that makes them, the size that of a JPEG.

usage: bench_snapshots.py [--seconds 8]
"""

import argparse
import os
import pathlib
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "e2e"), str(pathlib.Path(__file__).resolve().parents[1])]

import daemon  # noqa: E402


def thread_s(process):
    """CPU of the thread that makes JPEGs."""
    task, = (task for task in pathlib.Path(f"/proc/{process}/task").iterdir()
             if (task / "comm").read_text().strip() == "snapshots")
    return int((task / "schedstat").read_text().split()[0]) / 1e9


def stream(server, query, seconds):
    """Prints what a JPEG costs while a client reads for so long."""
    connection = daemon.UnixConnection(server.socket)
    connection.request("GET", f"/stream.mjpg?{query}")
    response = connection.getresponse()
    response.read(1000)
    process, = (child for child in daemon.process_children(server.process.pid)
                if "edged-camera" in pathlib.Path(f"/proc/{child}/cmdline").read_text())
    made, cpu_s, ends, received = server.mount("/front/plain")["snapshots"], thread_s(process), time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        received += len(response.read1(1 << 16))
    made, cpu_s = server.mount("/front/plain")["snapshots"] - made, thread_s(process) - cpu_s
    connection.close()
    print(f"{query or 'whole':12} {1000 * cpu_s / made:6.2f} ms a JPEG, {received / made / 1000:6.1f} kB, "
          f"{made / seconds:4.1f} a second")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=8)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = daemon.Daemon(folder, [daemon.camera(width=1920, height=1080, views=[{"name": "plain", "view": "camera"}])]).start()
        try:
            server.wait_camera("front", lambda camera: camera["state"] == "live")
            print(f"load {os.getloadavg()[0]:.1f}")
            for query in ("", "scale=1/2", "width=640", "width=320", "width=160"):
                stream(server, query, arguments.seconds)
        finally:
            server.stop()


main()
