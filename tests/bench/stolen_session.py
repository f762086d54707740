"""What a stranger who knows a viewer's Session does with it, at edged and at gst-rtsp-server.

Both ask for a login, which the stranger does not have. For each method: what the stranger is
answered on a connection of its own, and whether the viewer is still sent frames 3 s after the
stranger has hung up.
"""

import base64
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "e2e"))
import daemon  # noqa: E402
import rtsp_client  # noqa: E402
from rtsp_client import Connection  # noqa: E402

USER, PASSWORD = "vera", "correct horse"
WATCHED_S = 3


class BasicConnection(Connection):
    """Logs in as gst-rtsp-server wants it."""

    def ask(self, method, url, headers=(), body=b"", version="RTSP/1.0"):
        secret = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        headers = {"Authorization": f"Basic {secret}", **dict(headers)}
        return super().ask(method, url, headers, body, version)


def steal(url, session, method):
    """The stranger's one request. Returns how it was answered."""
    try:
        with Connection(url) as thief:
            headers = {"Session": session.id, "Transport": "RTP/AVP/TCP;unicast;interleaved=0-1"}
            return str(thief.ask(method, url, headers).status)
    except (AssertionError, OSError):
        return "hung up"


def count_frames(session, seconds):
    """How many access units still come; what came before the theft is read, too."""
    end_s, frames = time.monotonic() + seconds, 0
    session.connection.socket.settimeout(seconds)
    try:
        while time.monotonic() < end_s:
            is_rtcp, data = session.read()
            frames += not is_rtcp and data[1] >> 7
    except (AssertionError, TimeoutError, OSError, socket.timeout):
        pass
    return frames


def probe(name, url, connect):
    for method in (None, *rtsp_client.METHODS):
        with connect(url) as victim:
            session = rtsp_client.set_up(victim, url)
            assert session.ask("PLAY").status == 200
            assert count_frames(session, 1) > 0
            answer = steal(url, session, method) if method else "nothing"
            count_frames(session, 1)
            frames = count_frames(session, WATCHED_S)
        fate = "goes on" if frames >= WATCHED_S * 5 else f"ENDS ({frames} frames)"
        asked = method or "(nobody)"
        print(f"{name:16} {asked:14} answered {answer:8} the viewer's video {fate}", flush=True)


def probe_edged():
    with tempfile.TemporaryDirectory(prefix="edged-bench-") as directory:
        users = pathlib.Path(directory) / "rtsp.users"
        subprocess.run(
            [daemon.EDGECTL, "passwd", "--file", users, "--role", "viewer", USER], text=True,
            input=f"{PASSWORD}\n", check=True, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        server = daemon.Daemon(
            directory, [daemon.camera(width=320, height=240)], settings={"rtsp": {"users": users}}
        )
        try:
            server.start()
            url = server.url("/front/edges")
            connect = lambda place: Connection(place, login=(USER, PASSWORD))  # noqa: E731
            with connect(url) as connection:
                daemon.wait_for(lambda: connection.ask("DESCRIBE", url).status == 200)
            probe("edged", url, connect)
            server.stop()
        finally:
            server.kill()


def probe_peer():
    command = [sys.executable, HERE / "gst_peer.py", "--login", USER, PASSWORD]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        port = server.stdout.readline().split()[1]
        probe("gst-rtsp-server", f"rtsp://127.0.0.1:{port}/edges", BasicConnection)
        server.stdin.close()


if __name__ == "__main__":
    probe_edged()
    probe_peer()
