"""config/fleet/metrics: a site's Prometheus asks edged by HTTPS, a centre's asks that one, an Alertmanager tells people."""

import http.server
import json
import re
import shutil
import threading
import urllib.parse
import urllib.request

import pytest

import daemon
import fleet
from fleet import recipe, run
from ports import free_port

DASHBOARD = json.loads((fleet.FLEET / "metrics/grafana-edged.json").read_text())
LOST = "EdgedCameraLost"


@pytest.fixture
def people():
    """Whom the Alertmanager tells: (port, messages)."""
    messages = []

    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            messages.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1], messages
    server.shutdown()


def ask(port, path, **query):
    url = f"http://127.0.0.1:{port}{path}?{urllib.parse.urlencode(query)}"
    with urllib.request.urlopen(url, timeout=daemon.PATIENCE_S) as answer:
        return json.loads(answer.read())


def query(port, expression):
    return ask(port, "/api/v1/query", query=expression)["data"]["result"]


def prometheus(engines, folder, name, port, changes):
    """Its first configuration is the recipe, asked for each second instead of each 15 or 30."""
    shutil.copy(fleet.FLEET / "metrics/edged-rules.yml", folder)
    path = recipe(f"metrics/{name}", folder, changes)
    path.write_text(re.sub(r"(scrape|evaluation)_interval: \d+s", r"\1_interval: 1s", path.read_text())
                    .replace("scrape_timeout: 5s", "scrape_timeout: 1s"))
    engines.append(fleet.Engine("Server is ready", "prometheus", f"--config.file={path}",
                                f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{port}"))
    return engines[-1]


def test_a_lost_camera_is_told_once_and_its_return_too(edged, engines, people, tmp_path):
    authority = fleet.Authority(tmp_path / "authority")
    certificate, key = authority.sign()
    camera = edged([daemon.camera(fps=10)], port=free_port())
    port = free_port()
    folders = [tmp_path / name for name in ("site", "centre")]
    for folder in folders:
        folder.mkdir()
    token = run(daemon.EDGECTL, "token", "--role", "operator", "--file", tmp_path / "rtsp.tokens", "prometheus").split()[-1]
    device = edged([daemon.camera(source="rtsp", url=camera.url("/front/edges"), regions=[{"name": "door"}],
                                   record={"mode": "always"})], STATE_DIRECTORY=tmp_path, settings={
        "storage": {"path": str(tmp_path / "clips")},
        "http": {"address": "127.0.0.1", "port": port, "tls": True},
        "rtsp": {"certificate": str(certificate), "key": str(key), "tokens": str(tmp_path / "rtsp.tokens")}})
    device.wait_camera("front", lambda one: one["state"] == "live")

    manager, north, above = free_port(), free_port(), free_port()
    people_port, told = people
    alerts = recipe("metrics/alertmanager.yml", tmp_path, {
        "localhost:9095": f"127.0.0.1:{people_port}", "group_wait: 30s": "group_wait: 1s", "group_interval: 5m": "group_interval: 1s"})
    assert "SUCCESS" in run("amtool", "check-config", alerts)
    engines.append(fleet.Engine(f"Listening on.*{manager}|address=127.0.0.1:{manager}", "prometheus-alertmanager",
                                f"--config.file={alerts}", f"--storage.path={tmp_path}/alerts",
                                f"--web.listen-address=127.0.0.1:{manager}", "--cluster.listen-address="))
    (folders[0] / "edged.token").write_text(token)
    shutil.copy(authority.certificate, folders[0] / "edged.crt")
    recipe("metrics/edged-devices.yml", folders[0], {
        "    - gate.example:9854\n    - yard.example:9854": f"    - localhost:{port}"})
    site = prometheus(engines, folders[0], "prometheus.yml", north, {"centre.example:9093": f"127.0.0.1:{manager}"})
    prometheus(engines, folders[1], "prometheus-centre.yml", above, {
        "localhost:9093": f"127.0.0.1:{manager}", '["north.example:9090"]': f'["127.0.0.1:{north}"]',
        '      - {targets: ["south.example:9090"], labels: {site: south}}\n': ""})

    # The centre has what the site has, with the labels of the device.
    live = 'edged_camera_state{job="edged", site="north", instance="localhost", camera="front", state="live"}'
    daemon.wait_for(lambda: [one["value"][1] for one in query(above, live)] == ["1"])
    daemon.wait_for(lambda: [one["value"][1] for one in query(above, 'up{job="edged", instance="localhost"}')] == ["1"])

    # Every panel of the dashboard has something to show, but for alerts and for what this machine may not measure.
    def empty():
        return {panel["title"] for panel in DASHBOARD["panels"] for target in panel["targets"]
                if not query(above, re.sub(r"\$(instance|camera)", ".*", target["expr"]))}

    daemon.wait_for(lambda: empty() <= {"Alerts", "The hottest part of the board"}, explain=lambda: str(empty()))

    # The camera goes: after half a minute one message, although both tell the Alertmanager.
    camera.stop()
    message = daemon.wait_for(lambda: next((one for one in told if one["commonLabels"]["alertname"] == LOST), None))
    assert message["status"] == "firing"
    assert [alert["annotations"]["summary"] for alert in message["alerts"]] == ["The camera front of localhost brings no picture"]
    for source in (north, above):
        daemon.wait_for(lambda: query(source, f'ALERTS{{alertname="{LOST}", alertstate="firing"}}'))
    assert len(ask(manager, "/api/v2/alerts", filter=f"alertname={LOST}")) == 1

    # It is back.
    camera.start()
    daemon.wait_for(lambda: any(one["status"] == "resolved" and one["commonLabels"]["alertname"] == LOST for one in told))
    assert [one["status"] for one in told if one["commonLabels"]["alertname"] == LOST] == ["firing", "resolved"]

    # A device that is gone, and a site.
    device.stop()
    daemon.wait_for(lambda: any(one["commonLabels"]["alertname"] == "EdgedDown" for one in told))
    site.end()
    silent = daemon.wait_for(lambda: next((one for one in told if one["commonLabels"]["alertname"] == "EdgedSiteDown"), None))
    assert silent["commonLabels"]["site"] == "north"


def test_a_site_behind_nat_tells_the_centre_itself(edged, engines, tmp_path):
    port, north, above = free_port(), free_port(), free_port()
    edged([daemon.camera()], settings={"http": {"port": port}})
    for name in ("site", "centre"):
        (tmp_path / name).mkdir()
    (tmp_path / "centre/prometheus.yml").write_text("{}")
    engines.append(fleet.Engine("Server is ready", "prometheus", f"--config.file={tmp_path}/centre/prometheus.yml",
                                f"--storage.tsdb.path={tmp_path}/centre/data", f"--web.listen-address=127.0.0.1:{above}",
                                "--web.enable-remote-write-receiver"))
    recipe("metrics/edged-devices.yml", tmp_path / "site", {
        "    - gate.example:9854\n    - yard.example:9854": f"    - 127.0.0.1:{port}"})
    prometheus(engines, tmp_path / "site", "prometheus.yml", north, {
        "#remote_write:\n#  - url: http://centre.example:9090": f"remote_write:\n  - url: http://127.0.0.1:{above}",
        "    scheme: https\n    authorization: {credentials_file: edged.token}\n    tls_config: {ca_file: edged.crt}\n": ""})
    live = 'edged_camera_state{job="edged", site="north", instance="127.0.0.1", camera="front", state="live"}'
    daemon.wait_for(lambda: [one["value"][1] for one in query(above, live)] == ["1"])
