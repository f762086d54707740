"""Every answer of ONVIF by its own schemas, and clients of several makers."""

import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

import daemon
import onvif_client
from onvif_client import DEVICE, EVENTS, MEDIA, NOTIFICATION

PYTHON = pathlib.Path(os.environ["EDGED_CONNECT"]) / "bin/python"
HERE = pathlib.Path(__file__).resolve().parent
FAKE_CAMERA = daemon.BUILD / "tests/fakes/camera/fake_camera"
REGIONS = [{"name": "door"}, {"name": "yard"}]  # as the fake camera has them
ALARM, CELLS, CAMERA = "binary_sensor.gate_motion_alarm", "binary_sensor.gate_cell_motion_detection", "camera.gate_front_edges"
VIEWS = ("edges", {"name": "photo", "view": "camera", "codec": "mjpeg"})
PROFILE = "<ProfileToken>front/edges</ProfileToken>"
CONFIGURATION = "<ConfigurationToken>front/edges</ConfigurationToken>"
SOURCE = "<ConfigurationToken>front</ConfigurationToken>"

DEVICE_OPERATIONS = (
    "GetSystemDateAndTime", "GetServices", "GetServiceCapabilities", "GetCapabilities", "GetHostname", "GetWsdlUrl",
    "GetEndpointReference", "GetDeviceInformation", "GetNetworkInterfaces", "GetScopes", "GetDNS", "GetNTP",
    "GetNetworkProtocols", "GetNetworkDefaultGateway", "GetDiscoveryMode", "GetUsers")
MEDIA_OPERATIONS = {
    "GetServiceCapabilities": "", "GetProfiles": "", "GetProfile": PROFILE, "GetVideoSources": "",
    "GetVideoSourceConfigurations": "", "GetVideoSourceConfiguration": SOURCE,
    "GetCompatibleVideoSourceConfigurations": PROFILE, "GetVideoEncoderConfigurations": "",
    "GetVideoEncoderConfiguration": CONFIGURATION, "GetCompatibleVideoEncoderConfigurations": PROFILE,
    "GetVideoEncoderConfigurationOptions": "", "GetGuaranteedNumberOfVideoEncoderInstances": SOURCE,
    "GetStreamUri": PROFILE, "GetSnapshotUri": PROFILE, "SetSynchronizationPoint": PROFILE,
    **dict.fromkeys((
        "GetAudioSources", "GetAudioSourceConfigurations", "GetAudioEncoderConfigurations", "GetAudioOutputs",
        "GetAudioOutputConfigurations", "GetAudioDecoderConfigurations", "GetMetadataConfigurations",
        "GetVideoAnalyticsConfigurations", "GetCompatibleAudioSourceConfigurations",
        "GetCompatibleAudioEncoderConfigurations", "GetCompatibleMetadataConfigurations",
        "GetCompatibleVideoAnalyticsConfigurations"), PROFILE)}


@pytest.fixture
def serve(edged, tmp_path):
    """serve(): an edged with a user of ONVIF, "hass"."""

    def start(camera=None, **extra):
        (tmp_path / "edged-0").mkdir()
        users = tmp_path / "edged-0/rtsp.users"
        password = onvif_client.add_user(users)
        server = edged([camera or daemon.camera(views=VIEWS, width=320, height=240)],
                       settings=onvif_client.settings(users), STATE_DIRECTORY=tmp_path, **extra)
        server.password, server.api = password, server.settings["http"]["port"]
        return server

    return start


@pytest.fixture
def served(serve):
    server = serve()
    server.wait_mount("/front/edges", lambda mount: mount["width"] == 320)
    return server


def take_in(home, server):
    home.add("onvif", {"auto": False}, {"name": "gate", "host": "127.0.0.1", "port": server.api, "username": "hass",
                                        "password": server.password})
    home.wait_state(CAMERA, "idle")


def toggle(server):
    camera = server.wait_camera("front", lambda c: c["process"]["pid"] and len(c["regions"]) == 2)
    os.kill(camera["process"]["pid"], signal.SIGUSR1)


def judge(answers):
    return subprocess.run([PYTHON, HERE / "onvif_schemas"], input=json.dumps(answers), check=True,
                          capture_output=True, text=True).stdout


def test_every_answer_is_valid_by_onvifs_schemas(served):
    client = onvif_client.Client(served.api, "hass", served.password)
    answers = [("devicemgmt.wsdl", client.ask(DEVICE, operation).text) for operation in DEVICE_OPERATIONS]
    answers += [("media.wsdl", client.ask(MEDIA, operation, arguments).text)
                for operation, arguments in MEDIA_OPERATIONS.items()]
    photo = client.ask(MEDIA, "GetVideoEncoderConfigurationOptions", CONFIGURATION.replace("edges", "photo"))
    answers.append(("media.wsdl", photo.text))
    point = client.create()
    answers += [("events.wsdl", client.ask(EVENTS, operation, path=path).text) for operation, path in (
        ("GetServiceCapabilities", None), ("GetEventProperties", None), ("CreatePullPointSubscription", None),
        ("PullMessages", point), ("SetSynchronizationPoint", point))]
    answers += [("events.wsdl", client.ask(NOTIFICATION, operation, path=point).text)
                for operation in ("Renew", "Unsubscribe")]
    client.close()
    assert judge(answers) == f"{len(answers)} valid\n"
    # And the judge refuses what is wrong.
    wrong = answers[DEVICE_OPERATIONS.index("GetUsers")][1].replace("tt:Username", "tt:Usename")
    assert "Usename" in judge([("devicemgmt.wsdl", wrong)])


# Home Assistant
# ---------------------------------------------------------------------

def test_home_assistant_hears_of_motion_and_misses_at_most_three_seconds_of_a_restart(home, serve):
    server = serve(daemon.camera(regions=REGIONS), EDGED_CAMERA_PROGRAM=FAKE_CAMERA, FAKE_CAMERA="motion")
    take_in(home, server)
    home.wait_state(ALARM, "off")
    home.wait_state(CELLS, "off")
    for moving in ("on", "off"):
        toggle(server)
        home.wait_state(ALARM, moving)
        home.wait_state(CELLS, moving)
    for _ in range(2):
        time.sleep(2)  # it pulls again
        server.stop()
        server.start()
        begin = time.monotonic()
        toggle(server)
        home.wait_state(ALARM, "on")
        took_s = time.monotonic() - begin
        print(f"motion right after a restart was heard after {took_s:.1f} s")
        assert took_s <= 3
        toggle(server)
        home.wait_state(ALARM, "off")
    assert "components.onvif" not in home.log(), home.log()


def test_home_assistant_shows_a_picture_and_is_told_of_a_wrong_password(home, serve):
    server = serve(daemon.camera(width=320, height=240))
    flow = home.ask("/api/config/config_entries/flow", {"handler": "onvif", "show_advanced_options": True})
    flow = home.ask(f"/api/config/config_entries/flow/{flow['flow_id']}", {"auto": False})
    flow = home.ask(f"/api/config/config_entries/flow/{flow['flow_id']}", {
        "name": "gate", "host": "127.0.0.1", "port": server.api, "username": "hass", "password": "guess"})
    assert flow["errors"] == {"password": "auth_failed"}, flow
    take_in(home, server)
    assert home.picture(CAMERA).startswith(b"\xff\xd8")


# Another machine
# ---------------------------------------------------------------------

OWN, OTHER, ELSEWHERE = "10.98.0.1", "10.98.0.2", "10.97.0.2"


class Network:
    """Two machines and a cable, as namespaces: edged's, and that of a client. Takes root."""

    def __init__(self, folder):
        self.holders = [subprocess.Popen(["unshare", "--net", "sleep", "infinity"]) for _ in range(2)]
        own, other = self.holders
        daemon.wait_for(lambda: all(self.is_apart(holder) for holder in self.holders))
        self.inside(own, "ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns", str(other.pid))
        for holder, address in ((own, OWN), (other, OTHER)):
            self.inside(holder, "ip", "address", "add", f"{address}/24", "dev", "cable")
            for link in ("lo", "cable"):
                self.inside(holder, "ip", "link", "set", link, "up")
        self.inside(other, "ip", "address", "add", f"{ELSEWHERE}/24", "dev", "cable")
        self.inside(other, "ip", "route", "add", "224.0.0.0/4", "dev", "cable", "src", OTHER)
        self.program = folder / "edged-there"
        self.program.write_text(f'#!/bin/sh\nexec nsenter --target {own.pid} --net {daemon.EDGED} "$@"\n')
        self.program.chmod(0o755)

    @staticmethod
    def is_apart(holder):
        return os.readlink(f"/proc/{holder.pid}/ns/net") != os.readlink("/proc/self/ns/net")

    @staticmethod
    def inside(holder, *command, **options):
        done = subprocess.run(["nsenter", "--target", str(holder.pid), "--net", *command], capture_output=True,
                              text=True, check=False, timeout=daemon.PATIENCE_S, **options)
        assert done.returncode == 0, (command, done)
        return done.stdout

    def client(self, *command, **options):
        return self.inside(self.holders[1], *command, **options)

    def close(self):
        for holder in self.holders:
            holder.kill()
            holder.wait()


@pytest.fixture
def network(tmp_path):
    assert os.geteuid() == 0, "network namespaces take root"
    one = Network(tmp_path)
    yield one
    one.close()


@pytest.fixture
def there(edged, network, tmp_path):
    """An edged on its own machine, open to the other one."""
    (tmp_path / "edged-0").mkdir()
    users = tmp_path / "edged-0/rtsp.users"
    password = onvif_client.add_user(users)
    settings = onvif_client.settings(users, discovery=True)
    settings["http"]["address"] = settings["rtsp"]["address"] = "0.0.0.0"
    server = edged([daemon.camera(views=VIEWS, width=320, height=240)], settings=settings, program=network.program)
    server.password, server.api = password, settings["http"]["port"]
    server.wait_mount("/front/edges", lambda mount: mount["width"] == 320)
    return server


# With the library and the arguments of Home Assistant's component.
LOOK = """
from wsdiscovery import QName, Scope
from wsdiscovery.discovery import ThreadedWSDiscovery
looker = ThreadedWSDiscovery(ttl=4, relates_to=True)
looker.start()
for found in looker.searchServices(
        types=[QName("http://www.onvif.org/ver10/network/wsdl", "NetworkVideoTransmitter", "dp0")],
        scopes=[Scope("onvif://www.onvif.org/Profile/Streaming")], timeout=3):
    print(*found.getXAddrs())
looker.stop()
"""
PROBE = (f'<s:Envelope xmlns:s="{onvif_client.SOAP}"><s:Header><MessageID>1</MessageID></s:Header><s:Body>'
         '<Probe xmlns="http://schemas.xmlsoap.org/ws/2005/04/discovery"/></s:Body></s:Envelope>')
ASK_FROM = """
import socket, sys
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.bind((sys.argv[1], 0))
one.settimeout(1)
one.sendto(sys.argv[2].encode(), (sys.argv[3], 3702))
try:
    print(len(one.recv(8192)))
except TimeoutError:
    print("nothing")
"""


def test_another_machine_finds_it_and_only_its_own_network_is_answered(network, there):
    url = f"http://{OWN}:{there.api}/onvif/device_service"
    assert network.client(PYTHON, "-c", LOOK).split() == [url]
    network.client("ip", "route", "add", "default", "via", OWN)
    network.inside(network.holders[0], "ip", "route", "add", "default", "via", OTHER)  # so that an answer would come
    for source, answer in ((OTHER, True), (ELSEWHERE, False)):
        for to in ("239.255.255.250", OWN):
            said = network.client(PYTHON, "-c", ASK_FROM, source, PROBE, to).strip()
            assert (said != "nothing") == answer, (source, to, said)
    # A cable that is plugged in later.
    network.inside(network.holders[0], "ip", "link", "delete", "cable")
    network.inside(network.holders[0], "ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns",
                   str(network.holders[1].pid))
    for holder, address in zip(network.holders, ("10.96.0.1", "10.96.0.2")):
        network.inside(holder, "ip", "address", "add", f"{address}/24", "dev", "cable")
        network.inside(holder, "ip", "link", "set", "cable", "up")
    network.client("ip", "route", "add", "224.0.0.0/4", "dev", "cable")
    assert network.client(PYTHON, "-c", LOOK).split() == [url.replace(OWN, "10.96.0.1")]


def test_debians_onvif_util_logs_in_and_reads_all_that_it_knows(network, there):
    assert OWN in network.client("onvif-util", "-a")
    told = network.client("onvif-util", "-u", "hass", "-p", there.password, OWN, input="\n".join((
        "get time", "get profiles", "get video", "get video options", "get rtsp", "get capabilities", "quit")))
    assert f"rtsp://{OWN}:{there.port}/front/edges" in told, told
    assert "320 x 240" in told and "error" not in told.lower(), told
