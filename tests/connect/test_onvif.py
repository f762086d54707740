"""Every answer of ONVIF by its own schemas, and clients of several makers."""

import json
import os
import pathlib
import signal
import subprocess
import time

import pytest

import daemon
import onvif_answers
import onvif_client
from two_machines import OWN, network, there  # noqa: F401

PYTHON = pathlib.Path(os.environ["EDGED_CONNECT"]) / "bin/python"
HERE = pathlib.Path(__file__).resolve().parent
FAKE_CAMERA = daemon.BUILD / "tests/fakes/camera/fake_camera"
REGIONS = [{"name": "door"}, {"name": "yard"}]  # as the fake camera has them
ALARM, CELLS, CAMERA = "binary_sensor.gate_motion_alarm", "binary_sensor.gate_cell_motion_detection", "camera.gate_front_edges"


@pytest.fixture
def serve(edged, tmp_path):
    """serve(): an edged with a user of ONVIF, "hass"."""

    def start(camera=None, **extra):
        (tmp_path / "edged-0").mkdir()
        users = tmp_path / "edged-0/rtsp.users"
        password = onvif_client.add_user(users)
        server = edged([camera or onvif_answers.CAMERA],
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
    answers = onvif_answers.ask_all(client)
    client.close()
    assert judge(answers) == f"{len(answers)} valid\n"
    # And the judge refuses what is wrong.
    wrong = next(text for _, text in answers if "tt:Username" in text).replace("tt:Username", "tt:Usename")
    assert "Usename" in judge([("devicemgmt.wsdl", wrong)])
    text = onvif_answers.as_text(answers)
    known, _ = onvif_answers.JUDGED.read_text(), onvif_answers.JUDGED.write_text(text)
    assert text == known, f"{onvif_answers.JUDGED} has the valid answers now"


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


def test_the_library_of_home_assistant_finds_it_from_another_machine(network, there):  # noqa: F811
    url = f"http://{OWN}:{there.api}/onvif/device_service"
    assert network.client(PYTHON, "-c", LOOK).split() == [url]
    network.pull_out()
    network.plug_in("10.96.0.1", "10.96.0.2")
    # Once edged has joined the group there.
    daemon.wait_for(lambda: network.client(PYTHON, "-c", LOOK).split() == [url.replace(OWN, "10.96.0.1")])
