"""edged-mqtt with a real broker: what it keeps for a listener that comes later, commands, and each end killed,
frozen or gone."""

import json
import os
import pwd
import re
import signal
import subprocess
import time

import cv2
import numpy as np
import pytest

import daemon
import mqtt
from mqtt import BASE, DISCOVERY
from ports import free_port
from recorded import arm, ask, clips_of

FAKE_CAMERA = daemon.BUILD / "tests/fakes/camera/fake_camera"
REGIONS = [{"name": "door"}, {"name": "yard"}]
# How soon a broker tells that a client is gone, which says a sign of life each 15 s: half as long again.
GONE_S = 15 * 1.5


@pytest.fixture
def serve(tmp_path):
    """Starts brokers, and ends them: serve("name", *lines of mosquitto's configuration)."""
    brokers = []

    def start(name, *lines):
        brokers.append(mqtt.Broker(tmp_path / name, *lines).start())
        return brokers[-1]

    yield start
    for one in brokers:
        one.stop()


@pytest.fixture
def broker(serve):
    return serve("broker")


@pytest.fixture
def run():
    """Ends what it started: run(mqtt.Listener, broker)."""
    started = []

    def start(kind, *arguments, **extra):
        started.append(kind(*arguments, **extra))
        return started[-1]

    yield start
    for process in started:
        process.end(signal.SIGTERM if process.process.poll() is None else 0)


def settings_of(broker, **mqtt_keys):
    return {"mqtt": {"broker": "127.0.0.1", "port": broker.port, **mqtt_keys}}


@pytest.fixture
def moving(edged, broker, tmp_path):
    """An edged whose camera process begins and ends motion in its region "door" on SIGUSR1."""
    server = edged([daemon.camera(regions=REGIONS)], settings=settings_of(broker), EDGED_CAMERA_PROGRAM=FAKE_CAMERA,
                   FAKE_CAMERA="motion", STATE_DIRECTORY=tmp_path)
    server.wait_camera("front", lambda c: c["state"] == "live" and len(c["regions"]) == 2)
    return server


def toggle(server):
    os.kill(server.camera()["process"]["pid"], signal.SIGUSR1)


def assert_accepted(payload):
    """Holds what Home Assistant 2025.4 and 2026.2 were seen to reject, and how much they are told."""
    message = json.loads(payload)
    assert len(payload) <= 24_000 and "~" not in message
    assert message["dev"]["ids"] and message["o"]["name"]
    identities = [entity["unique_id"] for entity in message["cmps"].values()]
    assert len(identities) == len(set(identities))
    for entity in message["cmps"].values():
        assert entity["p"] in ("binary_sensor", "sensor", "event", "image", "button", "switch", "select", "number",
                               "text")
        assert "object_id" not in entity and entity["avty_mode"] == "all"
        for place in entity["avty"]:
            assert (place["pl_avail"], place["pl_not_avail"]) == ("online", "offline")
            assert place["t"].startswith(BASE)
    return message["cmps"]


def test_a_broker_keeps_how_each_camera_is_for_those_who_come_later(moving, broker, run):
    run(mqtt.bridge, moving).wait("connected to the broker")
    first = run(mqtt.Listener, broker)
    first.wait_for(available="online", front__live="ON", front__available="online", front__state="live",
                   front__motion="OFF", front__door__motion="OFF", front__armed="ON", front__views__edges__gain="1.0",
                   front__record__mode="off", problem="OFF")
    assert all(quality == 1 for _, _, retained, quality in first.told if retained)
    entities = assert_accepted(first.kept[f"{DISCOVERY}/front/config"])
    assert_accepted(first.kept[f"{DISCOVERY}/config"])
    assert {"connected", "state", "motion", "motion_door", "motion_yard", "event", "snapshot", "record", "armed",
            "views_edges_gain", "record_mode"} <= set(entities)
    assert [place["t"] for place in entities["motion"]["avty"]] == [f"{BASE}/available", f"{BASE}/front/available"]
    assert [place["t"] for place in entities["armed"]["avty"]] == [f"{BASE}/available"]  # a lost camera hides none
    gain = entities["views_edges_gain"]
    assert (gain["p"], gain["min"], gain["max"], gain["name"]) == ("number", 0.01, 100.0, "edges gain")
    assert "source" not in entities and "en" not in gain and entities["views_edges_norm"]["en"] is False
    for entity in entities.values():  # each that has a state is told it; a broker keeps no empty one
        if "stat_t" in entity and entity["p"] not in ("event", "text"):
            assert entity["stat_t"] in first.kept, entity


def test_motion_is_kept_as_a_state_and_told_once_as_an_event(moving, broker, run):
    run(mqtt.bridge, moving).wait("connected to the broker")
    listener = run(mqtt.Listener, broker)
    listener.wait_for(available="online", front__motion="OFF")
    toggle(moving)
    listener.wait_for(front__door__motion="ON", front__motion="ON", front__yard__motion="OFF")
    toggle(moving)
    listener.wait_for(front__door__motion="OFF", front__motion="OFF")
    started, ended = daemon.wait_for(lambda: listener.of("front/event")[1:] and listener.of("front/event"))
    assert (started["event_type"], ended["event_type"]) == ("motion_started", "motion_ended")
    assert started["region"] == "door"
    daemon.wait_for(lambda: listener.of("front/door/event") == [started, ended], explain=listener.text)
    assert not any("event" in topic.rsplit("/", 1)[-1] for topic in list(listener.kept))
    toggle(moving)
    daemon.wait_for(lambda: listener.of("front/event")[2:], explain=listener.text)
    run(mqtt.bridge, moving, EDGED_LOG="debug")  # takes the place of the first, and tells nothing twice
    available = (f"{BASE}/available", "online")
    daemon.wait_for(lambda: [told[:2] for told in list(listener.told)].count(available) > 1, explain=listener.text)
    listener.wait_for(available="online", front__motion="ON")
    assert [event["number"] for event in listener.of("front/event")] == [1, 1, 2]


def test_a_picture_of_the_motion_is_kept(edged, broker, run, tmp_path):
    server = edged([daemon.camera(width=320, height=240, regions=[{"name": "all"}])], settings=settings_of(broker),
                   STATE_DIRECTORY=tmp_path)
    run(mqtt.bridge, server).wait("connected to the broker")

    def moves_anew():
        """The pattern always moves. A motion that began long before it was told of is not news, and gives no picture."""
        for armed in (False, True):
            arm(server, armed)
        server.wait_camera("front", daemon.is_moving)
        for _ in range(30):
            if picture := broker.kept(f"{BASE}/front/snapshot"):
                return picture
        return None

    picture = daemon.wait_for(moves_anew)
    size = cv2.imdecode(np.frombuffer(picture, np.uint8), cv2.IMREAD_COLOR).shape
    assert size == (240, 320, 3)


def test_commands_change_settings_for_good_and_refused_ones_are_told_of(moving, broker, run):
    run(mqtt.bridge, moving).wait("connected to the broker")
    listener = run(mqtt.Listener, broker)
    listener.wait_for(available="online", front__views__edges__gain="1.0")
    broker.publish(f"{BASE}/set/front/views/edges/gain", "2.5")
    broker.publish(f"{BASE}/set/front/views/edges/operator", "scharr")
    broker.publish(f"{BASE}/set/front/armed", "OFF")
    listener.wait_for(front__views__edges__gain="2.5", front__views__edges__operator="scharr", front__armed="OFF")
    moving.hang_up()
    kept = ask(moving, "GET", "/v1/config")["cameras"]["front"]
    assert (kept["armed"], kept["views"]["edges"]["gain"], kept["views"]["edges"]["operator"]) == (False, 2.5, "scharr")
    refused = {
        "front/views/edges/gain": ("1e9", "allowed: a number from 0.01 to 100"),
        "front/views/edges/operator": ("best", "allowed: sobel,"),
        "front/armed": ("on", "allowed: ON, OFF"),
        "front/source": ("file", "there is no setting"),
        "front/views": ("{}", "there is no setting"),
        "back/armed": ("ON", 'there is no camera "back"'),
        "front": ("", "there is no setting"),
        "front/record": ("1e9", "allowed: 1 to 86400"),
    }
    for path, (payload, _) in refused.items():
        broker.publish(f"{BASE}/set/{path}", payload)
    told = {x["topic"]: x["error"] for x in daemon.wait_for(lambda: len(listener.of("error")) == len(refused)
                                                            and listener.of("error"), explain=listener.text)}
    for path, (_, sentence) in refused.items():
        assert sentence in told[f"{BASE}/set/{path}"]
    # A control that was moved hears again how it is, a moment after the error.
    def gains():
        return [payload for topic, payload, *_ in list(listener.told) if topic == f"{BASE}/front/views/edges/gain"]

    daemon.wait_for(lambda: gains()[1:] == ["2.5"] * 2, explain=listener.text)


def test_a_command_that_a_broker_has_kept_is_not_followed(moving, broker, run):
    broker.publish(f"{BASE}/set/front/armed", "OFF", "--retain")
    bridge = run(mqtt.bridge, moving)
    listener = run(mqtt.Listener, broker)
    listener.wait_for(available="online", front__armed="ON")
    broker.publish(f"{BASE}/set/front/views/edges/gain", "2")  # which comes after it
    listener.wait_for(front__views__edges__gain="2.0")
    assert moving.camera()["armed"] and "refused" not in bridge.text()


def test_commands_while_edged_is_away_leave_one_connection_to_it(moving, broker, run):
    bridge = run(mqtt.bridge, moving)
    listener = run(mqtt.Listener, broker)
    listener.wait_for(available="online")
    before = len(os.listdir(f"/proc/{bridge.process.pid}/fd"))
    moving.stop()
    listener.wait_for(available="offline")
    for count in range(1, 5):
        broker.publish(f"{BASE}/set/front/armed", "OFF")
        daemon.wait_for(lambda: len(listener.of("error")) == count, explain=listener.text)
    moving.start()
    listener.wait_for(available="online", front__armed="ON")
    time.sleep(5)  # edged that is away is tried every 4 s; each connection that this leaves stays
    daemon.wait_for(lambda: len(os.listdir(f"/proc/{bridge.process.pid}/fd")) == before, explain=bridge.text)


def test_a_button_makes_a_clip_and_its_end_is_told(edged, broker, run, tmp_path):
    server = edged([daemon.camera()], settings={**settings_of(broker), "storage": {"path": str(tmp_path / "clips")}})
    run(mqtt.bridge, server).wait("connected to the broker")
    listener = run(mqtt.Listener, broker)
    listener.wait_for(front__live="ON", front__record__mode="off")
    assert clips_of(server) == []  # asked until the recorder is ready
    broker.publish(f"{BASE}/set/front/record", "2")
    told, = daemon.wait_for(lambda: listener.of("front/event"), explain=listener.text)
    assert told["event_type"] == "clip_ended" and told["url"] == "/v1/clips/1.mp4"
    assert [clip["id"] for clip in clips_of(server)] == [1]


def test_a_change_by_others_and_a_camera_that_comes_and_goes_are_told(moving, broker, run):
    run(mqtt.bridge, moving).wait("connected to the broker")
    listener = run(mqtt.Listener, broker)
    listener.wait_for(available="online")
    ask(moving, "PATCH", "/v1/config", {"cameras": {"front": {"views": {"edges": {"gain": 3}}}}})
    listener.wait_for(front__views__edges__gain="3.0")
    attic = {"polygon": [[0.1, 0.1], [0.9, 0.1], [0.9, 0.9]]}
    ask(moving, "PATCH", "/v1/config", {"cameras": {"front": {"regions": {"attic": attic}}}})
    listener.wait_for(front__attic__motion="OFF")  # although the camera process has not told of it
    os.kill(moving.camera()["process"]["pid"], signal.SIGUSR2)
    listener.wait_for(front__live="OFF", front__available="offline", front__state="no signal", problem="ON",
                      available="online")
    assert json.loads(listener.kept[f"{BASE}/front/status"])["error"] == moving.camera()["error"] != ""
    moving.reload([daemon.camera(regions=REGIONS[:1]), daemon.camera("back")])
    daemon.wait_for(lambda: f"{DISCOVERY}/back/config" in listener.kept)
    # Region yard is gone: Home Assistant removes an entity that is told with its platform alone.
    told = [json.loads(payload)["cmps"] for topic, payload, *_ in listener.told if topic == f"{DISCOVERY}/front/config"]
    assert {"p": "binary_sensor"} in [cmps.get("motion_yard") for cmps in told] and "motion_yard" not in told[-1]
    listener.wait_for(back__available="online")
    moving.reload([daemon.camera(regions=REGIONS[:1], views=[{"name": "plain", "view": "camera"}])])
    of_back = (f"{DISCOVERY}/back/", f"{BASE}/back/")
    daemon.wait_for(lambda: {payload for topic, payload in list(listener.kept.items()) if topic.startswith(of_back)} == {""},
                    explain=listener.text)
    # Home Assistant removes it before its states are gone, and shows none of them as unknown.
    emptied = [topic for topic, payload, *_ in listener.told if topic.startswith(of_back) and not payload]
    had_a_value = {topic for topic, payload, *_ in listener.told if payload}
    assert next(topic for topic in emptied if topic in had_a_value) == f"{DISCOVERY}/back/config"
    listener.wait_for(front__views__edges__gain="", front__door__motion="OFF")


def test_what_an_earlier_run_told_and_is_no_more_is_removed(moving, broker, run):
    old = {"dev": {"ids": ["x"]}, "o": {"name": "edged"}, "cmps": {"views_gone_gain": {"p": "number", "unique_id": "x"}}}
    for camera in ("front", "gone"):
        broker.publish(f"{DISCOVERY}/{camera}/config", json.dumps(old), "--retain")
    broker.publish("homeassistant/device/other/front/config", json.dumps(old), "--retain")
    gone = [f"{BASE}/{level}" for level in ("gone/available", "gone/views/edges/gain", "front/cellar/motion",
                                            "front/views/attic/gain", "front/regions/cellar/start")]
    stay = [f"{BASE}/note", f"{BASE}/notes/of/others", f"{BASE}/notes/available", f"{BASE}/notes/door/motion",
            f"{BASE}/front/of/others", f"{BASE}/set/gone/armed", "edged/other/front/available"]
    pictures = [f"{BASE}/{camera}/snapshot" for camera in ("gone", "front")]
    for topic in gone + stay + pictures:
        broker.publish(topic, "offline" if topic.endswith("gone/available") else "ON", "--retain")
    listener = run(mqtt.Listener, broker)
    daemon.wait_for(lambda: set(gone + stay) <= set(listener.kept), explain=listener.text)
    run(mqtt.bridge, moving).wait("connected to the broker")
    listener.wait_for(available="online")
    marked = daemon.wait_for(lambda: [payload for topic, payload, *_ in listener.told
                                      if topic == f"{DISCOVERY}/front/config" and '"views_gone_gain":{"p":"number"}' in payload])
    assert marked
    daemon.wait_for(lambda: any(line.rstrip() == f"1 1 {DISCOVERY}/gone/config" for line in listener.lines),
                    explain=listener.text)
    # It is marked first, and left out in the next message.
    daemon.wait_for(lambda: "views_gone_gain" not in listener.kept[f"{DISCOVERY}/front/config"], explain=listener.text)
    assert "motion_door" in json.loads(listener.kept[f"{DISCOVERY}/front/config"])["cmps"]
    assert json.loads(listener.kept["homeassistant/device/other/front/config"]) == old
    daemon.wait_for(lambda: not any(listener.kept[topic] for topic in gone), explain=listener.text)
    later = run(mqtt.Listener, broker)
    daemon.wait_for(lambda: set(stay) <= set(later.kept), explain=later.text)
    daemon.wait_for(lambda: not broker.kept(pictures[0]))
    assert broker.kept(pictures[1]) == b"ON"


def test_home_assistant_that_starts_anew_is_told_all_again(moving, broker, run):
    run(mqtt.bridge, moving).wait("connected to the broker")
    listener = run(mqtt.Listener, broker)
    listener.wait_for(available="online")
    before = len([topic for topic, *_ in listener.told if topic == f"{DISCOVERY}/front/config"])
    broker.publish("homeassistant/status", "online")
    daemon.wait_for(lambda: len([topic for topic, *_ in listener.told if topic == f"{DISCOVERY}/front/config"]) > before)


@pytest.mark.parametrize("store", ["kept", "emptied"])
def test_a_broker_that_starts_anew_has_all_of_it_again(moving, broker, run, store):
    bridge = run(mqtt.bridge, moving)
    bridge.wait("connected to the broker")
    run(mqtt.Listener, broker).wait_for(available="online")
    broker.stop()
    bridge.wait("the broker 127.0.0.1:.*, trying again in 1 s")
    if store == "emptied":
        broker.forget()
    ask(moving, "PATCH", "/v1/config", {"cameras": {"front": {"views": {"edges": {"gain": 4}}}}})
    broker.start()
    bridge.wait("connected to the broker", 2)
    later = run(mqtt.Listener, broker)
    later.wait_for(available="online", front__motion="OFF", front__views__edges__gain="4.0")
    assert_accepted(later.kept[f"{DISCOVERY}/front/config"])


def test_a_camera_that_goes_while_the_broker_is_away_is_taken_back(moving, broker, run):
    moving.reload([daemon.camera(regions=REGIONS), daemon.camera("back")])
    bridge = run(mqtt.bridge, moving)
    run(mqtt.Listener, broker).wait_for(back__available="online", available="online")
    broker.stop()
    bridge.wait("the broker 127.0.0.1:.*, trying again in 1 s")
    moving.reload([daemon.camera(regions=REGIONS[:1])])
    broker.start()
    bridge.wait("connected to the broker", 2)
    later = run(mqtt.Listener, broker)
    later.wait_for(available="online", front__door__motion="OFF")
    broker.publish(f"{BASE}/marker", "1", "-r")
    later.wait_for(marker="1")  # what it kept before is told before
    gone = re.compile(f"{BASE}/(back|front/yard)/")
    daemon.wait_for(lambda: not any(payload for topic, payload in list(later.kept.items()) if gone.match(topic)),
                    explain=later.text)


def test_a_broker_that_freezes_is_left_and_found_again(moving, broker, run):
    bridge = run(mqtt.bridge, moving)
    listener = run(mqtt.Listener, broker)
    listener.wait_for(available="online")
    broker.process.send(signal.SIGSTOP)
    bridge.wait("the broker 127.0.0.1:.*: it does not answer, trying again in 1 s")
    toggle(moving)
    moving.wait_camera("front", daemon.is_moving)
    broker.process.send(signal.SIGCONT)
    bridge.wait("connected to the broker", 2)
    later = run(mqtt.Listener, broker)
    later.wait_for(available="online", front__motion="ON")


def test_an_edged_that_stalls_while_all_is_told_is_available_afterwards(moving, broker, run):
    run(mqtt.bridge, moving).wait("connected to the broker")
    listener = run(mqtt.Listener, broker)
    listener.wait_for(available="online")
    moving.process.send_signal(signal.SIGSTOP)
    broker.publish("homeassistant/status", "online")
    listener.wait_for(available="offline")
    moving.process.send_signal(signal.SIGCONT)
    listener.wait_for(available="online", front__live="ON")


def test_what_is_gone_is_removed_where_edged_stalls_as_the_broker_comes(moving, broker, run):
    gone = f"{DISCOVERY}/gone/config"
    broker.publish(gone, json.dumps({"cmps": {}}), "--retain")
    broker.stop()
    bridge = run(mqtt.bridge, moving)
    bridge.wait("the broker 127.0.0.1:.*, trying again in 1 s")
    moving.process.send_signal(signal.SIGSTOP)
    broker.start()
    bridge.wait("edged does not answer, trying again until it is back")
    moving.process.send_signal(signal.SIGCONT)
    listener = run(mqtt.Listener, broker)
    listener.wait_for(available="online")
    daemon.wait_for(lambda: not broker.kept(gone), explain=listener.text)


def test_who_is_killed_or_frozen_is_not_available_until_it_is_back(moving, broker, run):
    listener = run(mqtt.Listener, broker)
    bridge = run(mqtt.bridge, moving)
    listener.wait_for(available="online")
    assert bridge.end() == 0
    listener.wait_for(available="offline")
    bridge = run(mqtt.bridge, moving)
    listener.wait_for(available="online")
    bridge.send(signal.SIGKILL)
    listener.wait_for(available="offline")
    bridge = run(mqtt.bridge, moving)
    listener.wait_for(available="online")
    begin = time.monotonic()
    bridge.send(signal.SIGSTOP)
    listener.wait_for(available="offline")
    assert time.monotonic() - begin > GONE_S / 2
    bridge.send(signal.SIGCONT)
    listener.wait_for(available="online")
    moving.stop()
    listener.wait_for(available="offline")
    bridge.wait("edged ended the stream, trying again until it is back")
    moving.start()
    bridge.wait("edged is there")
    listener.wait_for(available="online", front__live="ON", front__motion="OFF")


def test_a_refused_password_is_told_once_and_one_that_is_mended_counts(edged, serve, run, tmp_path):
    passwords, secret = tmp_path / "passwords", tmp_path / "secret"
    subprocess.run(["mosquitto_passwd", "-c", "-b", passwords, "jetson", "right"], check=True)
    passwords.chmod(0o644)
    secret.write_text("wrong\n")
    secret.chmod(0o644)
    broker = serve("broker", f"password_file {passwords}")
    server = edged([daemon.camera()], settings=settings_of(broker, user="jetson", password_file=str(secret)))
    bridge = run(mqtt.bridge, server)
    bridge.wait(r"secret\" has mode 0644, allowed: .*, trying again in \d+ s")
    secret.chmod(0o600)
    bridge.wait("it refuses the login, trying again in")
    daemon.wait_for(lambda: broker.process.text().count("not authori") >= 2)
    secret.write_text("right\n")
    bridge.wait("connected to the broker")
    assert bridge.text().count("it refuses the login") == 1 and "right" not in bridge.text()


def test_a_broker_inside_tls_has_to_show_a_certificate_of_the_authority(edged, serve, run, tmp_path):
    own, other, port = mqtt.certificate(tmp_path, "own"), mqtt.certificate(tmp_path, "other"), free_port()
    broker = serve("broker", f"listener {port} 127.0.0.1", f"certfile {own}", f"keyfile {own.with_suffix('.key')}")

    def keys(ca):
        return {"mqtt": {"broker": "localhost", "port": port, "tls": True, "ca": str(ca)}}

    server = edged([daemon.camera()], settings=keys(other))
    bridge = run(mqtt.bridge, server)
    bridge.wait("localhost:.*: TLS failed; see mqtt.tls and mqtt.ca.*, trying again in")
    server.reload(**keys(own))
    bridge.wait("connected to the broker localhost:")
    run(mqtt.Listener, broker).wait_for(available="online")


def test_a_reload_moves_to_another_broker(moving, broker, serve, run):
    bridge = run(mqtt.bridge, moving)
    first = run(mqtt.Listener, broker)
    first.wait_for(available="online")
    other = serve("other")
    moving.reload(**settings_of(other, topic="home/cameras", discovery=""))
    bridge.wait("connected to the broker", 2)
    first.wait_for(available="offline")
    second = run(mqtt.Listener, other)
    daemon.wait_for(lambda: second.kept.get("home/cameras/jetson-3f2a/available") == "online", explain=second.text)
    assert not any("homeassistant" in topic for topic in list(second.kept))
    moving.reload(mqtt={"broker": ""})
    bridge.wait("no broker is configured")
    daemon.wait_for(lambda: second.kept.get("home/cameras/jetson-3f2a/available") == "offline", explain=second.text)


def test_two_machines_of_one_id_are_told_so(moving, broker, run):
    first, second = run(mqtt.bridge, moving), run(mqtt.bridge, moving)
    daemon.wait_for(lambda: "another client takes the connection" in first.text() + second.text(),
                    explain=lambda: first.text() + second.text())


def test_edged_mqtt_may_ask_for_what_it_needs_alone(edged, broker, run, tmp_path):
    """The test's own user is that of edged-mqtt here."""
    server = edged([daemon.camera()], settings=settings_of(broker),
                   STATE_DIRECTORY=tmp_path, EDGED_MQTT_USER=pwd.getpwuid(os.geteuid()).pw_name)
    run(mqtt.bridge, server)
    listener = run(mqtt.Listener, broker)
    listener.wait_for(available="online", front__live="ON", front__views__edges__gain="1.0")
    broker.publish(f"{BASE}/set/front/views/edges/gain", "2")
    listener.wait_for(front__views__edges__gain="2.0")
    for method, path in (("POST", "/v1/reload"), ("GET", "/v1/page-link"), ("DELETE", "/v1/clips/1"),
                         ("GET", "/v1/config/settings"), ("POST", "/v1/tune"), ("GET", "/v1/video?view=front/edges")):
        assert "edged-mqtt may not" in ask(server, method, path, status=403)["error"]
