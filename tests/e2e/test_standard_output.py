"""What is printed and cannot be written is an error with a sentence, and a closed pipe a quiet end."""

import os
import signal
import subprocess

import pytest

import daemon

FAKE_CAMERA = daemon.BUILD / "tests/fakes/camera/fake_camera"
DATA = daemon.ROOT / "tests/data"
FULL = "standard output: No space left on device\n"


@pytest.fixture
def moving(edged):
    """An edged whose camera process begins and ends motion on SIGUSR1."""
    server = edged([daemon.camera()], EDGED_CAMERA_PROGRAM=FAKE_CAMERA, FAKE_CAMERA="motion")
    server.wait_camera("front", lambda c: c["state"] == "live" and len(c["regions"]) == 2)
    return server


def on_full_disk(program, *words):
    with open("/dev/full", "w") as full:
        return subprocess.Popen(
            [program, *words], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE,
            text=True, env=daemon.environment(CUDA_VISIBLE_DEVICES=""),
        )


def assert_says_so(process):
    errors = process.communicate(timeout=daemon.PATIENCE_S)[1]
    assert process.returncode == 1, errors
    assert errors.endswith(f"{os.path.basename(process.args[0])}: {FULL}")
    assert errors.count(FULL) == 1


@pytest.mark.parametrize("words", [
    ["--help"], ["--version"], ["tune", "--help"], ["doctor"], ["doctor", "--json"],
    ["bench", "--backend", "cpu", "--runs", "3", "--size", "64x48"],
    ["events", "--config", DATA / "street-motion.conf", DATA / "street.mp4"],
], ids=lambda words: " ".join(map(str, words[:2])))
def test_edgectl_fails_on_a_full_disk(words):
    assert_says_so(on_full_disk(daemon.EDGECTL, *words))


@pytest.mark.parametrize("option", ["--help", "--version", "--check"])
def test_edged_fails_on_a_full_disk(tmp_path, option):
    (tmp_path / "edged.conf").write_text("")
    assert_says_so(on_full_disk(daemon.EDGED, "--config", tmp_path / "edged.conf", option))


def test_status_and_watch_fail_on_a_full_disk(moving):
    for words in (["status"], ["status", "--json"]):
        assert_says_so(on_full_disk(daemon.EDGECTL, *words, "--socket", moving.socket))
    watches = [on_full_disk(daemon.EDGECTL, "watch", *words, "--socket", moving.socket)
               for words in ([], ["--json"])]
    os.kill(moving.camera()["process"]["pid"], signal.SIGUSR1)
    for watch in watches:
        assert_says_so(watch)


def test_watch_ends_quietly_with_its_reader(moving):
    watch = subprocess.Popen(
        [daemon.EDGECTL, "watch", "--socket", moving.socket], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=daemon.environment(),
    )
    os.kill(moving.camera()["process"]["pid"], signal.SIGUSR1)
    daemon.wait_for(lambda: "motion began" in watch.stdout.readline())
    watch.stdout.close()  # it does not wait for another event
    assert watch.wait(daemon.PATIENCE_S) == -signal.SIGPIPE
    assert watch.stderr.read() == ""
    watch.stderr.close()
