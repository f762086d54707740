"""The GPU fails, or its kernels get other block sizes: sessions notice neither.

The camera process is the fake one, which says that it computes on a GPU and fails on SIGUSR1.
"""

import os
import pathlib
import signal
import time

import pytest

import daemon

FAKE_CAMERA = daemon.BUILD / "tests/fakes/camera/fake_camera"
CAMERA = daemon.camera(width=320, height=240)
WATCHED = {"program": "gstreamer", "size": (320, 240)}


class Told:
    """What the camera processes were told, in order, as (pid, text)."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def all(self):
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        told = [line.split(" ", 1) for line in lines]
        return [(int(pid), text) for pid, text in told if not text.startswith("pass-over ")]

    def texts(self):
        return [text for _, text in self.all()]

    def wait(self, text):
        """The process that was told `text` last."""
        return daemon.wait_for(
            lambda: next((pid for pid, t in reversed(self.all()) if t == text), None),
            explain=self.texts,
        )


@pytest.fixture
def told(tmp_path):
    return Told(tmp_path / "told")


@pytest.fixture
def fake(edged, told):
    """A daemon whose camera processes are fake, with a GPU."""

    def start(**settings):
        server = edged(
            [CAMERA], EDGED_CAMERA_PROGRAM=FAKE_CAMERA, FAKE_CAMERA="gpu",
            FAKE_CAMERA_RECORD=told.path, settings=settings,
        )
        server.wait_camera("front", lambda c: c["backend"] == "CUDA sm_87")
        return server

    return start


def kernels(**blocks):
    return {name: {"block": list(block)} for name, block in blocks.items()}


def wait_live(server, viewer):
    """Waits until the viewer gets what the camera process encodes now."""

    def count():
        return server.mount()["latency_ms"]["capture_to_rtp"]["count"]

    before, since_ns = count(), time.monotonic_ns()
    daemon.wait_for(lambda: count() >= before + 10)
    viewer.wait_until(lambda frames: sum(t > since_ns for _, t in frames) >= 10)


def test_other_block_sizes_reach_the_running_process_and_viewers_stay(fake, told, watch):
    server = fake()
    pid = server.camera()["process"]["pid"]
    viewer = watch(server.url("/front/edges"), **WATCHED)
    viewer.wait_frames(10)
    server.reload(kernels=kernels(gradient=(32, 8), convert=(64, 4)))
    assert told.wait("reconfigure auto 32x8 0x0 64x4") == pid
    server.reload(kernels=kernels(gradient=(16, 16)))
    assert told.wait("reconfigure auto 16x16 0x0 0x0") == pid
    server.reload(kernels={"gradient": {"block": [16, 16], "rows": 8}})
    assert told.wait("reconfigure auto 16x16 0x0 0x0 rows 8") == pid
    wait_live(server, viewer)
    assert viewer.watching
    assert server.camera()["process"]["pid"] == pid
    assert server.status()["viewers"] == 1
    assert told.texts() == [
        "configure auto 0x0 0x0 0x0", "reconfigure auto 32x8 0x0 64x4",
        "reconfigure auto 16x16 0x0 0x0", "reconfigure auto 16x16 0x0 0x0 rows 8",
    ]


def test_a_change_beside_the_block_sizes_replaces_the_process(fake, told):
    server = fake(kernels=kernels(gray=(32, 8)))
    pid = server.camera()["process"]["pid"]
    server.reload([{**CAMERA, "fps": 15}], kernels=kernels(gray=(32, 4)))
    assert told.wait("configure auto 0x0 32x4 0x0") != pid
    assert "reconfigure auto 0x0 32x4 0x0" not in told.texts()


def test_the_cpu_goes_on_when_the_gpu_fails_and_viewers_stay(fake, told, watch):
    server = fake()
    lost = server.camera()["process"]["pid"]
    viewer = watch(server.url("/front/edges"), **WATCHED)
    viewer.wait_frames(10)
    failed_s = time.monotonic()
    os.kill(lost, signal.SIGUSR1)
    pid = told.wait("configure cpu 0x0 0x0 0x0")
    assert pid != lost
    assert told.wait("try-gpu auto") == pid
    assert time.monotonic() - failed_s > 0.9
    camera = server.wait_camera("front", lambda c: c["backend"] == "CUDA sm_87")
    assert (camera["process"]["pid"], camera["process"]["restarts"]) == (pid, 0)
    assert (camera["gpu"], camera["gpu_faults"]) == ("Fake GPU", 1)
    assert server.status()["backend"] == "cuda"
    assert 'edged_camera_gpu_faults_total{camera="front"} 1' in server.http_get("/metrics")
    wait_live(server, viewer)
    assert viewer.watching
    assert server.status()["viewers"] == 1
    assert (
        "front: the GPU failed: the fake GPU fell off the bus, going on with the CPU, "
        "trying the GPU again in 1.0 s" in server.stderr()
    )


def test_where_no_gpu_is_wanted_none_is_tried(edged, told):
    server = edged(
        [CAMERA], EDGED_CAMERA_PROGRAM=FAKE_CAMERA, FAKE_CAMERA="gpu",
        FAKE_CAMERA_RECORD=told.path, settings={"backend": "cpu"},
    )
    lost = server.wait_camera("front", lambda c: c["backend"] == "CPU")["process"]["pid"]
    os.kill(lost, signal.SIGUSR1)
    camera = server.wait_camera("front", lambda c: c["process"]["restarts"] == 1)
    assert camera["gpu_faults"] == 0
    assert server.status()["backend"] == "cpu"
    server.wait_camera("front", lambda c: c["process"]["pid"] not in (0, lost))
    daemon.wait_for(lambda: told.texts() == ["configure cpu 0x0 0x0 0x0"] * 2, explain=told.texts)
