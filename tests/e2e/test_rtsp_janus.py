"""Janus, the WebRTC server, fetches a stream as recorders do: what its streaming plugin records is
taken apart and decoded. scripts/setup leaves it out: its package starts it, on every address."""

import json
import pathlib
import shutil
import struct
import subprocess
import urllib.request

import pytest

import daemon
import rtp
import rtsp
from ports import free_port
from test_rtsp_players import PICTURES, SIZE, read_numbers

PASSWORD = "correct horse"


class Janus:
    """One that fetches `url` as its stream number 1, asked over HTTP."""

    def __init__(self, directory, url, login):
        plugins = next(pathlib.Path("/usr/lib").glob("**/janus/plugins"))
        self.port = free_port()
        self.settings = directory
        self._write("janus.jcfg", f"""
            general: {{ plugins_folder = "{plugins}"; configs_folder = "{directory}";
                        transports_folder = "{plugins.parent}/transports"; }};
            plugins: {{ disable = "libjanus_voicemail.so,libjanus_recordplay.so"; }};
        """)
        self._write("janus.transport.http.jcfg",
                    f'general: {{ http = true; port = {self.port}; interface = "lo"; }};')
        self._write("janus.plugin.streaming.jcfg", f"""
            camera: {{ type = "rtsp"; id = 1; audio = false; video = true; url = "{url}"; {login} }};
        """)
        self.log = directory / "janus.log"
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                ["janus", "-o", "-C", directory / "janus.jcfg", "-F", directory],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            )

    def _write(self, name, text):
        (self.settings / name).write_text(text)

    def ask(self, path, **body):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/janus{path}",
            json.dumps({"transaction": "t", **body}).encode(),
        )
        with urllib.request.urlopen(request, timeout=daemon.PATIENCE_S) as reply:
            return json.load(reply)

    def is_there(self):
        try:
            return self.ask("", janus="ping")
        except OSError:
            return None

    def record(self, path):
        session = self.ask("", janus="create")["data"]["id"]
        plugin = self.ask(f"/{session}", janus="attach", plugin="janus.plugin.streaming")
        media = [{"mid": "v", "filename": str(path)}]
        told = self.ask(
            f"/{session}/{plugin['data']['id']}", janus="message",
            body={"request": "recording", "action": "start", "id": 1, "media": media},
        )["plugindata"]["data"]
        assert told == {"streaming": "ok"}, told

    def close(self):
        self.process.kill()  # asked to end while it starts, it may never do so
        self.process.wait()


def recorded_packets(path):
    """The RTP packets of a recording as far as it is written: a line about it, then for each
    "MEET", a time and the packet behind its size (janus record.c)."""
    data = path.read_bytes() if path.exists() else b""
    if len(data) < 10:
        return
    assert data[:8] == b"MJR00002", data[:8]
    at = 10 + struct.unpack("!H", data[8:10])[0]
    while at + 10 <= len(data):
        mark, _, size = struct.unpack("!4sIH", data[at : at + 10])
        assert mark == b"MEET", mark
        at += 10 + size
        if at <= len(data):
            yield rtp.parse_packet(data[at - size : at])


def decode(path, directory):
    """The numbers on the pictures recorded from the first key frame on."""
    packets, stream = [], b""
    for packet in recorded_packets(path):
        packets.append(packet)
        if packet.marker:
            unit, packets = rtp.parse_unit(packets), []
            if stream or rtp.is_key(unit):
                stream += b"".join(b"\0\0\0\1" + nal for nal in unit.nals)
    if stream:
        subprocess.run(
            ["ffmpeg", "-nostdin", "-y", "-loglevel", "error", "-f", "h264", "-i", "-",
             directory / "%d.png"], input=stream, check=True, timeout=daemon.PATIENCE_S,
        )  # fmt: skip
    return read_numbers(directory)


@pytest.mark.skipif(not shutil.which("janus"), reason="janus is not installed")
@pytest.mark.parametrize("has_login", [False, True], ids=["open", "digest"])
def test_janus_fetches_pictures(edged, tmp_path, has_login):
    users, settings, login = tmp_path / "rtsp.users", {}, ""
    if has_login:
        subprocess.run(
            [daemon.EDGECTL, "passwd", "--file", users, "jan"], text=True, check=True,
            input=f"{PASSWORD}\n", env=daemon.environment(),
        )
        settings = {"rtsp": {"users": users}}
        login = f'rtsp_user = "jan"; rtsp_pwd = "{PASSWORD}";'
    server = edged([daemon.camera(views=["gray"], **SIZE)], settings=settings)
    server.wait_camera("front", lambda c: c["state"] == "live")
    url = server.url("/front/gray")
    if not has_login:
        rtsp.wait_served(url)
    for name in ("janus", "pictures"):
        (tmp_path / name).mkdir()
    janus = Janus(tmp_path / "janus", url, login)
    try:
        daemon.wait_for(janus.is_there, explain=janus.log.read_text)
        server.wait_mount("/front/gray", lambda mount: mount["viewers"] == 1)
        janus.record(tmp_path / "janus/camera")
        daemon.wait_for(
            lambda: len(decode(tmp_path / "janus/camera.mjr", tmp_path / "pictures")) >= PICTURES,
            explain=janus.log.read_text,
        )
    finally:
        janus.close()
