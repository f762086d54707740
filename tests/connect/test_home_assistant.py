"""edged in a real Home Assistant: found by itself, controlled, and after each end was killed, frozen or emptied; and
as a generic camera, by its addresses alone.

The states are Home Assistant's own. `make check-connect` installs it; it is no part of the other suites.
"""

import os
import signal
import statistics
import time

import clients
import cv2
import daemon
import mqtt
import numpy as np
from home_assistant import HomeAssistant
from ports import free_port
from test_http import write_users

FAKE_CAMERA = daemon.BUILD / "tests/fakes/camera/fake_camera"
REGIONS = [{"name": "door"}, {"name": "yard"}]
GAIN = "number.front_edges_gain"
CONNECTED, MOTION, YARD = (f"binary_sensor.front_{name}" for name in ("connected", "motion_door", "motion_yard"))


def test_home_assistant_finds_controls_and_keeps_a_camera(edged, tmp_path):
    broker = mqtt.Broker(tmp_path / "broker").start()
    server = edged([daemon.camera(regions=REGIONS)], settings={"mqtt": {"broker": "127.0.0.1", "port": broker.port}},
                   EDGED_CAMERA_PROGRAM=FAKE_CAMERA, FAKE_CAMERA="motion", STATE_DIRECTORY=tmp_path)
    server.wait_camera("front", lambda c: c["state"] == "live" and len(c["regions"]) == 2)
    bridge, home = mqtt.bridge(server), HomeAssistant(tmp_path / "home")
    try:
        home.start()
        home.onboard()
        home.add("mqtt", {"broker": "127.0.0.1", "port": broker.port})
        # Found, with every entity that is shown by default, and without a complaint.
        for entity, state in ((CONNECTED, "on"), (MOTION, "off"), (YARD, "off"), ("switch.front_armed", "on"),
                              ("sensor.front_state", "live"), (GAIN, "1.0"),
                              ("select.front_edges_operator", "sobel"), ("select.front_record_mode", "off"),
                              ("button.front_record_30_s", "unknown"), ("event.front_event", "unknown"),
                              ("binary_sensor.edged_jetson_3f2a_problem", "off")):
            home.wait_state(entity, state)
        assert "homeassistant.components.mqtt" not in home.log()
        # Motion, and settings both ways.
        os.kill(server.camera()["process"]["pid"], signal.SIGUSR1)
        home.wait_state(MOTION, "on")
        home.call("number.set_value", GAIN, value=3.3)
        home.wait_state(GAIN, "3.3")
        home.call("select.select_option", "select.front_edges_operator", option="scharr")
        home.wait_state("select.front_edges_operator", "scharr")
        # Each end, killed, frozen and emptied.
        bridge.end(signal.SIGKILL)
        home.wait_state(CONNECTED, "unavailable")
        bridge = mqtt.bridge(server)
        home.wait_state(CONNECTED, "on")
        bridge.send(signal.SIGSTOP)
        home.wait_state(CONNECTED, "unavailable")
        bridge.send(signal.SIGCONT)
        home.wait_state(CONNECTED, "on")
        broker.stop()
        broker.forget()
        broker.start()
        home.wait_state(MOTION, "on")
        broker.process.send(signal.SIGSTOP)
        bridge.wait("it does not answer")
        broker.process.send(signal.SIGCONT)
        home.wait_state(MOTION, "on")
        home.stop()
        home.start()
        home.wait_state(MOTION, "on")
        server.stop()
        home.wait_state(CONNECTED, "unavailable")
        server.start()
        home.wait_state(CONNECTED, "on")
        home.wait_state(GAIN, "3.3")  # it was kept
        # A region that is gone takes its entities with it.
        server.reload([daemon.camera(regions=REGIONS[:1])])
        home.wait_state(YARD, None)
        home.wait_state(MOTION, "off")
    finally:
        home.stop()
        bridge.end()
        broker.stop()


def test_home_assistant_shows_motion_and_a_setting_at_once(edged, home, tmp_path):
    """By its own clock: half of all changes within a quarter of a second, on a machine with other work as well. The camera
    of the tests makes no pictures, which motion must not wait for."""
    broker = mqtt.Broker(tmp_path / "broker").start()
    server = edged([daemon.camera(regions=REGIONS)], settings={"mqtt": {"broker": "127.0.0.1", "port": broker.port}},
                   EDGED_CAMERA_PROGRAM=FAKE_CAMERA, FAKE_CAMERA="motion", STATE_DIRECTORY=tmp_path)
    server.wait_camera("front", lambda c: c["state"] == "live" and len(c["regions"]) == 2)
    bridge = mqtt.bridge(server)
    try:
        home.add("mqtt", {"broker": "127.0.0.1", "port": broker.port})
        home.wait_state(MOTION, "off")
        home.wait_state(GAIN, "1.0")
        by_motion, by_setting = [], []
        for turn in range(20):
            begin = time.time()
            os.kill(server.camera()["process"]["pid"], signal.SIGUSR1)
            home.wait_state(MOTION, "off" if turn % 2 else "on")
            event = daemon.wait_for(lambda begin=begin: home.attributes("event.front_event").get("time_ns", 0) / 1e9 > begin and
                                    home.attributes("event.front_event"))
            by_motion.append(home.changed(MOTION) - event["time_ns"] / 1e9)
            time.sleep(0.2)  # Home Assistant sends nothing before a broker's kernel has acknowledged what it sent before
            begin = time.time()
            home.call("number.set_value", GAIN, value=2.0 + turn)
            home.wait_state(GAIN, str(2.0 + turn))
            by_setting.append(home.changed(GAIN) - begin)
        medians = [statistics.median(took) for took in (by_motion, by_setting)]
        print("a frame's motion is shown after {:.1f} ms, a setting after {:.1f} ms".format(*(1e3 * s for s in medians)))
        assert max(medians) < 0.25, (by_motion, by_setting)
    finally:
        bridge.end()
        broker.stop()


def test_a_generic_camera_shows_a_picture_and_plays_by_hls(edged, home, tmp_path):
    """By a login of HTTP's and RTSP's Digest."""
    write_users(tmp_path / "users", vera="viewer")
    port = free_port()
    server = edged([daemon.camera(width=320, height=240)], settings={"http": {"port": port}, "rtsp": {"users": str(tmp_path / "users")}})
    server.wait_mount("/front/edges", lambda mount: mount["width"] == 320)
    home.add("generic", {
        "still_image_url": f"http://127.0.0.1:{port}/snapshot.jpg?camera=front", "stream_source": server.url("/front/edges"),
        "authentication": "digest", "username": "vera", "password": "pass", "framerate": 2, "verify_ssl": True},
             {"confirmed_ok": True})
    home.wait_state("camera.127_0_0_1", "idle")
    picture = cv2.imdecode(np.frombuffer(home.picture("camera.127_0_0_1"), np.uint8), cv2.IMREAD_COLOR)
    assert picture.shape == (240, 320, 3)
    viewer = clients.Viewer(home.stream("camera.127_0_0_1"), program="ffmpeg", size=(320, 240))
    try:
        viewer.wait_numbers(90)
        server.assert_accounted(viewer)
    finally:
        viewer.stop()
    assert "components.generic" not in home.log() and "components.stream" not in home.log(), home.log()
