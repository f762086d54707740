"""How soon edged-mqtt tells a broker's listener of motion and of a changed setting, and what edged-mqtt costs, beside
what a message takes from one client of that broker to another.

One camera of the tests, whose process says in which frame motion begins and ends. A listener's own clock says when
a message came: mosquitto_sub's %U.
"""

import argparse
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "e2e")]
import daemon  # noqa: E402
import mqtt  # noqa: E402

IDLE_S = 30
PAUSE_S = 0.2  # longer than edged-mqtt waits between two times that it asks edged how it is


class Listener(mqtt.Listener):
    """`came` has when each message came, in ns since 1970: [topic, payload, time]."""

    def __init__(self, broker):
        self.came = []
        super().__init__(broker, "-F", "%U %t %p")

    def take(self, line):
        moment, topic, payload = (line.split(" ", 2) + [""])[:3]
        seconds, _, fraction = moment.partition(".")
        self.came.append((topic, payload, int(seconds) * 10**9 + int(fraction.ljust(9, "0"))))

    def next(self, before, topic, payload=None):
        """When the first such message came of those after `before`."""
        def look():
            return [one for one in self.came[before:] if one[0] == topic and payload in (None, one[1])]
        return daemon.wait_for(look)[0]


class Publisher:
    """One client of the broker that stays connected; each line is a message."""

    def __init__(self, broker, topic):
        self.process = subprocess.Popen(["mosquitto_pub", "-p", str(broker.port), "-q", "1", "-t", topic, "-l"],
                                        stdin=subprocess.PIPE, text=True)

    def send(self, line):
        """Returns when, in ns since 1970."""
        moment = time.time_ns()
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return moment

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def echo_ms(broker, listener, count):
    publisher, took = Publisher(broker, "echo"), []
    for number in range(count):
        before = len(listener.came)
        sent = publisher.send(str(number))
        took.append(listener.next(before, "echo", str(number))[2] - sent)
        time.sleep(PAUSE_S)
    publisher.close()
    return took


def setting_ms(broker, listener, count):
    path = "front/views/edges/gain"
    publisher, took = Publisher(broker, f"{mqtt.BASE}/set/{path}"), []
    for number in range(count):
        before, gain = len(listener.came), 1.5 + number % 2
        sent = publisher.send(str(gain))
        took.append(listener.next(before, f"{mqtt.BASE}/{path}", str(gain))[2] - sent)
        time.sleep(PAUSE_S)
    publisher.close()
    return took


def motion_ms(server, listener, count):
    """From the frame in which motion began or ended to the state that Home Assistant shows."""
    process, took = server.camera()["process"]["pid"], []
    for number in range(count):
        before = len(listener.came)
        os.kill(process, signal.SIGUSR1)
        event = listener.next(before, f"{mqtt.BASE}/front/event")
        state = listener.next(before, f"{mqtt.BASE}/front/motion", "OFF" if number % 2 else "ON")
        took.append(state[2] - json.loads(event[1])["time_ns"])
        time.sleep(PAUSE_S)
    return took


def cpu_ns(pid):
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def show(name, took):
    took = [ns / 1e6 for ns in took]
    print(f"{name:46} {statistics.median(took):6.2f} {statistics.quantiles(took, n=20)[-1]:6.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="of each row (default 100)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="edged-bench-") as folder:
        broker = mqtt.Broker(pathlib.Path(folder) / "broker").start()
        server = daemon.Daemon(pathlib.Path(folder) / "edged", [daemon.camera(regions=[{"name": "door"}, {"name": "yard"}])],
                               settings={"mqtt": {"broker": "127.0.0.1", "port": broker.port}}, FAKE_CAMERA="motion",
                               EDGED_CAMERA_PROGRAM=daemon.BUILD / "tests/fakes/camera/fake_camera", STATE_DIRECTORY=folder)
        bridge = listener = None
        try:
            server.start()
            server.wait_camera("front", lambda c: c["state"] == "live" and len(c["regions"]) == 2)
            bridge, listener = mqtt.bridge(server), Listener(broker)
            listener.next(0, f"{mqtt.BASE}/available", "online")
            print(f"{'milliseconds':46} {'p50':>6} {'p95':>6}")
            show("one client of the broker to another", echo_ms(broker, listener, arguments.count))
            show("motion's frame to a listener", motion_ms(server, listener, arguments.count))
            show("a setting to edged and its new value back", setting_ms(broker, listener, arguments.count))
            begin = time.monotonic_ns(), cpu_ns(bridge.process.pid)
            time.sleep(IDLE_S)
            share = (cpu_ns(bridge.process.pid) - begin[1]) / (time.monotonic_ns() - begin[0])
            print(f"edged-mqtt: {daemon.process_memory_kib(bridge.process.pid) / 1024:.1f} MiB, idle {100 * share:.2f} % of a core")
        finally:
            for one in (listener, bridge):
                if one:
                    one.end()
            server.kill()
            broker.stop()


if __name__ == "__main__":
    main()
