"""config/fleet whole: fifty devices, each in a network of its own, set up by answers; one broker, one Prometheus.

All are found and alive, and what they cost the centre is printed. As root.
"""

import json
import os
import shutil
import subprocess
import time

import pytest

import daemon
import fleet
from fleet import recipe, run
from test_fleet_metrics import query
from test_fleet_mqtt import Watcher, start_mosquitto
from ports import free_port

DEVICES = int(os.environ.get("EDGED_DEVICES", "50"))
MEASURED_S = 120
PASSWORD = "a word of the fleet"


def ip(*arguments, network=None):
    inside = ["nsenter", "--target", network, "--net"] if network else []
    run(*inside, "ip", *arguments)


class Device:
    """A network with a cable to this machine's, and edged and edged-mqtt in it."""

    def __init__(self, number, folder, authority, broker_port, token_file):
        self.number, self.folder = number, folder
        self.id = f"device-{number:02}"
        self.here, self.there = (f"198.51.100.{number * 4 + last}" for last in (1, 2))
        folder.mkdir()
        self.network = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        daemon.wait_for(lambda: os.readlink(f"/proc/{self.network.pid}/ns/net") != os.readlink("/proc/self/ns/net"))
        cable = f"fleet{number}"
        ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", self.network.pid)
        ip("address", "add", f"{self.here}/30", "dev", cable)
        ip("link", "set", cable, "up")
        for arguments in (("address", "add", f"{self.there}/30", "dev", "eth0"), ("link", "set", "eth0", "up"), ("link", "set", "lo", "up")):
            ip(*arguments, network=self.network.pid)
        self.config = folder / "edged.conf"
        certificate, key = authority.sign(self.id, self.there)
        self.config.write_text(
            f'control = {{ socket = "{folder}/control.sock"; }};\n'
            f'rtsp = {{ certificate = "{certificate}"; key = "{key}"; }};\n'
            f"mqtt = {{ port = {broker_port}; }};\n"
            'cameras = ( { source = "pattern"; width = 160; height = 120; fps = 2; } );\n')
        shutil.copy(token_file, folder / "rtsp.tokens")
        answers = {"camera": "front", "user": "viewer", "password": PASSWORD, "page": True, "broker": self.here, "broker_tls": True,
                   "broker_ca": str(authority.certificate), "broker_user": self.id, "broker_password": PASSWORD}
        subprocess.run([daemon.EDGECTL, "setup", "--config", self.config, "--answers", "-", "--force"], input=json.dumps(answers),
                       text=True, capture_output=True, timeout=daemon.PATIENCE_S, check=True)
        self.processes = []

    def start(self):
        inside = ["nsenter", "--target", str(self.network.pid), "--net"]
        environment = daemon.environment(STATE_DIRECTORY=self.folder, EDGED_MQTT_ID=self.id)
        for program in ("edged", "edged-mqtt"):
            with (self.folder / f"{program}.log").open("wb") as log:
                self.processes.append(subprocess.Popen([*inside, daemon.BUILD / program, "--config", self.config], stdin=subprocess.DEVNULL,
                                                       stdout=log, stderr=subprocess.STDOUT, env=environment))

    def pids(self):
        front, bridge = (process.pid for process in self.processes)
        return [front, bridge, *daemon.process_children(front)]

    def close(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(daemon.PATIENCE_S)
        self.network.kill()
        self.network.wait()


def cost(pids):
    return sum(map(daemon.process_cpu_s, pids)), sum(map(daemon.process_memory_kib, pids)) / 1024


def traffic(devices):
    """Bytes that came from the devices, and went to them."""
    return [sum(int(open(f"/sys/class/net/fleet{device.number}/statistics/{way}_bytes").read()) for device in devices)
            for way in ("rx", "tx")]


@pytest.fixture
def devices():
    made = []
    yield made
    for device in made:
        device.close()


def test_fifty_devices_are_found_and_alive(engines, devices, tmp_path, monkeypatch):
    authority = fleet.Authority(tmp_path / "authority")
    port, web = free_port(), free_port()
    token = run(daemon.EDGECTL, "token", "--role", "operator", "--file", tmp_path / "rtsp.tokens", "prometheus").split()[-1]
    for number in range(DEVICES):
        devices.append(Device(number, tmp_path / f"device-{number:02}", authority, port, tmp_path / "rtsp.tokens"))

    centre = tmp_path / "centre"
    centre.mkdir()
    certificate, key = authority.sign("centre.example", "127.0.0.1", *(device.here for device in devices))
    monkeypatch.setattr("test_fleet_mqtt.PASSWORDS", {"fleet": PASSWORD})
    for number, user in enumerate(["fleet", *(device.id for device in devices)]):
        run("mosquitto_passwd", *([] if number else ["-c"]), "-b", centre / "edged.passwd", user, PASSWORD)
    recipe("mqtt/edged.acl", centre, {})
    broker = start_mosquitto(recipe("mqtt/mosquitto-centre.conf", centre, {
        "listener 8883": f"listener {port}", "/etc/mosquitto/certs/centre.crt": certificate, "/etc/mosquitto/certs/centre.key": key,
        "/etc/mosquitto/edged.passwd": centre / "edged.passwd", "/etc/mosquitto/edged.acl": centre / "edged.acl",
        "/var/lib/mosquitto/": f"{centre}/store/"}), centre)
    engines.append(broker)
    watcher = Watcher(port, authority, host="127.0.0.1")
    engines.append(watcher)
    (centre / "edged.token").write_text(token)
    shutil.copy(authority.certificate, centre / "edged.crt")
    recipe("metrics/edged-devices.yml", centre, {"    - gate.example:9854\n    - yard.example:9854": "\n".join(
        f"    - {device.there}:9854" for device in devices)})
    shutil.copy(fleet.FLEET / "metrics/edged-rules.yml", centre)
    shutil.copy(fleet.FLEET / "metrics/prometheus.yml", centre)
    server = fleet.Engine("Server is ready", "prometheus", f"--config.file={centre}/prometheus.yml",
                          f"--storage.tsdb.path={centre}/data", f"--web.listen-address=127.0.0.1:{web}")
    engines.append(server)

    begin = time.monotonic()
    for device in devices:
        device.start()

    def number(expression):
        found = query(web, expression)
        return float(found[0]["value"][1]) if found else 0

    def found():
        return (sum(watcher.last(f"edged/{device.id}/available") == "online" and bool(watcher.last(f"homeassistant/device/{device.id}/front/config"))
                    for device in devices), number('count(up{job="edged"} == 1)'), number('sum(edged_camera_state{job="edged", state="live"})'))

    daemon.wait_for(lambda: found() == (DEVICES,) * 3, explain=lambda: f"{found()}")
    print(f"{DEVICES} devices: all found and alive after {time.monotonic() - begin:.0f} s")

    # What that costs, once all is told.
    time.sleep(30)
    all_pids = [pid for device in devices for pid in device.pids()]
    before = {name: cost(pids)[0] for name, pids in (("broker", [broker.process.pid]), ("prometheus", [server.process.pid]), ("devices", all_pids))}
    came, went = traffic(devices)
    time.sleep(MEASURED_S)
    for name, pids in (("broker", [broker.process.pid]), ("prometheus", [server.process.pid]), ("devices", all_pids)):
        cpu_s, mib = cost(pids)
        print(f"{name}: {(cpu_s - before[name]) / MEASURED_S * 100:.2f} % of a core, {mib:.0f} MiB")
    bytes_came, bytes_went = (now - was for now, was in zip(traffic(devices), (came, went)))
    print(f"network: {bytes_came / MEASURED_S * 8 / 1000:.0f} kbit/s to the centre, {bytes_went / MEASURED_S * 8 / 1000:.0f} kbit/s from it")
    series = number('count({job="edged"})')
    print(f"prometheus: {series:.0f} series, {series / 15:.0f} samples a second")
    assert found() == (DEVICES,) * 3
    assert not query(web, 'ALERTS{alertstate="firing"}')

    # One that loses its power is missed by both.
    lost = devices[DEVICES // 2]
    ip("link", "set", f"fleet{lost.number}", "down")
    watcher.wait_for(f"edged/{lost.id}/available", "offline")
    daemon.wait_for(lambda: [alert["metric"]["instance"] for alert in query(web, 'ALERTS{alertname="EdgedDown", alertstate="firing"}')]
                    == [lost.there])
