"""What 20,000 wrong passwords cost: a viewer no picture in time, the front no memory."""

import os
import subprocess
import time

import clients
import daemon
import rtsp_user
from streams import CAMERA, longest_gap_ms

LOGINS, GAP_MAX_MS, MEMORY_SHARE = 20000, 100, 1.01


def test_20000_bad_logins_are_seen_by_nobody(edged, turns, tmp_path):
    users = tmp_path / "rtsp.users"
    subprocess.run(
        [daemon.EDGECTL, "passwd", "--file", users, "vera"], input=b"veras secret\n", check=True,
        env=daemon.environment(), stdout=subprocess.DEVNULL,
    )
    server = edged([daemon.camera(**CAMERA)], settings={"rtsp": {"users": users}})
    pid = server.process.pid
    with rtsp_user.Client(server.port, "vera", "veras secret") as vera:
        daemon.wait_for(lambda: vera.request("DESCRIBE", "/front/edges").code == 200)
    url = f"rtsp://vera:veras%20secret@127.0.0.1:{server.port}/front/edges"
    with clients.Viewer(url) as viewer:
        viewer.wait_numbers(300)  # what is kept of the stream is full by then
        rtsp_user.guess(server, "/front/edges", LOGINS)
        before = daemon.process_memory_kib(pid)
        for _ in turns():
            viewer.new_frames()
            cpu_s, begin_s = daemon.process_cpu_s(pid), time.monotonic()
            rtsp_user.guess(server, "/front/edges", LOGINS)
            took_s = time.monotonic() - begin_s
            gap_ms = longest_gap_ms(viewer.new_frames())
            memory = daemon.process_memory_kib(pid) / before
            print(
                f"in {took_s:.1f} s, longest gap {gap_ms:.0f} ms,"
                f" {daemon.process_cpu_s(pid) - cpu_s:.2f} s of a core,"
                f" {100 * (memory - 1):.2f} % more memory,"
                f" {len(os.listdir(f'/proc/{pid}/fd'))} descriptors"
            )
            assert gap_ms <= GAP_MAX_MS and memory <= MEMORY_SHARE
