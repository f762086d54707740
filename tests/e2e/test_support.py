"""`edgectl support`: one archive that has what helps, and no password."""

import json
import subprocess
import tarfile

import pytest

import daemon

MEMBERS = {"status.json", "doctor.md", "edged.conf", "settings.conf", "journal.txt", "crashes.txt", "kernel.txt", "service.txt",
           "versions.txt", "devices.txt"}
PASSWORD = "hunter2-s3cret"
CONFIGURATION = """
# The password of the camera in the garden is {password}.
rtsp = {{ port = 0; users = "{folder}/rtsp.users"; }};
control = {{ socket = "{folder}/control.sock"; }};
cameras = (
  {{ name = "garden"; source = "gstreamer";
     pipeline = "rtspsrc location=rtsp://anna:" "{password}@127.0.0.1:1/live ! decodebin";
     views = ( {{ name = "edges"; view = "edges"; }} ); }},
  {{ name = "yard"; source = "gstreamer";
     pipeline = "rtspsrc location=rtsp://127.0.0.1:1/ user-id=anna user-pw=\\"{password}\\" ! decodebin";
     views = ( {{ name = "edges"; view = "edges"; }} ); }},
  @include "more.conf"
);
"""
MORE = """{{ name = "door"; source = "rtsp"; url = "rtsp://127.0.0.1:1/x?token={password}";
  credentials = "{folder}/door.password"; }}
"""
SETTINGS = """config = "{folder}/edged.conf";
settings = (
  {{ key = "cameras.garden.fps"; value = "25"; file = "rtsp://anna:{password}@127.0.0.1/"; }}
);
"""
JOURNALCTL = """#!/bin/sh
echo "$@"
echo 'edged[7]: yard: cannot connect to rtsp://anna:{password}@127.0.0.1:1/, password="{password}"'
"""
SYSTEMCTL = """#!/bin/sh
echo "$@"
"""


def support(tmp_path, *arguments, **variables):
    archive = tmp_path / "archive.tar.gz"
    subprocess.run([daemon.EDGECTL, "support", "--output", archive, *arguments], check=True,
                   env=daemon.environment(**variables), stdin=subprocess.DEVNULL,
                   timeout=10 * daemon.PATIENCE_S)
    with tarfile.open(archive) as tar:
        files = [(entry.name.split("/")[-1], tar.extractfile(entry).read().decode())
                 for entry in tar if entry.isfile()]
    assert len(files) == len(dict(files))
    return archive, dict(files)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "bin").mkdir()
    for name, script in (("journalctl", JOURNALCTL.format(password=PASSWORD)), ("systemctl", SYSTEMCTL)):
        program = tmp_path / "bin" / name
        program.write_text(script)
        program.chmod(0o755)
    return tmp_path


def path_with(folder):
    return f"{folder / 'bin'}:{daemon.environment()['PATH']}"


def test_what_edged_knows_is_in_the_archive_and_no_password(folder):
    conf = folder / "edged.conf"
    conf.write_text(CONFIGURATION.format(password=PASSWORD, folder=folder))
    (folder / "more.conf").write_text(MORE.format(password=PASSWORD, folder=folder))
    (folder / "door.password").write_text(f"anna:{PASSWORD}\n")
    (folder / "door.password").chmod(0o600)
    subprocess.run([daemon.EDGECTL, "passwd", "--config", conf, "anna"], input=PASSWORD + "\n",
                   text=True, check=True, stdout=subprocess.DEVNULL)
    hashes = (folder / "rtsp.users").read_text().splitlines()[-1].split(":")[2:]
    assert len(hashes) == 2 and PASSWORD in conf.read_text()
    process = subprocess.Popen([daemon.BUILD / "edged", "--config", conf],
                               env=daemon.environment(), stderr=subprocess.DEVNULL)
    try:
        daemon.wait_for(lambda: daemon.is_listening(folder / "control.sock"))
        (folder / "settings.conf").write_text(SETTINGS.format(password=PASSWORD, folder=folder))
        archive, files = support(folder, "--config", conf, PATH=path_with(folder), STATE_DIRECTORY=folder)
    finally:
        process.terminate()
        process.wait()

    assert set(files) == MEMBERS
    for name, text in files.items():
        for secret in (PASSWORD, *hashes):
            assert secret not in text, (name, text)
    assert archive.stat().st_mode & 0o777 == 0o600
    assert [camera["name"] for camera in json.loads(files["status.json"])["cameras"]] == \
        ["garden", "yard", "door"]
    assert "cannot connect to rtsp://***@127.0.0.1:1/" in files["journal.txt"]
    for unit in ("edged.service", "edged.socket", "edged-camera@*", "edged-camera.socket", "edged-recorder.service",
                 "edged-recorder.socket", "edged-mqtt.service"):
        assert f"--unit={unit} " in files["journal.txt"] and f"--unit={unit} " in files["crashes.txt"]
        assert f" {unit}" in files["service.txt"]
    for kept in ('name = "garden"', 'rtsp://***@127.0.0.1:1/live', "user-pw=", 'name = "door"'):
        assert kept in files["edged.conf"], files["edged.conf"]
    assert '"cameras.garden.fps"; value = "25"; file = "rtsp://***@' in files["settings.conf"]
    assert "yard" in files["doctor.md"]
    version = subprocess.check_output([daemon.EDGECTL, "--version"], text=True)
    assert "Linux" in files["versions.txt"] and version in files["versions.txt"]


def test_an_archive_is_made_where_edged_neither_runs_nor_is_configured(folder):
    conf = folder / "edged.conf"
    conf.write_text("cameras = ( { name = ;\n")
    _, files = support(folder, "--config", conf, PATH=path_with(folder))
    assert set(files) == MEMBERS
    assert "edged.conf:1" in files["doctor.md"]
    assert files["edged.conf"] == "It is no configuration: see doctor.md.\n"


def test_an_archive_that_cannot_be_written_is_named(folder):
    done = subprocess.run([daemon.EDGECTL, "support", "--output", folder / "none/archive"],
                          env=daemon.environment(PATH=path_with(folder)), capture_output=True,
                          text=True, check=False, timeout=10 * daemon.PATIENCE_S)
    assert done.returncode == 1
    assert f"cannot write {folder / 'none/archive'}" in done.stderr
