"""A bundle runs where nothing is installed, from any folder, and says what it is made of."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from conftest import BUILD, TARBALL, unpack
import daemon
import mqtt
from ports import free_port

SIZE_MAX_BYTES = 60_000_000
WATCHED_S = 3
SOCKET = "/tmp/control.sock"
CANNOT_RUN = 126


def run_check(folder, *arguments):
    check = unpack(folder / "bundle") / "tests/gpu/daemon_check.py"
    command = [sys.executable, "-B", check, "--quick", "--seconds", "5", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def watch(root, url):
    """What a viewer in the empty root counts."""
    client = root.run("bin/daemon_client", "--seconds", WATCHED_S, url)
    assert client.returncode == 0, client
    words = client.stdout.splitlines()[-1].split()[1:]
    return dict(zip(words[::2], map(float, words[1::2])))


def write_config(root, **groups):
    settings = {"rtsp": {"port": 0}, "control": {"socket": SOCKET}, "cameras": [daemon.camera()], **groups}
    config = "".join(f"{key} = {daemon.libconfig(value)};\n" for key, value in settings.items())
    (root.path / "tmp/edged.conf").write_text(config)


def test_bundle_streams_from_a_read_only_folder_in_an_empty_root(empty_root):
    write_config(empty_root)
    empty_root.start("bin/edged", "--config", "/tmp/edged.conf")
    ready = daemon.wait_for(
        lambda: re.search(r"ready: (rtsp://\S+)", empty_root.log()), explain=empty_root.log
    )
    daemon.wait_for(lambda: "0 copies a frame" in empty_root.log(), explain=empty_root.log)
    counts = daemon.wait_for(lambda: (c := watch(empty_root, ready[1]))["frames"] and c)
    assert counts["restarts"] == counts["disconnects"] == 0, counts
    status = empty_root.run("bin/edgectl", "status", "--json", "--socket", SOCKET)
    assert json.loads(status.stdout)["cameras"][0]["state"] == "live"


def test_bundle_tells_a_broker_inside_tls_of_its_cameras(empty_root, tmp_path):
    """The C library of the bundle looks up the name, whose IPv6 address is nobody's, and its OpenSSL finds no file of
    a host."""
    broker_port = free_port()
    own = mqtt.certificate(tmp_path, "broker")
    broker = mqtt.Broker(tmp_path / "broker", f"listener {broker_port} 127.0.0.1", f"certfile {own}",
                         f"keyfile {own.with_suffix('.key')}").start()
    listener = None
    try:
        shutil.copy(own, empty_root.path / "tmp/ca.pem")
        (empty_root.path / "etc").mkdir()
        (empty_root.path / "etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
        settings = {"broker": "localhost", "port": broker_port, "tls": True, "ca": "/tmp/ca.pem"}
        write_config(empty_root, mqtt=settings)
        empty_root.start("bin/edged", "--config", "/tmp/edged.conf")
        daemon.wait_for(lambda: "ready: rtsp" in empty_root.log(), explain=empty_root.log)
        empty_root.start("bin/edged-mqtt", "--config", "/tmp/edged.conf")
        listener = mqtt.Listener(broker)
        daemon.wait_for(lambda: any(topic.endswith("/front/live") and payload == "ON"
                                    for topic, payload in list(listener.kept.items())),
                        explain=lambda: f"{empty_root.log()}\n{listener.text()}")
    finally:
        if listener:
            listener.end()
        broker.stop()


def test_bundle_keeps_its_list_of_plugins_in_a_folder_of_this_user_alone(empty_root):
    empty_root.run("bin/edged", "--version")
    folders = [path for path in (empty_root.path / "tmp").iterdir() if path.is_dir()]
    assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700]


def test_bundle_stays_under_60_megabytes():
    assert TARBALL.stat().st_size < SIZE_MAX_BYTES


def test_bundle_says_which_folder_it_cannot_run_from(tmp_path):
    bundle = unpack(tmp_path / "a:b")
    result = subprocess.run(
        [bundle / "bin/edged", "--version"], capture_output=True, text=True, check=False
    )
    assert result.returncode == CANNOT_RUN
    assert str(bundle) in result.stderr


def test_bundle_has_the_licence_of_every_package_it_is_made_of(tmp_path):
    licences = unpack(tmp_path / "bundle") / "share/doc/licences"
    packages = [line.split()[0] for line in (licences / "PACKAGES").read_text().splitlines()]
    assert {"libc6", "libgstreamer1.0-0", "libx264-164"} <= set(packages)
    assert all((licences / package).stat().st_size > 0 for package in packages)


def test_bundle_brings_no_part_of_a_gpu_driver(tmp_path):
    bundle = unpack(tmp_path / "bundle")
    drivers = [path.name for path in (bundle / "lib").rglob("lib*") if "cuda" in path.name]
    assert not drivers


@pytest.mark.parametrize("claim", ["stream", "clip"])
def test_bundle_holds_what_the_gpu_check_claims_on_the_cpu(tmp_path, claim):
    run_check(tmp_path, "--backend", "cpu", "--only", claim)


@pytest.mark.parametrize("claim", ["blocks", "faults", "memory"])
def test_bundle_holds_what_the_gpu_check_claims_on_a_fake_driver(tmp_path, claim):
    run_check(tmp_path, "--fake", BUILD / "tests/fakes/cuda/libcuda.so.1", "--only", claim)


def test_bundle_finds_the_driver_in_the_library_path(tmp_path):
    bundle = unpack(tmp_path / "bundle")
    (tmp_path / "edged.conf").write_text(
        f'rtsp = {{ port = 0; }}; control = {{ socket = "{tmp_path}/control.sock"; }};'
        'cameras = ( { source = "pattern"; } );'
    )
    with (tmp_path / "log").open("w") as log:
        edged = subprocess.Popen(
            [bundle / "bin/edged", "--config", tmp_path / "edged.conf"], stderr=log,
            env={"LD_LIBRARY_PATH": str(bundle / "tests/gpu/faulty")},
        )
    try:
        # What the driver of the tests says when nobody told it where the real one is.
        daemon.wait_for(lambda: "faulty_driver: " in (tmp_path / "log").read_text())
    finally:
        edged.terminate()
        edged.wait(daemon.PATIENCE_S)
