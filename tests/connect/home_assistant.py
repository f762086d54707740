"""Home Assistant without a screen: started, onboarded and asked by its API."""

import datetime
import json
import os
import pathlib
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request

import daemon
from ports import free_port

CONFIGURATION = """
http:
  server_port: {port}
  server_host: 127.0.0.1
onboarding:
config:
api:
auth:
frontend:
logger:
  default: warning
"""

# What has no other API than its WebSocket.
ASK_FOR_STREAM = """
import aiohttp, asyncio, json, sys

async def ask(url, token, camera):
    async with aiohttp.ClientSession() as session, session.ws_connect(url) as socket:
        await socket.receive_json()
        await socket.send_json({"type": "auth", "access_token": token})
        await socket.receive_json()
        await socket.send_json({"id": 1, "type": "camera/stream", "entity_id": camera})
        print(json.dumps(await socket.receive_json()))

asyncio.run(ask(*sys.argv[1:]))
"""


class HomeAssistant:
    def __init__(self, folder):
        self.port = free_port()
        self.folder = folder
        folder.mkdir()
        (folder / "configuration.yaml").write_text(CONFIGURATION.format(port=self.port))
        self.token = None
        self.process = None

    def start(self):
        program = pathlib.Path(os.environ["EDGED_CONNECT"]) / "bin/hass"
        self.process = subprocess.Popen([program, "-c", self.folder, "--skip-pip"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=open(self.folder / "log", "a"))
        daemon.wait_for(lambda: self.ask("/manifest.json") is not None, explain=self.log)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(daemon.PATIENCE_S)

    def log(self):
        return (self.folder / "log").read_text(errors="replace")

    def ask(self, path, body=None, form=False):
        """The JSON of an answer; None: there is none, or it is refused."""
        data = None if body is None else (urllib.parse.urlencode(body) if form else json.dumps(body)).encode()
        kind = "application/x-www-form-urlencoded" if form else "application/json"
        headers = {"Content-Type": kind, **({"Authorization": f"Bearer {self.token}"} if self.token else {})}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.loads(answer.read())
        except (urllib.error.URLError, OSError):
            return None

    def onboard(self):
        site = f"http://127.0.0.1:{self.port}/"
        code = self.ask("/api/onboarding/users", {"name": "t", "username": "t", "password": "t-password",
                                                  "language": "en", "client_id": site})["auth_code"]
        self.token = self.ask("/auth/token", {"grant_type": "authorization_code", "code": code, "client_id": site},
                              form=True)["access_token"]
        for step, body in (("core_config", {}), ("analytics", {}),
                           ("integration", {"client_id": site, "redirect_uri": site})):
            self.ask(f"/api/onboarding/{step}", body)

    def add(self, handler, *steps):
        flow = self.ask("/api/config/config_entries/flow", {"handler": handler, "show_advanced_options": True})
        for step in steps:
            flow = self.ask(f"/api/config/config_entries/flow/{flow['flow_id']}", step)
        assert flow["type"] == "create_entry", flow

    def state(self, entity):
        """None: it is not there."""
        found = self.ask(f"/api/states/{entity}")
        return found and found["state"]

    def attributes(self, entity):
        return self.ask(f"/api/states/{entity}")["attributes"]

    def changed(self, entity):
        """When its state changed, in seconds since 1970."""
        return datetime.datetime.fromisoformat(self.ask(f"/api/states/{entity}")["last_changed"]).timestamp()

    def wait_state(self, entity, state):
        daemon.wait_for(lambda: self.state(entity) == state,
                        explain=lambda: f"{entity} is {self.state(entity)}\n{self.log()}")

    def picture(self, camera):
        """The JPEG that its pages show, asked for again where a busy machine has none in time."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/api/camera_proxy/{camera}",
                                         headers={"Authorization": f"Bearer {self.token}"})

        def look():
            try:
                with urllib.request.urlopen(request, timeout=daemon.PATIENCE_S) as answer:
                    assert answer.headers["Content-Type"] == "image/jpeg"
                    return answer.read()
            except urllib.error.HTTPError:
                return None

        return daemon.wait_for(look, explain=self.log)

    def stream(self, camera):
        """The address of the HLS that its pages play."""
        python = pathlib.Path(os.environ["EDGED_CONNECT"]) / "bin/python"
        told = json.loads(subprocess.run(
            [python, "-c", ASK_FOR_STREAM, f"http://127.0.0.1:{self.port}/api/websocket", self.token, camera],
            check=True, stdout=subprocess.PIPE, timeout=daemon.PATIENCE_S).stdout)
        assert told["success"], (told, self.log())
        return f"http://127.0.0.1:{self.port}{told['result']['url']}"

    def call(self, service, entity, **data):
        self.ask(f"/api/services/{service.replace('.', '/')}", {"entity_id": entity, **data})
