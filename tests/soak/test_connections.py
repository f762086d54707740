"""edged, edged-mqtt, a broker and a client of ONVIF, each of which fails again and again: after every turn all is
told as it is, and edged and edged-mqtt are no larger than they were after the first 20.

`make soak SOAK="-k connections" SECONDS=1500` is more than 100 turns of each on a machine with nothing else to do.
"""

import os
import signal

import pytest

import daemon
import mqtt
import onvif_client
from onvif_client import NOTIFICATION
from test_http import make_certificate

FAKE_CAMERA = daemon.BUILD / "tests/fakes/camera/fake_camera"
REGIONS = [{"name": "door"}, {"name": "yard"}]  # as the fake camera has them
EVENTS_KEPT = 1000
SETTLED_TURNS = 20  # until caches, pools and the heap are as large as they become
GROWTH_MAX_KIB = 640  # the 16,384 logins of ONVIF that edged remembers, and pages that are touched later


class Bed:
    """A camera whose process begins and ends motion on SIGUSR1 and is lost on SIGUSR2, on a broker, with an operator
    who listens there, and with ONVIF."""

    def __init__(self, edged, folder):
        self.broker = mqtt.Broker(folder / "broker").start()
        (folder / "edged-0").mkdir()
        users = folder / "edged-0/rtsp.users"
        self.password = onvif_client.add_user(users)
        settings = onvif_client.settings(users)
        settings["rtsp"].update(make_certificate(folder, "own"))
        settings["http"].update(tls=True)
        settings["mqtt"] = {"broker": "127.0.0.1", "port": self.broker.port}
        self.folder, self.port = folder, settings["http"]["port"]
        self.server = edged([daemon.camera(regions=REGIONS)], settings=settings, EDGED_CAMERA_PROGRAM=FAKE_CAMERA,
                            FAKE_CAMERA="motion", STATE_DIRECTORY=folder)
        self.fill_events()
        self.bridge = mqtt.bridge(self.server)
        self.listen()

    def fill_events(self):
        """Until edged has as many as it keeps, which take a KiB each."""
        camera = self.server.wait_camera("front", lambda c: c["state"] == "live" and len(c["regions"]) == 2)
        connection = daemon.UnixConnection(self.server.socket)
        connection.request("GET", "/v1/events")
        events = connection.getresponse()
        for _ in range(EVENTS_KEPT):
            os.kill(camera["process"]["pid"], signal.SIGUSR1)
            while b'"motion_' not in events.readline():
                pass
        connection.close()

    def listen(self):
        """As one who comes now."""
        self.listener = mqtt.Listener(self.broker)
        self.listener.wait_for(available="online", front__live="ON", front__motion="OFF")

    def signal_camera(self, number):
        camera = self.server.wait_camera("front", lambda c: c["process"]["pid"] and len(c["regions"]) == 2)
        os.kill(camera["process"]["pid"], number)

    def end(self):
        self.listener.end()
        self.bridge.end()
        self.broker.stop()


@pytest.fixture
def bed(edged, tmp_path):
    one = Bed(edged, tmp_path)
    yield one
    one.end()


def kill_edged_mqtt(bed):
    bed.bridge.end(signal.SIGKILL)
    bed.listener.wait_for(available="offline")
    bed.bridge = mqtt.bridge(bed.server)
    bed.listener.wait_for(available="online", front__live="ON")


def kill_edged(bed):
    bed.server.signal(signal.SIGKILL)
    bed.server.process.wait()
    bed.listener.wait_for(available="offline")
    bed.server.start()
    bed.listener.wait_for(available="online", front__live="ON")


def empty_broker(bed):
    connected = bed.bridge.text().count("connected to the broker")
    bed.listener.end()  # mosquitto_sub may not end while it looks for its broker
    bed.broker.stop(signal.SIGKILL)
    bed.broker.forget()
    bed.broker.start()
    bed.bridge.wait("connected to the broker", connected + 1)
    bed.listen()


def lose_camera(bed):
    bed.signal_camera(signal.SIGUSR1)
    bed.listener.wait_for(front__live="ON", front__motion="ON")
    bed.signal_camera(signal.SIGUSR2)
    bed.listener.wait_for(front__live="OFF", front__available="offline", front__motion="OFF")
    bed.signal_camera(signal.SIGUSR1)
    bed.listener.wait_for(front__live="ON", front__motion="ON")
    bed.signal_camera(signal.SIGUSR1)
    bed.listener.wait_for(front__motion="OFF")


def start_home_assistant(bed):
    topic = f"{mqtt.DISCOVERY}/front/config"
    before = sum(told == topic for told, *_ in bed.listener.told)
    bed.broker.publish("homeassistant/status", "online")
    daemon.wait_for(lambda: sum(told == topic for told, *_ in bed.listener.told) > before)


def lose_puller(bed):
    """A client that is gone while it pulls; another connection goes on with its pull point."""
    client = onvif_client.Client(bed.port, "hass", bed.password, tls=True)
    point = client.create()
    assert len(client.pull(point)) == 2
    client.begin_pull(point)
    client.close()
    again = onvif_client.Client(bed.port, "hass", bed.password, tls=True)
    for is_moving in True, False:
        again.begin_pull(point)
        bed.signal_camera(signal.SIGUSR1)
        assert [moves for *_, moves, _ in onvif_client.messages(again.finish())] == [is_moving] * 2
    assert again.ask(NOTIFICATION, "Unsubscribe", path=point).status == 200
    again.close()


def renew_certificate(bed):
    """Beside a connection that goes on with the one before."""
    client = onvif_client.Client(bed.port, "hass", bed.password, tls=True)
    point = client.create()
    make_certificate(bed.folder, "own")
    bed.server.hang_up()
    assert client.ask(NOTIFICATION, "Unsubscribe", path=point).status == 200
    client.close()


FAULTS = kill_edged_mqtt, kill_edged, empty_broker, lose_camera, start_home_assistant, lose_puller, renew_certificate


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_connections_are_right_again_and_cost_no_memory(bed, turns, fault):
    sizes = []
    for _ in turns():
        fault(bed)
        sizes.append([daemon.process_memory_kib(one.process.pid) for one in (bed.server, bed.bridge)])
    settled, last = ([max(kib) for kib in zip(*part)] for part in (sizes[:SETTLED_TURNS], sizes[SETTLED_TURNS:] or sizes))
    print(f"{fault.__name__}: {len(sizes)} turns; in the first 20 edged had up to {settled[0]} KiB and edged-mqtt {settled[1]},"
          f" later {last[0]} and {last[1]}")
    assert all(after <= before + GROWTH_MAX_KIB for before, after in zip(settled, last)), sizes
