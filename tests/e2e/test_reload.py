"""SIGHUP: the cameras that changed start anew, the others' viewers notice nothing."""

import itertools
import signal

import pytest

import daemon
import pattern
import rtsp
from windows import watch_all

SMALL = {"width": 640, "height": 360}


def reload(server, cameras):
    server.write_config(cameras)
    server.notify.told = ""
    server.signal(signal.SIGHUP)
    server.wait_notified(r"^RELOADING=1$")
    server.wait_notified(r"^READY=1$")


def test_reload_keeps_viewers_of_the_unchanged_camera(edged, watch):
    same = daemon.camera("same", **SMALL)
    server = edged([same, daemon.camera("other", **SMALL)])
    viewer = watch(server.url("/same/edges"))
    viewer.wait_numbers(pattern.FPS)
    before = {name: server.camera(name)["process"]["pid"] for name in ("same", "other")}
    widths = itertools.cycle((320, 480))

    def change():
        width = next(widths)
        reload(server, [same, daemon.camera("other", width=width, height=240)])
        server.wait_camera("other", lambda c: c["state"] == "live" and c["width"] == width)
        return [viewer.new_frames() + viewer.next_frames(pattern.FPS)]

    watch_all(server, change)
    assert server.camera("same")["process"]["pid"] == before["same"]
    assert server.camera("other")["process"]["pid"] != before["other"]


def test_reload_adds_and_removes_cameras(edged, watch):
    same = daemon.camera("same", **SMALL)
    server = edged([same, daemon.camera("old", **SMALL)])
    viewer = watch(server.url("/same/edges"))
    viewer.wait_numbers(pattern.FPS)
    names = ["old"]

    def replace():
        old, new = names[-1], f"new-{len(names)}"
        names.append(new)
        reload(server, [same, daemon.camera(new, **SMALL)])
        assert rtsp.describe(server.url(f"/{old}/edges"))[0] == 404
        watch(server.url(f"/{new}/edges")).wait_numbers(5)
        return [viewer.new_frames() + viewer.next_frames(5)]

    watch_all(server, replace)


def test_reload_of_an_equal_configuration_restarts_nothing(edged):
    cameras = [daemon.camera("one", **SMALL), daemon.camera("two", **SMALL)]
    server = edged(cameras)
    before = [server.camera(name)["process"]["pid"] for name in ("one", "two")]
    reload(server, cameras)
    assert [server.camera(name)["process"]["pid"] for name in ("one", "two")] == before


@pytest.mark.parametrize("text, error", [
    ('cameras = ( { name = "front"; widht = 640; } );\n',
     r'edged\.conf:1: error: cameras\[0\]\.widht: .* did you mean "width"'),
    ("# nothing but a comment\n", r"edged\.conf: error: got a file without a setting, allowed: "),
    ("", r"edged\.conf: error: got a file without a setting, allowed: at least one"),
], ids=["wrong", "comment", "empty"])
def test_reload_of_a_broken_configuration_changes_nothing(edged, watch, text, error):
    server = edged([daemon.camera("front", **SMALL)])
    viewer = watch(server.url("/front/edges"))
    viewer.wait_numbers(pattern.FPS)
    pid = server.camera()["process"]["pid"]
    server.config.write_text(text)

    def refuse():
        server.notify.told = ""
        server.signal(signal.SIGHUP)
        server.wait_stderr(error)
        server.wait_notified(r"^READY=1$")
        return [viewer.new_frames() + viewer.next_frames(pattern.FPS)]

    watch_all(server, refuse)
    assert server.camera()["process"]["pid"] == pid


def test_reload_of_block_sizes_loses_no_frame(edged, watch):
    cameras = [daemon.camera("front", **SMALL)]
    server = edged(cameras)
    viewer = watch(server.url("/front/edges"))
    viewer.wait_numbers(pattern.FPS)
    pid = server.camera()["process"]["pid"]

    def change():
        frames = []
        for block in ([32, 8], [128, 1], [16, 16]):
            server.settings = {"kernels": {"gradient": {"block": block}}}
            reload(server, cameras)
            frames += viewer.new_frames() + viewer.next_frames(pattern.FPS // 2)
        return [frames]

    watch_all(server, change)
    assert server.camera()["process"] == {"pid": pid, "restarts": 0}
