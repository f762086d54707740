"""RTSP clients that come in masses, send what nobody asked for, or are there when edged stops or
their view goes."""

import os
import signal
import socket
import threading
import time

import pytest

import daemon
import pattern
import rtsp

SMALL = {"width": 320, "height": 240}
CONNECTIONS_MAX = 256  # of an address
# A receiver's report over TCP, as players send it now and then.
REPORT = b"$\x01\x00\x1c\x80\xc9\x00\x06" + bytes(24)


def address_of(server):
    return "127.0.0.1", server.port


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def is_hung_up(connection):
    """Whether the other end closes a connection on which it has nothing to say."""
    connection.settimeout(daemon.PATIENCE_S)
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_idle_connections_make_room_for_viewers(edged, watch):
    server = edged([daemon.camera(**SMALL)])
    viewer = watch(server.url("/front/edges"), size=(320, 240))
    viewer.wait_numbers(pattern.FPS)
    idle = [socket.create_connection(address_of(server)) for _ in range(2 * CONNECTIONS_MAX)]
    assert is_hung_up(idle[0])
    assert descriptors(server.process.pid) < CONNECTIONS_MAX + 100
    other = watch(server.url("/front/edges"), size=(320, 240))
    other.wait_numbers(pattern.FPS)
    assert viewer.watching
    for connection in idle:
        connection.close()


def test_a_body_without_end_is_not_read_to_its_end(edged):
    server = edged([daemon.camera(**SMALL)])
    with socket.create_connection(address_of(server)) as connection:
        connection.sendall(b"OPTIONS * RTSP/1.0\r\nCSeq: 1\r\nContent-Length: 4000000000\r\n\r\n")
        connection.settimeout(daemon.PATIENCE_S)
        with pytest.raises(OSError):
            for _ in range(300):
                connection.sendall(bytes(1 << 20))
    assert rtsp.wait_served(server.url("/front/edges"))[0] == 200


def talk(connection, stopped):
    """Reports to the server all the time, and reads what it sends."""

    def read():
        try:
            while connection.recv(65536):
                pass
        except OSError:
            pass

    def write():
        try:
            while not stopped.is_set():
                connection.sendall(8 * REPORT)
                time.sleep(0.001)
        except OSError:
            pass

    threads = [threading.Thread(target=run, daemon=True) for run in (read, write)]
    for thread in threads:
        thread.start()
    return threads


@pytest.mark.parametrize("_", range(2))
def test_sigterm_while_viewers_talk_is_a_clean_end(edged, _):
    server = edged([daemon.camera(**SMALL)])
    stopped = threading.Event()
    viewers, threads = [], []
    for _ in range(24):
        viewers.append(rtsp.play_and_stall(server.url("/front/edges")))
        threads += talk(viewers[-1], stopped)
    daemon.wait_for(lambda: server.status()["viewers"] == len(viewers))
    server.stop()
    stopped.set()
    for thread in threads:
        thread.join()
    for viewer in viewers:
        viewer.close()


def test_who_has_set_up_a_view_that_goes_is_hung_up_on(edged):
    server = edged([daemon.camera(views=["edges", "gray"], **SMALL)])
    kept, _ = rtsp.set_up(server.url("/front/edges"))
    gone, _ = rtsp.set_up(server.url("/front/gray"))
    server.reload([daemon.camera(views=["edges"], **SMALL)])
    assert is_hung_up(gone)
    kept.settimeout(0.2)
    with pytest.raises(socket.timeout):
        kept.recv(1)


def test_nothing_is_reloaded_by_an_edged_that_stops(edged):
    server = edged([daemon.camera(**SMALL)])
    pid = server.wait_camera("front", lambda c: c["process"]["pid"])["process"]["pid"]
    os.kill(pid, signal.SIGSTOP)  # it is waited for
    server.signal(signal.SIGTERM)
    server.wait_notified("^STOPPING=1$")
    server.signal(signal.SIGHUP)
    assert server.process.wait(daemon.PATIENCE_S) == 0
    assert "reloaded" not in server.stderr()


def test_localhost_is_where_ipv4_viewers_look(edged):
    server = edged([daemon.camera(**SMALL)], settings={"rtsp": {"address": "localhost"}})
    assert rtsp.wait_served(server.url("/front/edges"))[0] == 200
