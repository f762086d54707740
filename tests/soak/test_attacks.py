"""Strangers who want all that edged has for viewers: others get their picture within a second, and a
viewer who is there notices nothing. What the strangers are answered is in tests/e2e/test_rtsp_attacks.py."""

import threading
import time

import pytest

import clients
import daemon
import rtsp
from ports import free_port
from rtsp_client import Connection
from streams import longest_gap_ms
from test_rtsp_attacks import crowd, playing, repeat_hellos

FIRST_PICTURE_MAX_S, GAP_MAX_MS = 1.0, 100
CAMERA = {"width": 320, "height": 240}


def pictures_come(viewer, url, transport, turns):
    """Newcomers, one after the other, beside a viewer who is there."""
    viewer.wait_numbers(60)
    viewer.new_frames()
    worst_s = 0.0
    for _ in turns():
        begin_s = time.monotonic()
        with Connection(url) as connection:
            playing(connection, url, transport)
        worst_s = max(worst_s, time.monotonic() - begin_s)
    gap_ms = longest_gap_ms(viewer.new_frames())
    print(f"first five pictures within {worst_s:.2f} s, longest gap {gap_ms:.0f} ms")
    assert worst_s <= FIRST_PICTURE_MAX_S and gap_ms <= GAP_MAX_MS


@pytest.mark.parametrize("plays", [False, True])
def test_sessions_that_one_address_hoards_keep_nobody_out(edged, turns, plays):
    """128 connections with 8 SETUPs each, played and paused or left alone."""
    server = edged([daemon.camera(**CAMERA)])
    url = server.url("/front/edges")
    rtsp.wait_served(url)
    with clients.Viewer(url) as viewer:
        viewer.wait_numbers(1)
        greedy, answers = crowd(url, "127.0.0.2", 128, 8)
        assert answers.count(200) == 256
        if plays:
            for connection in greedy:
                connection.write("PLAY", url)
                connection.write("PAUSE", url)
        pictures_come(viewer, url, "tcp", turns)
        for connection in greedy:
            connection.close()


def test_handshakes_that_six_addresses_repeat_keep_nobody_out(edged, turns, tmp_path):
    port, ended = free_port(), threading.Event()
    server = edged(
        [daemon.camera(**CAMERA)], STATE_DIRECTORY=tmp_path, settings={"rtsp": {"tls_port": port}}
    )
    url, secure = server.url("/front/edges"), f"rtsps://127.0.0.1:{port}/front/edges"
    rtsp.wait_served(url)
    addresses = [f"127.0.0.{number}" for number in range(10, 16)]
    attack = threading.Thread(target=repeat_hellos, args=(port, addresses, ended))
    with clients.Viewer(url) as viewer:
        attack.start()
        try:
            pictures_come(viewer, secure, "tls", turns)
        finally:
            ended.set()
            attack.join()
