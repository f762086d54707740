"""A real broker, what it tells a listener, and edged-mqtt between it and an edged."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import threading

import daemon
from ports import free_port

ID = "jetson-3f2a"
BASE = f"edged/{ID}"
DISCOVERY = f"homeassistant/device/{ID}"


def certificate(folder, name):
    """Makes NAME.pem of an authority of its own for localhost, and NAME.key."""
    path = folder / f"{name}.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost", "-keyout", path.with_suffix(".key"), "-out", path],
                   check=True, capture_output=True)
    return path


class Process:
    """A program whose output is read as it comes."""

    def __init__(self, command, **extra):
        self.lines = []
        self.process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                        env=daemon.environment(**extra))
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.take(line.rstrip("\n"))

    def take(self, line):
        self.lines.append(line)

    def text(self):
        return "\n".join(self.lines)

    def wait(self, expression, count=1):
        return daemon.wait_for(lambda: len(re.findall(expression, self.text(), re.M)) >= count, explain=self.text)

    def send(self, number):
        self.process.send_signal(number)

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(number)
        status = self.process.wait(daemon.PATIENCE_S)
        self.reader.join()
        self.process.stdout.close()
        return status


class Broker:
    """mosquitto, at the same port each time that it is started."""

    def __init__(self, folder, *lines, port=None):
        self.port = port or free_port()
        self.folder = folder
        folder.mkdir()
        self.config = folder / "mosquitto.conf"
        anonymous = [] if any("password_file" in line for line in lines) else ["allow_anonymous true"]
        user = ["user root"] if os.geteuid() == 0 else []
        self.config.write_text("\n".join([
            f"listener {self.port} 127.0.0.1", *lines, *anonymous, *user, "persistence true",
            f"persistence_location {folder}/", "autosave_interval 1", ""]))
        self.process = None

    def start(self):
        self.process = Process(["/usr/sbin/mosquitto", "-v", "-c", self.config])
        daemon.wait_for(self.takes_connections, explain=self.process.text)
        return self

    def takes_connections(self):
        assert self.process.process.poll() is None, self.process.text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def forget(self):
        for store in pathlib.Path(self.folder).glob("mosquitto.db*"):
            store.unlink()

    def stop(self, number=signal.SIGTERM):
        if self.process:
            self.process.end(number)
        self.process = None

    def publish(self, topic, payload, *options):
        subprocess.run(["mosquitto_pub", "-h", "127.0.0.1", "-p", str(self.port), "-q", "1", "-t", topic,
                        *(("-m", payload) if payload else ("-n",)), *options],
                       check=True, timeout=daemon.PATIENCE_S, capture_output=True)

    def retained(self, *options):
        """What mosquitto_sub says of all that it keeps of the topics in `options`. The first message that it does not
        keep ends that."""
        reader = subprocess.Popen(["mosquitto_sub", "-h", "127.0.0.1", "-p", str(self.port), "--retained-only", *options],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        told = []
        reading = threading.Thread(target=lambda: told.append(reader.stdout.read()))
        reading.start()
        while reading.is_alive():
            self.publish("end", "of it")
            reading.join(0.05)
        reader.wait()
        reader.stdout.close()
        return told[0]

    def kept(self, topic):
        """What it keeps there, b"" if nothing."""
        return self.retained("-t", topic, "-t", "end", "-N")


class Listener(Process):
    """All that a broker tells: `told` are [topic, payload, retained] in order. `retained` is what it keeps, as each
    message was published."""

    def __init__(self, broker, *options, topic="#"):
        self.told, self.kept = [], {}
        super().__init__(["mosquitto_sub", "-h", "127.0.0.1", "-p", broker.port, "-V", "mqttv5", "--retain-as-published", "-q", "1", "-t", topic,
                          "-T", "edged/+/+/snapshot", "-F", "%r %q %t %p", *options])

    def take(self, line):
        super().take(line)
        found = re.match(r"([01]) ([012]) (\S+) (.*)", line)
        if found:
            self.told.append((found[3], found[4], found[1] == "1", int(found[2])))
            if found[1] == "1":
                self.kept[found[3]] = found[4]

    def wait_for(self, **topics):
        """Waits until the broker keeps these below the topic of edged, with __ for each slash."""
        wanted = {f"{BASE}/{name.replace('__', '/')}": value for name, value in topics.items()}
        daemon.wait_for(lambda: all(self.kept.get(topic) == value for topic, value in wanted.items()),
                        explain=lambda: f"{wanted}\n{self.text()}")

    def of(self, level):
        """The payloads of a topic below edged's, as JSON."""
        return [json.loads(payload) for topic, payload, *_ in list(self.told) if topic == f"{BASE}/{level}"]


def bridge(server, **extra):
    return Process([daemon.BUILD / "edged-mqtt", "--config", server.config], EDGED_MQTT_ID=ID, **extra)
