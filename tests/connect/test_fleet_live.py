"""config/fleet/live and systemd/edged-push@.service: a view pushed to nginx-rtmp and played from there as HLS."""

import os
import re
import shlex
import subprocess
import sys

import pytest

import daemon
import fleet
from fleet import recipe
from ports import free_port

sys.path.append(str(daemon.ROOT / "tests/systemd"))
import beds  # noqa: E402
from container import Container  # noqa: E402

STREAM = "jetson-front-edges"


class Relay:
    def __init__(self, folder, device_port, stream=STREAM):
        self.stream = stream
        self.folder, self.rtmp, self.http, self.hook = folder, free_port(), free_port(), free_port()
        folder.mkdir()
        (folder / "hls").mkdir()
        (folder / "edged-keys.conf").write_text(f'"{stream} secret" 1;\n')
        self.configuration = recipe("live/nginx-rtmp.conf", folder, {
            "listen 1935": f"listen 127.0.0.1:{self.rtmp}", "listen 8080": f"listen 127.0.0.1:{self.http}", "8089": self.hook,
            "/var/lib/nginx": folder, "/etc/nginx/": f"{folder}/", "rtsp://$name.example:8554": f"rtsp://127.0.0.1:{device_port}",
            "rtmp://127.0.0.1/pull": f"rtmp://127.0.0.1:{self.rtmp}/pull"})
        user = "user root; " if os.geteuid() == 0 else ""
        self.options = ["-c", self.configuration, "-g", f"{user}daemon off; pid {folder}/pid; error_log stderr notice;"]
        self.url = f"rtmp://127.0.0.1:{self.rtmp}"

    def start(self):
        return fleet.Engine("start worker process", "/usr/sbin/nginx", *self.options)

    def playlist(self):
        path = self.folder / f"hls/{self.stream}.m3u8"
        return path.read_text() if path.exists() else ""

    def play(self, pictures, url=None):
        """How many different pictures a player gets."""
        done = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", url or f"http://127.0.0.1:{self.http}/hls/{self.stream}.m3u8",
                               "-frames:v", str(pictures), "-f", "framehash", "-"], capture_output=True, text=True,
                              timeout=daemon.PATIENCE_S, check=False)
        return len({line.split(",")[-1] for line in done.stdout.splitlines() if not line.startswith("#")})


def push(server, relay, key):
    """What edged-push@front-edges.service runs on the host jetson."""
    unit = (daemon.ROOT / "systemd/edged-push@.service").read_text()
    command = re.search(r"^ExecStart=(.*)$", unit, re.M)[1]
    words = {"%I": "front/edges", "%H": "jetson", "%i": "front-edges", "${EDGED}": server.url(""), "$FORMAT": "-f flv",
             "${RELAY}": f"{relay.url}/live", "${KEY}": f"?key={key}"}
    for word, text in words.items():
        assert word in command
        command = command.replace(word, text.rstrip("/"))
    return subprocess.Popen(shlex.split(command), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def test_a_view_is_pushed_and_played_as_hls(edged, engines, tmp_path):
    server = edged([daemon.camera(width=320, height=240, fps=10)])
    relay = Relay(tmp_path / "relay", server.port)
    engines.append(relay.start())
    stranger = push(server, relay, "wrong")
    assert stranger.wait(daemon.PATIENCE_S) != 0
    assert not relay.playlist()
    pushing = push(server, relay, "secret")
    try:
        daemon.wait_for(lambda: relay.playlist().count("#EXTINF") >= 2)
        assert relay.play(20) == 20
        # A camera process that is replaced does not end it.
        segments = re.findall(r"-(\d+)\.ts", relay.playlist())
        os.kill(server.camera()["process"]["pid"], 9)
        daemon.wait_for(lambda: int(re.findall(r"-(\d+)\.ts", relay.playlist())[-1]) > int(segments[-1]) + 3)
        assert pushing.poll() is None
        assert relay.play(10) > 1
        # A relay that starts anew ends it, and systemd starts it again, which is played as before.
        engines[-1].end()
        assert pushing.wait(daemon.PATIENCE_S) != 0
        engines.append(relay.start())
        pushing = push(server, relay, "secret")
        daemon.wait_for(lambda: "#EXT-X-DISCONTINUITY" in relay.playlist() and relay.playlist().count("#EXTINF") >= 2)
        assert relay.play(20) == 20
    finally:
        pushing.kill()
        pushing.wait()


def test_a_view_is_pulled_only_while_somebody_watches(edged, engines, tmp_path):
    server = edged([daemon.camera(width=320, height=240, fps=10)])
    relay = Relay(tmp_path / "relay", server.port)
    engines.append(relay.start())
    assert server.status()["viewers"] == 0
    assert relay.play(10, f"{relay.url}/pull/gate") == 10
    daemon.wait_for(lambda: server.status()["viewers"] == 0)


@pytest.fixture
def container():
    bed = Container()
    bed.check("apt-get -q update && apt-get -q -y install --no-install-recommends ffmpeg", 500)
    yield bed
    bed.close()


def test_systemd_pushes_again_whenever_the_relay_is_back(container, engines, tmp_path):
    """The unit itself, with its sandbox around ffmpeg, which is installed in there."""
    port = free_port()
    container.restart(f"""
        rtsp = {{ port = {port}; }};
        http = {{ port = 0; }};
        cameras = ( {{ name = "front"; source = "pattern"; width = 320; height = 240; fps = 10; }} );""")
    stream = f"{container.check('hostname').strip()}-front-edges"
    relay = Relay(tmp_path / "relay", port, stream)
    engines.append(relay.start())
    container.write("/etc/edged/push.conf", f"RELAY={relay.url}/live\nKEY=?key=secret\nEDGED=rtsp://127.0.0.1:{port}")
    container.check("chmod 600 /etc/edged/push.conf && systemctl enable --now edged-push@front-edges")
    daemon.wait_for(lambda: relay.playlist().count("#EXTINF") >= 2, explain=lambda: pushed(container))
    assert relay.play(20) == 20
    engines[-1].end()
    beds.wait_until("it is started again", lambda: int(container.check("systemctl show -P NRestarts edged-push@front-edges")) >= 1)
    engines.append(relay.start())
    daemon.wait_for(lambda: "#EXT-X-DISCONTINUITY" in relay.playlist() and relay.playlist().count("#EXTINF") >= 2,
                    explain=lambda: pushed(container))
    assert relay.play(20) == 20


def pushed(container):
    return container.run("journalctl --no-pager -u 'edged-push@*' -n 20")[1]
