"""config/fleet/mqtt: events and control over a central broker, by TLS with an account for each device."""

import json
import os
import re
import signal
import subprocess
import time

import pytest

import daemon
import fleet
import mqtt
from fleet import OUTAGE_S, recipe, run
from ports import free_port

FAKE_CAMERA = daemon.BUILD / "tests/fakes/camera/fake_camera"
ID, OTHER = "jetson-3f2a", "jetson-4b1c"
PASSWORDS = {"fleet": "fleet password", ID: "gate password", OTHER: "yard password"}


@pytest.fixture
def authority(tmp_path):
    return fleet.Authority(tmp_path / "authority")


@pytest.fixture
def device(edged, tmp_path):
    """An edged with motion on demand: device(broker=…, …)."""
    def start(**keys):
        server = edged([daemon.camera(regions=[{"name": "door"}])], settings={"mqtt": keys}, EDGED_CAMERA_PROGRAM=FAKE_CAMERA,
                       FAKE_CAMERA="motion", STATE_DIRECTORY=tmp_path)
        server.wait_camera("front", lambda camera: camera["state"] == "live" and camera["regions"])
        return server

    return start


def secret(tmp_path, text):
    path = tmp_path / f"secret-{len(list(tmp_path.iterdir()))}"
    path.write_text(text)
    path.chmod(0o600)
    return str(path)


def start_mosquitto(configuration, folder):
    if not (folder / "store").exists():
        (folder / "store").mkdir()
        configuration.write_text(configuration.read_text() + ("\nuser root\n" if os.geteuid() == 0 else ""))
    return fleet.Engine(r"mosquitto version \S+ running", "/usr/sbin/mosquitto", "-v", "-c", configuration)


class Centre:
    """mosquitto-centre.conf with edged.acl."""

    def __init__(self, folder, authority):
        folder.mkdir()
        self.folder, self.port = folder, free_port()
        certificate, key = authority.sign()
        for user, password in PASSWORDS.items():
            run("mosquitto_passwd", *(["-c"] if user == "fleet" else []), "-b", folder / "edged.passwd", user, password)
        recipe("mqtt/edged.acl", folder, {})
        self.configuration = recipe("mqtt/mosquitto-centre.conf", folder, {
            "listener 8883": f"listener {self.port} 127.0.0.1", "/etc/mosquitto/certs/centre.crt": certificate,
            "/etc/mosquitto/certs/centre.key": key, "/etc/mosquitto/edged.passwd": folder / "edged.passwd",
            "/etc/mosquitto/edged.acl": folder / "edged.acl", "/var/lib/mosquitto/": f"{folder}/store/"})
        self.engine = None

    def start(self):
        self.engine = start_mosquitto(self.configuration, self.folder)
        return self


class Watcher(mqtt.Process):
    """Whoever watches the fleet: what the broker tells, as [topic, payload]."""

    def __init__(self, port, authority, user="fleet", host="localhost"):
        self.told = []
        super().__init__(["mosquitto_sub", "-h", host, "-p", port, "--cafile", authority.certificate, "-u", user, "-P",
                          PASSWORDS[user], "-q", "1", "-t", "#", "-T", "edged/+/+/snapshot", "-F", "%t %p"])

    def take(self, line):
        super().take(line)
        self.told.append(line.partition(" ")[::2])

    def last(self, topic):
        return next((payload for name, payload in reversed(list(self.told)) if name == topic), None)

    def wait_for(self, topic, payload):
        daemon.wait_for(lambda: self.last(topic) == payload, explain=self.text)

    def events(self):
        return [json.loads(payload) for topic, payload in list(self.told) if topic == f"edged/{ID}/front/event"]


def publish(port, authority, user, topic, payload, password=None):
    return subprocess.run(
        ["mosquitto_pub", "-h", "localhost", "-p", str(port), "--cafile", authority.certificate, "-u", user,
         "-P", password or PASSWORDS[user], "-q", "1", "-t", topic, "-m", payload], capture_output=True, text=True, timeout=daemon.PATIENCE_S, check=False)


def assert_control_and_events(server, watcher, port, authority):
    watcher.wait_for(f"edged/{ID}/available", "online")
    watcher.wait_for(f"edged/{ID}/front/motion", "OFF")
    fleet.toggle_motion(server)
    watcher.wait_for(f"edged/{ID}/front/motion", "ON")
    daemon.wait_for(lambda: [event["event_type"] for event in watcher.events()] == ["motion_started"], explain=watcher.text)
    publish(port, authority, "fleet", f"edged/{ID}/set/front/views/edges/gain", "2.5")
    watcher.wait_for(f"edged/{ID}/front/views/edges/gain", "2.5")


def test_a_device_has_its_own_topics_at_a_broker_inside_tls(authority, engines, device, tmp_path):
    centre = Centre(tmp_path / "centre", authority).start()
    engines.append(centre.engine)
    server = device(broker="localhost", port=centre.port, tls=True, ca=str(authority.certificate), user=ID,
                    password_file=secret(tmp_path, PASSWORDS[ID]))
    engines += [mqtt.bridge(server), Watcher(centre.port, authority)]
    watcher = engines[-1]
    assert_control_and_events(server, watcher, centre.port, authority)
    assert watcher.last(f"homeassistant/device/{ID}/config")
    # Another device can neither say nor hear anything in its name.
    other = Watcher(centre.port, authority, OTHER)
    engines.append(other)
    publish(centre.port, authority, OTHER, f"edged/{ID}/set/front/views/edges/gain", "9")
    publish(centre.port, authority, OTHER, f"edged/{ID}/front/motion", "OFF")
    publish(centre.port, authority, OTHER, f"edged/{OTHER}/mark", "end")
    watcher.wait_for(f"edged/{OTHER}/mark", "end")
    other.wait(f"edged/{OTHER}/mark end")
    assert watcher.last(f"edged/{ID}/front/views/edges/gain") == "2.5"
    assert watcher.last(f"edged/{ID}/front/motion") == "ON"
    assert not [topic for topic, _ in other.told if ID in topic]
    # Nobody comes in without TLS, with another authority or with a wrong password.
    stranger = fleet.Authority(tmp_path / "stranger")
    # How mosquitto_pub names it depends on what it has sent when it sees the certificate.
    assert re.search("TLS error|Protocol error", publish(centre.port, stranger, ID, f"edged/{ID}/x", "1").stderr)
    assert "not authorised" in publish(centre.port, authority, ID, f"edged/{ID}/x", "1", password="guess").stderr.lower()


def test_nats_takes_devices_at_its_port_for_mqtt(authority, engines, device, tmp_path):
    certificate, key = authority.sign()
    port, client = free_port(), free_port()
    configuration = recipe("mqtt/nats.conf", tmp_path, {
        "127.0.0.1:4222": f"127.0.0.1:{client}", "0.0.0.0:8883": f"127.0.0.1:{port}", "/var/lib/nats": tmp_path / "nats",
        "/etc/nats/centre.crt": certificate, "/etc/nats/centre.key": key,
        'user: fleet, password: "FILL IN"': f'user: fleet, password: "{PASSWORDS["fleet"]}"',
        'user: jetson-3f2a, password: "FILL IN"': f'user: jetson-3f2a, password: "{PASSWORDS[ID]}"'})
    engines.append(fleet.Engine("Server is ready", "nats-server", "-c", configuration))
    server = device(broker="localhost", port=port, tls=True, ca=str(authority.certificate), user=ID,
                    password_file=secret(tmp_path, PASSWORDS[ID]))
    engines += [mqtt.bridge(server), Watcher(port, authority)]
    assert_control_and_events(server, engines[-1], port, authority)


def test_a_bridge_keeps_events_while_the_centre_is_away(authority, engines, device, tmp_path):
    """And over a restart of the broker beside the camera meanwhile: all of them come, once."""
    centre = Centre(tmp_path / "centre", authority).start()
    engines.append(centre.engine)
    local, port = tmp_path / "local", free_port()
    local.mkdir()
    bridge = recipe("mqtt/mosquitto-bridge.conf", local, {
        "listener 1883": f"listener {port}", "/var/lib/mosquitto/": f"{local}/store/",
        "centre.example:8883": f"localhost:{centre.port}", "/etc/mosquitto/certs/fleet-ca.crt": authority.certificate,
        "remote_password FILL IN": f"remote_password {PASSWORDS[ID]}"})
    engines.append(start_mosquitto(bridge, local))
    server = device(broker="127.0.0.1", port=port)
    engines += [mqtt.bridge(server), Watcher(centre.port, authority)]
    watcher = engines[-1]
    assert_control_and_events(server, watcher, centre.port, authority)

    centre.engine.end()
    watcher.end()
    begin, told = time.monotonic(), 0
    while time.monotonic() < begin + OUTAGE_S or told < 20:
        fleet.toggle_motion(server)
        told += 1
        time.sleep(OUTAGE_S / 20)
        if told == 10:  # the broker beside the camera starts anew
            engines[1].end()
            engines[1] = start_mosquitto(bridge, local)
            engines[1].wait("Received PUBLISH from edged")
    away_s = time.monotonic() - begin
    # The bridge comes back once somebody listens at the centre.
    engines[1].send(signal.SIGSTOP)
    engines.append(centre.start().engine)
    engines.append(Watcher(centre.port, authority))
    watcher = engines[-1]
    centre.engine.wait("Sending SUBACK")
    engines[1].send(signal.SIGCONT)
    fleet.toggle_motion(server)
    daemon.wait_for(lambda: len(watcher.events()) >= told + 1, explain=watcher.text)
    numbers = [(event["number"], event["event_type"]) for event in watcher.events()]
    print(f"{told} events waited for {away_s:.0f} s, all came")
    assert len(numbers) == told + 1 == len(set(numbers))
    # Those that waited over the restart may come in another order: they have numbers and times.
    assert sorted(numbers)[-1][0] == (told + 2) // 2
    watcher.wait_for(f"edged/{ID}/available", "online")
