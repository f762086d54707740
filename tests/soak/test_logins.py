"""What those who guess passwords, or ask for the status without pause, cost: a viewer no picture in
time, the front no memory."""

import os
import socket
import subprocess
import threading
import time

import clients
import daemon
import rtsp_user
from ports import free_port
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


def first_picture_s(server, user, password, address):
    """From the connection to the first packet of a picture."""
    begin_s = time.monotonic()
    with rtsp_user.Client(server.port, user, password, address=address) as client:
        client.play("/front/edges")
        while b"$" not in client.unread:
            client.unread += client.socket.recv(1 << 16)
    return time.monotonic() - begin_s


def test_right_logins_have_their_picture_while_sixty_addresses_guess(edged, turns, tmp_path):
    users = tmp_path / "rtsp.users"
    subprocess.run(
        [daemon.EDGECTL, "passwd", "--file", users, "vera"], input=b"veras secret\n", check=True,
        env=daemon.environment(), stdout=subprocess.DEVNULL,
    )  # fmt: skip
    server = edged([daemon.camera(**CAMERA)], settings={"rtsp": {"users": users}})
    with rtsp_user.Client(server.port, "vera", "veras secret") as vera:
        daemon.wait_for(lambda: vera.request("DESCRIBE", "/front/edges").code == 200)
    url = f"rtsp://vera:veras%20secret@127.0.0.1:{server.port}/front/edges"
    addresses = [f"127.0.1.{number}" for number in range(1, 61)]
    with clients.Viewer(url) as viewer:
        viewer.wait_numbers(100)
        with rtsp_user.guessers(server, "/front/edges", addresses):
            for turn in turns():
                viewer.new_frames()
                # One that has logged in, and one that never has.
                took_s = [first_picture_s(server, "vera", "veras secret", address)
                          for _ in range(5) for address in ("127.0.0.1", f"127.0.2.{turn % 250 + 1}")]
                gap_ms = longest_gap_ms(viewer.new_frames())
                print(f"pictures after up to {1e3 * max(took_s):.0f} ms, longest gap {gap_ms:.0f} ms")
                assert max(took_s) <= 1 and gap_ms <= GAP_MAX_MS


def ask_without_pause(port, ended):
    request = b"GET /v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n"
    while not ended.is_set():
        with socket.create_connection(("127.0.0.1", port), daemon.PATIENCE_S) as connection:
            for _ in range(100):
                connection.sendall(request)
                connection.recv(1 << 16)


def test_clients_that_ask_for_the_status_without_pause_take_a_share(edged, turns):
    port = free_port()
    server = edged([daemon.camera(**CAMERA)], settings={"http": {"port": port}})
    pid, ended = server.process.pid, threading.Event()
    with clients.Viewer(server.url("/front/edges")) as viewer:
        viewer.wait_numbers(100)
        asking = threading.Thread(target=ask_without_pause, args=(port, ended))
        asking.start()
        try:
            for _ in turns():
                viewer.new_frames()
                cpu_s, begin_s = daemon.process_cpu_s(pid), time.monotonic()
                viewer.wait_after(time.monotonic_ns() + 5 * 10**9)
                gap_ms = longest_gap_ms(viewer.new_frames())
                share = (daemon.process_cpu_s(pid) - cpu_s) / (time.monotonic() - begin_s)
                print(f"longest gap {gap_ms:.0f} ms, {share:.2f} of a core")
                assert gap_ms <= GAP_MAX_MS and share <= 0.5
        finally:
            ended.set()
            asking.join()
