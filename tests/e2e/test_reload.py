"""SIGHUP: the cameras that changed start anew, the others' viewers notice nothing."""

import time

import pytest

import daemon
import pattern
import rtsp

SMALL = {"width": 640, "height": 360}


def pids(server):
    return {camera["name"]: camera["process"]["pid"] for camera in server.status()["cameras"]}


def test_reload_keeps_viewers_of_the_unchanged_camera(edged, watch):
    same, other = daemon.camera("same", **SMALL), daemon.camera("other", **SMALL)
    server = edged([same, other])
    viewer = watch(server.url("/same/edges"))
    viewer.wait_numbers(1)
    before = pids(server)
    server.reload([same, {**other, "width": 320, "height": 240}])
    server.wait_camera("other", lambda c: c["state"] == "live" and c["width"] == 320)
    viewer.wait_after(time.monotonic_ns(), pattern.FPS)
    server.assert_accounted(viewer)
    assert pids(server)["same"] == before["same"]
    assert pids(server)["other"] != before["other"]


def test_reload_adds_and_removes_cameras(edged, watch):
    same = daemon.camera("same", **SMALL)
    server = edged([same, daemon.camera("old", **SMALL)])
    viewer = watch(server.url("/same/edges"))
    viewer.wait_numbers(1)
    server.reload([same, daemon.camera("new", **SMALL)])
    assert rtsp.describe(server.url("/old/edges"))[0] == 404
    watch(server.url("/new/edges")).wait_numbers(5)
    viewer.wait_after(time.monotonic_ns(), pattern.FPS)
    server.assert_accounted(viewer)


def test_reload_of_an_equal_configuration_restarts_nothing(edged):
    server = edged([daemon.camera("one", **SMALL), daemon.camera("two", **SMALL)])
    before = pids(server)
    server.reload()
    assert pids(server) == before


@pytest.mark.parametrize("text, error", [
    ('cameras = ( { name = "front"; widht = 640; } );\n',
     r'edged\.conf:1: error: cameras\[0\]\.widht: .* did you mean "width"'),
    ("# nothing but a comment\n", r"edged\.conf: error: got a file without a setting, allowed: "),
    ("", r"edged\.conf: error: got a file without a setting, allowed: at least one"),
], ids=["wrong", "comment", "empty"])
def test_reload_of_a_broken_configuration_changes_nothing(edged, watch, text, error):
    server = edged([daemon.camera("front", **SMALL)])
    viewer = watch(server.url("/front/edges"))
    viewer.wait_numbers(1)
    before = pids(server)
    server.config.write_text(text)
    server.hang_up()
    server.wait_stderr(error)
    viewer.wait_after(time.monotonic_ns(), pattern.FPS)
    server.assert_accounted(viewer)
    assert pids(server) == before


def test_reload_of_block_sizes_disturbs_no_viewer(edged, watch):
    server = edged([daemon.camera("front", **SMALL)])
    viewer = watch(server.url("/front/edges"))
    viewer.wait_numbers(1)
    pid = server.camera()["process"]["pid"]
    for block in ([32, 8], [128, 1], [16, 16]):
        server.reload(kernels={"gradient": {"block": block}})
        viewer.wait_after(time.monotonic_ns(), 15)
    server.assert_accounted(viewer)
    assert server.camera()["process"] == {"pid": pid, "restarts": 0}
