"""SIGHUP: the cameras that changed start anew, the others' viewers notice nothing."""

import signal

import daemon
import pattern
import rtsp

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
    reload(server, [same, daemon.camera("other", width=320, height=240)])
    server.wait_camera("other", lambda c: c["state"] == "live" and c["width"] == 320)
    numbers = [n for n, _ in viewer.wait_frames(len(viewer.numbers()) + pattern.FPS)]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert server.camera("same")["process"]["pid"] == before["same"]
    assert server.camera("other")["process"]["pid"] != before["other"]


def test_reload_adds_and_removes_cameras(edged, watch):
    same = daemon.camera("same", **SMALL)
    server = edged([same, daemon.camera("old", **SMALL)])
    viewer = watch(server.url("/same/edges"))
    viewer.wait_numbers(pattern.FPS)
    reload(server, [same, daemon.camera("new", **SMALL)])
    assert rtsp.describe(server.url("/old/edges"))[0] == 404
    watch(server.url("/new/edges")).wait_numbers(5)
    numbers = [n for n, _ in viewer.wait_frames(len(viewer.numbers()) + 5)]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_reload_of_an_equal_configuration_restarts_nothing(edged):
    cameras = [daemon.camera("one", **SMALL), daemon.camera("two", **SMALL)]
    server = edged(cameras)
    before = [server.camera(name)["process"]["pid"] for name in ("one", "two")]
    reload(server, cameras)
    assert [server.camera(name)["process"]["pid"] for name in ("one", "two")] == before


def test_reload_of_a_broken_configuration_changes_nothing(edged, watch):
    server = edged([daemon.camera("front", **SMALL)])
    viewer = watch(server.url("/front/edges"))
    viewer.wait_numbers(pattern.FPS)
    pid = server.camera()["process"]["pid"]
    server.config.write_text('cameras = ( { name = "front"; widht = 640; } );\n')
    server.notify.told = ""
    server.signal(signal.SIGHUP)
    server.wait_stderr(r'edged\.conf:1: error: cameras\[0\]\.widht: .* did you mean "width"')
    server.wait_notified(r"^READY=1$")
    numbers = [n for n, _ in viewer.wait_frames(len(viewer.numbers()) + pattern.FPS)]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert server.camera()["process"]["pid"] == pid


def test_reload_of_block_sizes_loses_no_frame(edged, watch):
    cameras = [daemon.camera("front", **SMALL)]
    server = edged(cameras)
    viewer = watch(server.url("/front/edges"))
    viewer.wait_numbers(pattern.FPS)
    pid = server.camera()["process"]["pid"]
    for block in ([32, 8], [128, 1], [16, 16]):
        server.settings = {"kernels": {"gradient": {"block": block}}}
        reload(server, cameras)
        viewer.wait_frames(len(viewer.numbers()) + pattern.FPS // 2)
    numbers = viewer.numbers()
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    assert server.camera()["process"] == {"pid": pid, "restarts": 0}
