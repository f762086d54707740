"""What a broker keeps after faults at random is what edged says, and no more: connections reset, each end frozen or
killed, cameras, views and regions that come and go, motion and settings meanwhile."""

import contextlib
import json
import os
import random
import re
import signal
import socket
import struct
import threading
import time

import pytest

import daemon
import mqtt
from mqtt import BASE, DISCOVERY
from recorded import ask
from test_mqtt import FAKE_CAMERA, broker, run, serve, settings_of  # noqa: F401

# They choose the faults. Another seed and more rounds are for runs by hand.
SEED = int(os.environ.get("EDGED_RANDOM_SEED", 43))
ROUNDS = int(os.environ.get("EDGED_RANDOM_ROUNDS", 8))


def packets(received):
    """Those of MQTT 3.1.1 (section 2.2), whole, out of pieces of bytes."""
    text = b""
    for data in received:
        text += data
        while match := re.match(rb"(?s)(.)([\x80-\xff]{0,3}[\0-\x7f])", text):
            end = match.end() + sum((digit & 127) << 7 * place for place, digit in enumerate(match[2]))
            if len(text) < end:
                break
            yield text[:end]
            text = text[end:]


class Proxy:
    """Passes on what a client and a broker say. While it swallows, what the client says gets lost; while it is mute, the
    broker's PUBACKs."""

    def __init__(self, port):
        self.target = port
        self.ends = []
        self.is_swallowing, self.swallowed, self.is_mute = False, b"", False
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            try:
                broker = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            self.ends += [client, broker]
            threading.Thread(target=self._pass_on, args=(client, broker, True), daemon=True).start()
            threading.Thread(target=self._pass_on, args=(broker, client, False), daemon=True).start()

    def _pass_on(self, source, sink, is_client):
        try:
            for packet in packets(iter(lambda: source.recv(1 << 16), b"")):
                if is_client and self.is_swallowing:
                    self.swallowed += packet
                elif is_client or not self.is_mute or packet[0] != 0x40:
                    sink.sendall(packet)
        except OSError:
            pass
        self._reset(source, sink)

    def _reset(self, *ends):
        for end in ends:
            try:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def reset(self):
        ends, self.ends = self.ends, []
        self._reset(*ends)

    def close(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.reset()


@pytest.fixture
def proxy(broker):  # noqa: F811
    one = Proxy(broker.port)
    yield one
    one.close()


@pytest.fixture
def server(edged, proxy, tmp_path):
    return edged([daemon.camera(regions=[{"name": "door"}])], settings=settings_of(proxy),
                 EDGED_CAMERA_PROGRAM=FAKE_CAMERA, FAKE_CAMERA="motion", STATE_DIRECTORY=tmp_path)


# What is to be kept, and what is
# ---------------------------------------------------------------------

def settings_below(schema, values, path=""):
    """Those that the network may change and that cost a frame, as a broker is told them."""
    for name, value in values.items():
        key = schema.get("properties", {}).get(name) or schema.get("additionalProperties") or {}
        if isinstance(value, dict):
            yield from settings_below(key, value, f"{path}{name}/")
        elif key.get("x-remote") and key.get("x-cost") == "frame" and isinstance(value, (str, bool)):
            yield path + name, value if isinstance(value, str) else "ON" if value else "OFF"


def wanted(server):
    """By what edged says now. No broker keeps an empty text."""
    status, config, schema = (json.loads(server.http_get(f"/v1/{page}"), parse_float=str, parse_int=str)
                              for page in ("status", "config", "config/schema"))
    schema = schema["properties"]["cameras"]["additionalProperties"]
    tree = {"available": "online", "problem": "OFF"}
    for camera in status["cameras"]:
        name, settings, is_live = camera["name"], config["cameras"][camera["name"]], camera["state"] == "live"
        moving = {region["name"] for region in camera["regions"] if region["moving"]}
        if not is_live:
            tree["problem"] = "ON"
        own = {"available": "online" if is_live else "offline", "live": "ON" if is_live else "OFF",
               "state": camera["state"], "motion": "ON" if moving else "OFF",
               "status": json.dumps({"state": camera["state"], "error": camera["error"]}, separators=(",", ":")),
               **{f"{region}/motion": "ON" if region in moving else "OFF" for region in settings["regions"]},
               **dict(settings_below(schema, settings))}
        tree |= {f"{name}/{level}": text for level, text in own.items() if text}
    return {f"{BASE}/{level}": text for level, text in tree.items()}, {camera["name"] for camera in status["cameras"]}


def kept(broker):  # noqa: F811
    """All that it keeps, but for pictures."""
    text = broker.retained("-t", "#", "-T", "edged/+/+/snapshot", "-F", "%t %p").decode()
    return dict(line.split(" ", 1) for line in text.split("\n")[:-1])


def find_wrong(server, broker):  # noqa: F811
    """The topics that the broker should not keep, or not so, each with what was wanted and what is there."""
    states, cameras = wanted(server)
    there = kept(broker)
    configs = {f"{DISCOVERY}/{camera}/config" for camera in cameras} | {f"{DISCOVERY}/config"}
    own = {topic: text for topic, text in there.items() if not topic.startswith(DISCOVERY)}
    wrong = {topic: (states.get(topic), own.get(topic)) for topic in states | own if states.get(topic) != own.get(topic)}
    wrong |= {topic: "discovery" for topic in configs ^ (there.keys() - own.keys())}
    if not wrong:
        entities = [entity for topic in configs for entity in json.loads(there[topic])["cmps"].values()]
        topics = {entity.get("stat_t", entity.get("img_t")) for entity in entities if entity["p"] not in ("text", "event")}
        wrong = {topic: "entity" for topic in topics - own.keys() if topic and not topic.endswith("/snapshot")}
        wrong |= {topic: "mark" for topic in configs if '"avty"' not in there[topic]}
    return wrong


# Faults
# ---------------------------------------------------------------------

class Faults:
    def __init__(self, chance, server, broker, proxy, bridge):  # noqa: F811
        self.chance, self.server, self.broker, self.proxy, self.bridge = chance, server, broker, proxy, bridge

    def reset(self):
        self.proxy.reset()

    def lose(self):
        """The end of what edged-mqtt says is lost with the connection."""
        self.proxy.is_swallowing = True
        self.change()
        self.proxy.reset()
        self.proxy.is_swallowing = False

    def freeze_broker(self):
        process = self.broker.process.process
        process.send_signal(signal.SIGSTOP)
        self.some(self.change, self.move, self.set, self.reset)
        if self.chance.random() < 0.3:
            self.kill_broker()
        else:
            process.send_signal(signal.SIGCONT)

    def kill_broker(self):
        self.broker.stop(signal.SIGKILL)
        self.some(self.change, self.set)
        self.broker.start()

    def freeze_edged(self):
        self.server.signal(signal.SIGSTOP)
        self.some(self.reset)
        time.sleep(self.chance.random())
        self.server.signal(signal.SIGCONT)

    def kill_edged(self):
        self.server.process.kill()
        self.server.process.wait()
        self.server.start()

    def freeze_bridge(self):
        self.bridge.send(signal.SIGSTOP)
        self.some(self.change, self.move, self.set, self.reset)
        self.bridge.send(signal.SIGCONT)

    def change(self):
        """Other cameras, with views and regions of the same few names."""
        def names(*of):
            return self.chance.sample(of, self.chance.randint(1, len(of)))

        self.server.reload([
            daemon.camera(name, views=[{"name": view, "view": self.chance.choice(["edges", "camera"])}
                                       for view in names("door", "edges", "plain")],
                          regions=[{"name": region} for region in {"door", *names("yard", "views", "motion")}])
            for name in names("front", "back", "views", "regions", "a_b")[:3]])

    def move(self):
        """Begins or ends motion, or loses the signal."""
        for camera in self.server.status()["cameras"]:
            if camera["process"]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(camera["process"]["pid"], self.chance.choice([signal.SIGUSR1] * 3 + [signal.SIGUSR2]))

    def set(self):
        name = self.chance.choice(self.server.status()["cameras"])["name"]
        ask(self.server, "PATCH", "/v1/config", {"cameras": {name: {"armed": self.chance.random() < 0.5}}})

    def some(self, *faults):
        for fault in self.chance.choices(faults, k=self.chance.randint(0, 3)):
            print(f"  {fault.__name__}")
            fault()

    def any(self):
        self.some(self.reset, self.lose, self.freeze_broker, self.kill_broker, self.freeze_edged, self.kill_edged,
                  self.freeze_bridge, self.change, self.move, self.set)


def test_after_any_faults_a_broker_keeps_what_edged_says_and_no_more(server, broker, proxy, run):  # noqa: F811
    print(f"EDGED_RANDOM_SEED={SEED} EDGED_RANDOM_ROUNDS={ROUNDS}")
    bridge = run(mqtt.bridge, server)
    faults = Faults(random.Random(SEED), server, broker, proxy, bridge)
    for number in range(ROUNDS):
        print(f"round {number}")
        faults.any()
        daemon.wait_for(lambda: not find_wrong(server, broker),
                        explain=lambda: f"{find_wrong(server, broker)}\n{bridge.text()}\n{server.stderr()}")


def test_what_is_taken_back_into_a_lost_connection_is_taken_back_again(server, broker, proxy, run):  # noqa: F811
    server.reload([daemon.camera(regions=[{"name": "door"}]), daemon.camera("back")])
    bridge = run(mqtt.bridge, server)
    daemon.wait_for(lambda: not find_wrong(server, broker), explain=bridge.text)
    proxy.is_swallowing = True
    server.reload([daemon.camera()])
    daemon.wait_for(lambda: f"{BASE}/back/".encode() in proxy.swallowed)
    proxy.reset()
    proxy.is_swallowing = False
    daemon.wait_for(lambda: not find_wrong(server, broker),
                    explain=lambda: f"{find_wrong(server, broker)}\n{bridge.text()}")


def test_a_broker_that_confirms_nothing_is_left_and_told_again(server, broker, proxy, run):  # noqa: F811
    bridge = run(mqtt.bridge, server)
    daemon.wait_for(lambda: not find_wrong(server, broker), explain=bridge.text)
    proxy.is_mute = True
    server.reload([daemon.camera("back")])
    bridge.wait("it confirms nothing, trying again in 1 s")
    proxy.is_mute = False
    daemon.wait_for(lambda: not find_wrong(server, broker),
                    explain=lambda: f"{find_wrong(server, broker)}\n{bridge.text()}")
