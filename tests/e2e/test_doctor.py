"""`edgectl doctor`: what it finds on machines that are well, and what it says of those that are not."""

import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile

import pytest

import daemon
from findings import doctor  # noqa: F401
from ports import free_port
from system_bus import ABSENT, ACTIVE, INACTIVE, SystemBus
from test_http import make_certificate, make_expired_certificate


def test_machine_without_gpu_camera_and_systemd_is_well(doctor):
    found = doctor()
    assert found.report["ok"]
    assert found.of("GPU")[0] == "info" and ": the CPU computes" in found.of("GPU")[1]
    assert found.of("service")[0] == "info"
    assert found.of("control socket")[0] == "info"
    assert found.of("configuration")[0] == "ok" and "1 camera, 1 view" in found.of("configuration")[1]
    assert found.of("RTSP port") == ("ok", "127.0.0.1, port 0 is free")
    assert found.of("encoder x264enc")[1].startswith("two key frames of 64x48 in ")
    assert found.of("camera front") == (
        "ok", "pattern NV12 64x48@30 -> host -> CPU -> x264enc, 0 copies a frame")


def test_lines_say_the_same_and_end_in_the_sum(doctor):
    result = doctor(None, "--config", "/nonexistent")  # the last one counts
    lines = result.stdout.splitlines()
    assert result.returncode == 1
    assert lines[0].startswith("FAILED   configuration         /nonexistent: ")
    assert lines[-1] == f"1 of {len(lines) - 2} checks failed" and lines[-2] == ""
    assert any(line.startswith("ok       encoder x264enc       two key frames of ") for line in lines)


def test_report_is_a_page_with_the_machine_and_all_checks(doctor):
    page = doctor(None, "--report", fake="board=orin-nano").stdout
    found = doctor(fake="board=orin-nano")
    title, *rest = page.splitlines()
    assert re.fullmatch(r"# edged [0-9.]+ on .+", title)
    cells = [re.split(r" ?(?<!\\)\| ?", row)[1:-1] for row in rest if row.startswith("|")]
    machine = {row[0]: row[1] for row in cells if len(row) == 2}
    assert machine["kernel"] == subprocess.check_output(["uname", "-srm"], text=True).strip()
    assert machine["system"] in open("/etc/os-release", encoding="utf-8").read()
    verdicts = {row[1]: row[0] for row in cells if len(row) == 3}
    assert {check["check"]: check["verdict"] for check in found.report["checks"]} == \
        {name: verdict for name, verdict in verdicts.items()
         if name not in ("check", "---")}
    assert rest[-1] == f"{len(found.checks)} checks, none failed"


def test_report_and_json_exclude_each_other(doctor):
    assert doctor(None, "--report", "--json").returncode == 2


def test_wrong_words_are_refused(doctor):
    assert doctor(None, "--jsno").returncode == 2
    assert doctor(None, "now").returncode == 2
    assert "Usage: edgectl doctor" in doctor(None, "--help").stdout


def test_problems_of_the_configuration_are_counted(doctor, tmp_path):
    path = tmp_path / "edged.conf"
    one = doctor(text='cameras = ( { name = "front"; source = "patern"; } );').of("configuration")
    assert one[0] == "failed" and one[1].startswith(f"{path}:1: error: cameras[0].source: ")
    two = doctor(text='backend = "gpu"; rtsp = { port = 70000; };').of("configuration")
    assert two[1].endswith(f", and 1 more: `edged --config {path} --check` lists them")


def test_with_a_mistake_in_the_file_only_the_machine_is_looked_at(doctor):
    found = doctor(text='cameras = ( { name = "front"; source = "patern"; } );')
    assert found.of("configuration")[0] == "failed" and "GPU" in found.checks
    assert found.of("left out")[0] == "info" and "of the built-in defaults" in found.of("left out")[1]
    for subject in found.checks:
        assert not subject.startswith(("camera ", "RTSP port", "users")), subject


def test_the_running_edged_is_heard_first(doctor, edged):
    """Its cameras are what counts, whatever a look at the machine finds besides."""
    server = edged([daemon.camera("good", width=64, height=48),
                    daemon.camera("bad", source="v4l2", device="/dev/video99")])
    server.wait_camera("good", lambda camera: camera["state"] == "live")
    server.wait_camera("bad", lambda camera: camera["error"])
    found = doctor(control={"socket": server.socket})
    verdict, text = found.of("running camera good")
    assert verdict == "ok" and text.startswith("live, good: pattern "), text
    verdict, text = found.of("running camera bad")
    assert verdict == "failed" and "/dev/video99" in text
    subjects = list(found.checks)
    assert subjects.index("running camera bad") < subjects.index("board")


@pytest.mark.skipif(not str(pathlib.Path.home()).startswith(("/root", "/home/")), reason="no usual home")
def test_a_path_that_the_service_cannot_see_is_warned_of(doctor, tmp_path):
    with tempfile.TemporaryDirectory(dir=pathlib.Path.home()) as home:
        clip = pathlib.Path(home, "street.mp4")
        shutil.copy(daemon.ROOT / "tests/data/street.mp4", clip)
        cameras = [daemon.camera(source="file", path=str(clip), views=["edges"])]
        verdict, text = doctor(cameras).of("cameras[0].path")
        assert verdict == "warning" and text.startswith(f"{clip}: edged.service does not see it")
        check = daemon.run_edged("--check", "--config", tmp_path / "edged.conf")
        assert f"warning: cameras[0].path: {clip}: edged.service does not see it" in check.stderr


def test_port_of_another_program_fails_and_that_of_edged_does_not(doctor, edged):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        verdict, text = doctor(rtsp={"port": port}).of("RTSP port")
        assert verdict == "failed" and str(port) in text and "set rtsp.port" in text
    server = edged([daemon.camera(width=64, height=48)])
    found = doctor(rtsp={"port": server.port}, control={"socket": server.socket})
    assert found.of("RTSP port") == ("ok", f"127.0.0.1, port {server.port} is the running edged's")
    assert found.of("control socket")[0] == "ok" and found.of("control socket")[1].endswith(" answers")
    assert found.of("camera front")[0] == "info" and "edged is running" in found.of("camera front")[1]
    # Without its socket nobody knows that it is edged's.
    assert doctor(rtsp={"port": server.port}).of("RTSP port")[0] == "failed"


def test_certificate_is_looked_at_for_what_clients_check(doctor, edged, tmp_path):
    assert doctor().of("certificate") == ("info", "nothing is encrypted: rtsp.tls_port is 0")
    own = make_certificate(tmp_path, "own")  # for 127.0.0.1, and 2 days
    verdict, text = doctor(rtsp={"port": 0, "tls_port": 1, **own}).of("certificate")
    assert verdict == "warning" and re.search(r"own\.crt is valid for [12] days: renew it soon", text)
    verdict, text = doctor(rtsp={"port": 0, "tls_port": 1, "address": "127.0.0.2", **own}).of(
        "certificate")
    assert verdict == "warning" and "names neither " in text and " nor 127.0.0.2" in text
    old = make_expired_certificate(tmp_path)
    verdict, text = doctor(rtsp={"port": 0, "tls_port": 1, **old}).of("certificate")
    assert verdict == "failed" and "old.crt has expired" in text
    (tmp_path / "own.key").chmod(0o644)
    verdict, text = doctor(rtsp={"port": 0, "tls_port": 1, **own}).of("certificate")
    assert verdict == "failed" and "`chmod 640 " in text


def test_generated_certificate_is_the_running_edgeds(doctor, edged, tmp_path):
    tls = {"port": 0, "tls_port": free_port()}
    assert doctor(rtsp=tls).of("certificate")[0] == "info"
    server = edged([daemon.camera(width=64, height=48)], settings={"rtsp": tls},
                   STATE_DIRECTORY=tmp_path)
    verdict, text = doctor(rtsp=tls, control={"socket": server.socket}).of("certificate")
    assert verdict == "ok" and server.status()["certificate"]["fingerprint"] in text


def test_file_of_users_may_be_nobody_elses(doctor, tmp_path):
    assert doctor().of("users")[0] == "info"
    users = tmp_path / "rtsp.users"
    subprocess.run([daemon.EDGECTL, "passwd", "--file", users, "vera"], text=True, check=True,
                   input="correct horse\n", env=daemon.environment())
    found = doctor(rtsp={"port": 0, "users": users})
    assert found.of("users") == ("ok", f"{users}: 1 user")
    users.chmod(0o640)
    verdict, text = doctor(rtsp={"port": 0, "users": users}).of("configuration")
    assert verdict == "failed" and str(users) in text and "0640" in text
    users.write_text("vera\n")
    credential = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    verdict, text = doctor(variables=credential).of("users")
    assert verdict == "failed" and text.startswith(f"{users}:1: ")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_users_that_only_edged_may_read_are_no_failure():
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        edgectl = shutil.copy(daemon.EDGECTL, directory)
        users, config = pathlib.Path(directory) / "rtsp.users", pathlib.Path(directory) / "edged.conf"
        subprocess.run([edgectl, "passwd", "--file", users, "vera"], text=True, check=True,
                       input="correct horse\n", env=daemon.environment())
        config.write_text('rtsp = { port = 0; users = "rtsp.users"; }; http = { port = 0; };\n')
        done = subprocess.run([edgectl, "doctor", "--json", "--config", config], env=daemon.environment(),
                              capture_output=True, text=True, timeout=daemon.PATIENCE_S, check=False,
                              user=65534, group=65534, extra_groups=[])
        found = {check["check"]: (check["verdict"], check["text"]) for check in json.loads(done.stdout)["checks"]}
        assert found["users"] == (
            "warning", f"{users} is not for this user to read: `sudo edgectl doctor` looks at it")


def test_clips_need_a_file_system_that_takes_them(doctor, tmp_path):
    assert doctor().of("clips") == ("info", "no camera is recorded")
    cameras = [daemon.camera(record={"mode": "always"})]
    verdict, text = doctor(cameras, storage={"path": f"{tmp_path}/not/there/yet"}).of("clips")
    assert verdict == "ok" and text.startswith(f"{tmp_path}/not/there/yet, ") and text.endswith(" free")
    verdict, text = doctor(cameras, storage={"path": "/proc/clips"}).of("clips")
    assert verdict == "failed" and text.startswith("/proc/clips: /proc cannot be written: set storage.path")


def test_socket_of_something_else_fails(doctor, tmp_path):
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "other.sock"))  # nobody listens
        found = doctor(control={"socket": tmp_path / "other.sock"})
        assert found.of("control socket")[0] == "info" and "no edged listens" in found.of(
            "control socket")[1]
    verdict, text = doctor(control={"socket": "/" + "x" * 120}).of("configuration")
    assert verdict == "failed" and "at most 107" in text


def v4l2(options):
    return {"LD_PRELOAD": daemon.FAKE_V4L2, "EDGED_FAKE_V4L2": options}


V4L2 = {"source": "v4l2", "width": 640, "height": 480}


def test_cameras_are_listed_with_what_they_would_deliver(doctor):
    fake = v4l2("device=/dev/video7 format=MJPG,YUYV size=640x480 fps=30")
    found = doctor([daemon.camera(device="/dev/video7", **V4L2)], variables=fake)
    assert found.of("/dev/video7") == ("ok", "opens, would deliver YUYV 640x480@30")
    path = "V4L2 USERPTR YUYV 640x480@30 -> host -> CPU -> x264enc, 0 copies a frame"
    assert found.of("camera front") == ("ok", path)
    assert doctor([daemon.camera(**V4L2)], variables=fake).of("camera front") == ("ok", path)


@pytest.mark.parametrize("options, settings, text", [
    ("device=/dev/video3", {"device": "/dev/video4"}, "/dev/video4 does not exist; "),
    ("device=/dev/video3 format=YUYV", {"device": "/dev/video3", "format": "NV12"},
     "/dev/video3 has no format edged can use as NV12; it offers YUYV"),
    ("device=/dev/video3 kind=denied", {"device": "/dev/video3"}, "add the user to group video"),
    ("device=/dev/video3 kind=denied", {}, "/dev/video3: add the user to group video"),
    ("device=/dev/video3 kind=output", {}, "/dev/video3 is not a capture device (Fake Camera); plug one in"),
])
def test_camera_that_is_wished_for_and_not_there_fails(doctor, options, settings, text):
    found = doctor([daemon.camera(**V4L2, **settings)], variables=v4l2(options))
    assert found.of("camera front")[0] == "failed" and text in found.of("camera front")[1]


def test_camera_by_default_may_be_missing_but_not_be_denied(doctor):
    automatic = [daemon.camera(source="auto", width=640, height=480)]
    found = doctor(automatic, variables=v4l2("device=/dev/video3 kind=output"))
    assert found.of("camera front")[0] == "info" and found.report["ok"]
    found = doctor(automatic, variables=v4l2("device=/dev/video3 kind=denied"))
    assert found.of("/dev/video3")[0] == "warning" and "usermod -aG video" in found.of("/dev/video3")[1]
    assert found.of("camera front")[0] == "failed"


def test_clips_and_pipelines_are_looked_at(doctor, tmp_path):
    clip = daemon.ROOT / "tests/data/street.mp4"
    found = doctor([
        daemon.camera("a", source="file", path=clip),
        daemon.camera("b", source="file", path=tmp_path / "gone.mp4"),
        daemon.camera("c", source="gstreamer", pipeline="videotestsrc ! videoconvert"),
        daemon.camera("d", source="gstreamer", pipeline="nosuchsrc ! videoconvert"),
    ])
    assert [found.of(f"camera {name}")[0] for name in "abcd"] == ["ok", "failed", "ok", "failed"]
    assert found.of("camera a")[1].startswith("clip YU12 768x576@10 ")
    assert found.of("camera c")[1].startswith("GStreamer NV12 1280x720@30 ")
    assert "No such file" in found.of("camera b")[1] and "nosuchsrc" in found.of("camera d")[1]


def test_a_pipeline_that_delivers_no_picture_fails(doctor):
    broken = "videotestsrc ! identity error-after=1"
    found = doctor([daemon.camera(source="gstreamer", pipeline=broken)])
    verdict, text = found.of("camera front")
    assert verdict == "failed" and "Failed after iterations as requested" in text
    assert text.endswith("or see to what else uses the camera")


@pytest.mark.parametrize("program, text", [
    ("kill -SEGV $$", "the camera process was killed by signal 11 (Segmentation fault); "),
    ("exec sleep 60", "no picture within 10 s; "),
])
def test_a_camera_process_that_does_not_answer_fails(doctor, tmp_path, program, text):
    camera = tmp_path / "edged-camera"
    camera.write_text(f"#!/bin/sh\n{program}\n")
    camera.chmod(0o755)
    found = doctor(variables={"EDGED_CAMERA_PROGRAM": camera})
    assert found.of("camera front")[0] == "failed" and found.of("camera front")[1].startswith(text)


def test_encoder_that_a_view_names_has_to_work(doctor):
    views = [{"view": "edges", "encoder": "nvv4l2h264enc"}]
    found = doctor([daemon.camera(width=64, height=48, views=views)])
    verdict, text = found.of("encoder nvv4l2h264enc")
    assert verdict == "failed" and text.endswith('; set encoder = "auto"')
    assert doctor().of("encoder nvv4l2h264enc")[0] == "info"


def test_machine_without_gstreamers_plugins_fails(doctor, tmp_path):
    found = doctor(variables={"GST_PLUGIN_SYSTEM_PATH": tmp_path, "GST_PLUGIN_PATH": "",
                              "GST_REGISTRY": tmp_path / "registry"})
    assert found.of("encoders")[0] == "failed"
    assert "gstreamer1.0-plugins-ugly" in found.of("encoders")[1]


def test_a_view_of_h265_has_to_have_an_encoder(doctor, tmp_path):
    views = [{"view": "edges", "codec": "h265"}]
    found = doctor([daemon.camera(views=views, width=64, height=48)])
    assert found.of("encoder x265enc")[1].startswith("two key frames of 64x48 in ")
    found = doctor([daemon.camera(views=views)],
                   variables={"GST_PLUGIN_SYSTEM_PATH": tmp_path, "GST_PLUGIN_PATH": "",
                              "GST_REGISTRY": tmp_path / "registry"})
    assert found.of("encoders of H.265")[0] == "failed"
    assert "gstreamer1.0-plugins-bad (x265enc)" in found.of("encoders of H.265")[1]


@pytest.fixture
def systemd():
    bus = SystemBus()
    yield bus
    bus.close()


@pytest.mark.parametrize("states, verdict, text", [
    (ABSENT, "info", "edged.service is not installed"),
    (ACTIVE, "ok", "edged.service is active, enabled"),
    (INACTIVE, "info", "`systemctl enable --now edged`"),
    (("loaded", "failed", "enabled", "exit-code"), "failed", "failed (exit-code): `journalctl -eu"),
    (("bad-setting", "inactive", "", "success"), "failed", "edged.service is bad-setting: see"),
])
def test_service_is_as_systemd_says(doctor, systemd, states, verdict, text):
    systemd.states["edged.service"] = states
    found = doctor(variables={"DBUS_SYSTEM_BUS_ADDRESS": systemd.address})
    assert found.of("service")[0] == verdict and text in found.of("service")[1]


@pytest.mark.parametrize("service, states, verdict, text", [
    (ACTIVE, ACTIVE, "ok", "edged-camera.socket is active"),
    (ACTIVE, INACTIVE, "failed", "no camera starts without it: `systemctl start edged-camera.socket`"),
    (INACTIVE, INACTIVE, "info", "edged.service starts it"),
    (INACTIVE, ("loaded", "failed", "enabled", "resources"), "failed", "failed (resources), and no camera"),
    (INACTIVE, ABSENT, "failed", "is not-found, and edged.service starts no camera without it: install"),
])
def test_the_socket_of_camera_processes_is_as_systemd_says(doctor, systemd, service, states, verdict, text):
    systemd.states.update({"edged.service": service, "edged-camera.socket": states})
    found = doctor(variables={"DBUS_SYSTEM_BUS_ADDRESS": systemd.address})
    assert found.of("camera socket")[0] == verdict and text in found.of("camera socket")[1]


def test_a_machine_without_the_service_needs_no_socket_of_camera_processes(doctor, systemd):
    systemd.states.update({"edged.service": ABSENT, "edged-camera.socket": ABSENT})
    found = doctor(variables={"DBUS_SYSTEM_BUS_ADDRESS": systemd.address})
    assert found.of("service")[0] == "info" and "camera socket" not in found.checks


@pytest.mark.parametrize("broker, states, verdict, text", [
    ("", ABSENT, "info", "edged-mqtt.service is not installed, and mqtt.broker unset"),
    ("", INACTIVE, "info", "edged-mqtt.service is inactive, and mqtt.broker unset"),
    ("10.0.0.2", ABSENT, "warning", "install the package edged-mqtt"),
    ("10.0.0.2", INACTIVE, "warning", "is inactive, disabled: `systemctl enable --now edged-mqtt` starts it"),
    ("10.0.0.2", ACTIVE, "ok", "edged-mqtt.service is active, enabled"),
    ("10.0.0.2", ("loaded", "failed", "enabled", "signal"), "failed", "failed (signal): `journalctl -eu edged-mqtt`"),
])
def test_the_service_of_mqtt_has_to_run_where_a_broker_is_configured(doctor, systemd, broker, states, verdict, text):
    systemd.states["edged-mqtt.service"] = states
    found = doctor(mqtt={"broker": broker}, variables={"DBUS_SYSTEM_BUS_ADDRESS": systemd.address})
    assert found.of("MQTT service")[0] == verdict and text in found.of("MQTT service")[1]


@pytest.mark.parametrize("state, listen, verdict, text", [
    (ACTIVE, "127.0.0.1:{}", "ok", "is held by edged.socket for edged"),
    (ACTIVE, "[::]:{}", "failed", "edged.socket listens on [::]:{}: run `edgectl setup`"),
    (ACTIVE, "127.0.0.1:1", "failed", "end that, or set rtsp.port"),
    (INACTIVE, "127.0.0.1:{}", "failed", "end that, or set rtsp.port"),
])
def test_port_of_the_socket_unit_is_edgeds(doctor, systemd, state, listen, verdict, text):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        systemd.states["edged.socket"], systemd.listen = state, [("Stream", listen.format(port))]
        found = doctor(rtsp={"port": port}, variables={"DBUS_SYSTEM_BUS_ADDRESS": systemd.address})
        assert found.of("RTSP port")[0] == verdict
        assert text.format(port) in found.of("RTSP port")[1]
