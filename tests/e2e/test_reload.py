"""SIGHUP: the cameras that changed start anew, the others' viewers notice nothing."""

import os
import re
import signal
import subprocess
import time

import pytest

import daemon
import pattern
import rtsp
from ports import free_port
from test_users import client, make_file

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


def changed_between_looks(server, begin, end):
    """begin() has edged look at its files, and end() changes them before it looks again, a second later. False: a busy
    machine came to that too late."""
    told, begun_s = len(server.notify.told), time.monotonic()
    begin()
    server.wait_notified("^RELOADING=1$", told)
    server.status()  # the first look is over
    end()
    in_time = time.monotonic() - begun_s < 1
    server.wait_notified("^READY=1$", told)
    return in_time


@pytest.mark.parametrize("rest", ["", 'cameras = ( { name = "other"; source = "pattern"; } );\n'])
def test_a_file_that_is_being_written_is_taken_when_it_is_whole(edged, watch, rest):
    """Cut off behind any of its lines it is a configuration, too, of other cameras or views."""
    server = edged([daemon.camera("front", **SMALL)])
    whole = server.config.read_text()
    assert whole.splitlines()[-1].startswith("cameras = ")
    cut = "".join(whole.splitlines(keepends=True)[:-1])

    def begin():
        server.config.write_text(cut + rest)
        server.signal(signal.SIGHUP)

    def stays():
        server.reload()
        viewer = watch(server.url("/front/edges"))
        viewer.wait_numbers(1)
        before, logged = pids(server), len(server.stderr())
        if not changed_between_looks(server, begin, lambda: server.config.write_text(whole)):
            return False
        said = server.stderr()[logged:]
        assert "configuration reloaded from" in said and "/other/" not in said
        assert server.status()["configuration"]["successful"]
        viewer.wait_after(time.monotonic_ns(), pattern.FPS)
        server.assert_accounted(viewer)
        assert pids(server) == before
        return True

    daemon.wait_for(stays)


def test_a_reload_that_leaves_no_camera_looks_again(edged, watch):
    server = edged([daemon.camera("front", **SMALL)])
    cameras, asked = server.cameras, []

    def begin():
        server.write_config([daemon.camera("other", **SMALL)])
        os.utime(server.config, (1e9, 1e9))
        asked.append(subprocess.Popen([daemon.EDGECTL, "reload", "--socket", server.socket], stdout=subprocess.DEVNULL))

    def stays():
        server.reload(cameras)
        viewer = watch(server.url("/front/edges"))
        viewer.wait_numbers(1)
        before = pids(server)
        in_time = changed_between_looks(server, begin, lambda: server.write_config(cameras))
        assert asked[-1].wait(daemon.PATIENCE_S) == 0, "who asks waits for the last look"
        if not in_time:
            return False
        viewer.wait_after(time.monotonic_ns(), pattern.FPS)
        server.assert_accounted(viewer)
        assert pids(server) == before
        return True

    daemon.wait_for(stays)
    server.reload([daemon.camera("other", **SMALL)])  # that is meant, and stays
    assert list(pids(server)) == ["other"]


def test_users_that_are_being_written_are_taken_when_they_are_whole(edged, tmp_path):
    users = make_file(tmp_path)
    server = edged([daemon.camera("front", **SMALL)], settings={"rtsp": {"users": users}})
    whole = users.read_text()

    def begin():
        users.write_text(whole.splitlines(keepends=True)[-1])
        assert "vera" not in users.read_text()
        server.signal(signal.SIGHUP)

    def stays():
        server.hang_up()
        with client(server, "vera") as vera:
            daemon.wait_for(lambda: vera.request("DESCRIBE", "/front/edges").code == 200)
            if not changed_between_looks(server, begin, lambda: users.write_text(whole)):
                return False
            assert vera.request("DESCRIBE", "/front/edges").code == 200
            return True

    daemon.wait_for(stays)


def test_readiness_is_told_of_the_last_reload(edged):
    """That of the one before, whose camera has nothing to show for 3 s, is due while edged looks again at its file."""
    server = edged([daemon.camera()], EDGED_CAMERA_PROGRAM=daemon.BUILD / "tests/fakes/camera/fake_camera", FAKE_CAMERA="no-slates")
    server.write_config(server.cameras)
    os.utime(server.config, (1e9, 1e9))
    subprocess.run([daemon.EDGECTL, "reload", "--socket", server.socket], check=True, stdout=subprocess.DEVNULL,
                   timeout=daemon.PATIENCE_S)
    time.sleep(2.5)
    server.config.write_text(server.config.read_text() + "\n")
    server.hang_up()
    assert server.stderr().count("configuration reloaded from") == 2


@pytest.mark.parametrize("text, error", [
    ("", r'rtsp.address: got "0.0.0.0", allowed: 127.0.0.0/8, .*, or this with users'),
    ('rtsp = { port = 1; users = "%(users)s"; tls_port = %(port)d; };',
     r"rtsp.tls_port: got %(port)d, which is rtsp.port, too"),
], ids=["without users", "a port twice"])
def test_a_reload_is_checked_with_the_addresses_that_stay(edged, tmp_path, text, error):
    """By itself the file is right: what it says of addresses counts only when edged is started again."""
    users = make_file(tmp_path)
    server = edged([daemon.camera("front", **SMALL)], port=free_port(),
                   settings={"rtsp": {"address": "0.0.0.0", "users": users}})
    before = pids(server)
    wanted = {"users": users, "port": server.port}
    cameras = 'cameras = ( { name = "front"; source = "pattern"; } );\n'
    server.config.write_text("http = { port = 0; };\n" + cameras + text % wanted)
    assert daemon.run_edged("--check", "--config", server.config).returncode == 0
    server.hang_up()
    verdict = server.status()["configuration"]
    assert not verdict["successful"]
    assert any(re.search(error % wanted, problem) for problem in verdict["problems"]), verdict
    assert any(re.search("error: .* stays .* until edged is started again", problem)
               for problem in verdict["problems"])
    server.reload([daemon.camera("front", views=["edges", "canny"], **SMALL)],
                  rtsp={"address": "127.0.0.1", "users": users})
    verdict = server.status()["configuration"]
    assert verdict["successful"] and 'warning: rtsp.address stays "0.0.0.0"' in verdict["problems"][0], verdict
    server.wait_camera("front", lambda c: c["state"] == "live")
    assert pids(server) == before


def looks_db(viewer, gain):
    """How well the newest picture fits edges of that gain."""
    number, picture = viewer.newest()
    luma = pattern.frame(number, *SMALL.values())[0]
    return pattern.psnr_db(picture, pattern.limited_range(pattern.sobel_magnitude(luma, gain)))


def test_what_a_frame_can_change_costs_no_process_no_event_and_no_frame(edged, watch):
    edges, binary = {"name": "edges", "view": "edges"}, {"name": "bw", "view": "binary"}
    region = {"name": "all", "start": 0.1, "duration_s": 0.0}
    front = {**daemon.camera("front", views=[edges, binary], **SMALL), "regions": [region]}
    server = edged([front])
    viewers = [watch(server.url("/front/edges"), keep_every=1),
               watch(server.url("/front/bw"), view="binary")]
    for viewer in viewers:
        viewer.wait_numbers(1)
    before = server.wait_camera("front", daemon.is_moving)
    for gain in (1.5, 1.0) * 5 + (3.0,):
        edges.update(gain=gain, keyframe_s=gain, bitrate_kbps=int(3000 * gain))
        binary["threshold"] = int(60 * gain)
        region["end"] = 0.01 * gain
        server.reload([front], kernels={"gradient": {"block": [32, int(8 * gain)]}})
    daemon.wait_for(lambda: looks_db(viewers[0], 3.0) > looks_db(viewers[0], 1.0) + 6)
    after = server.camera()
    assert after["process"]["pid"] == before["process"]["pid"]
    assert after["process"]["restarts"] == 0 and after["frames"] > before["frames"]
    assert after["regions"][0]["moving"]
    assert after["regions"][0]["events"] == before["regions"][0]["events"] == 1
    for viewer in viewers:
        server.assert_accounted(viewer)
    assert re.search("reloaded from .*: between two frames: "
                     r"cameras\.front\.views\.edges\.gain,", server.stderr())


def test_a_view_that_starts_anew_comes_or_goes_disturbs_no_other(edged, watch):
    same, other = {"name": "same", "view": "edges"}, {"name": "other", "view": "edges"}
    server = edged([daemon.camera("front", views=[other, same], **SMALL)])
    viewer, changed = watch(server.url("/front/same")), watch(server.url("/front/other"))
    viewer.wait_numbers(1)
    changed.wait_numbers(1)
    before = pids(server)
    for views in ([same, {**other, "view": "binary"}, {"name": "new", "view": "gray"}],
                  [{**other, "stages": ["blur3", "sobel"], "view": "custom"}, same],
                  [{"name": "next", "view": "canny"}, same, {**other, "encoder": "openh264enc"}]):
        server.reload([daemon.camera("front", views=views, **SMALL)])
        for view in views:
            assert rtsp.wait_served(server.url(f"/front/{view['name']}"))[0] == 200
        changed.wait_after(time.monotonic_ns() + 10**9)
        server.assert_accounted(viewer)
    assert rtsp.describe(server.url("/front/new"))[0] == 404
    server.wait_mount("/front/other", lambda m: m["encoder"] == "openh264enc")
    server.wait_mount("/front/same", lambda m: m["encoder"] == "x264enc")
    assert pids(server) == before


def test_as_many_views_as_allowed_come_and_go_in_one_process(edged, watch):
    others = [{"name": f"view{i}", "view": "gray"} for i in range(15)]
    last = {"name": "last", "view": "edges"}
    server = edged([daemon.camera("front", views=[*others, last], **SMALL)])
    viewer = watch(server.url("/front/last"))
    viewer.wait_numbers(1)
    before = pids(server)
    for turn in ("first", "second"):
        for view in others:
            view["name"] = f"{turn}-{view['name']}"
        server.reload([daemon.camera("front", views=[*others, last], **SMALL)])
        for view in others:
            assert rtsp.wait_served(server.url(f"/front/{view['name']}"))[0] == 200
    newest = watch(server.url(f"/front/{others[-1]['name']}"), view="gray")
    newest.wait_numbers(1)
    server.assert_accounted(viewer)
    assert pids(server) == before


def test_another_codec_hangs_up_on_the_viewers_of_its_view_alone(edged, watch):
    same, other = {"name": "same", "view": "edges"}, {"name": "other", "view": "edges"}
    server = edged([daemon.camera("front", views=[other, same], **SMALL)])
    viewer, ended = watch(server.url("/front/same")), watch(server.url("/front/other"))
    viewer.wait_numbers(1)
    ended.wait_numbers(1)
    before = pids(server)
    server.reload([daemon.camera("front", views=[{**other, "codec": "h265"}, same], **SMALL)])
    _, sdp, _ = rtsp.wait_served(server.url("/front/other"))
    assert "a=rtpmap:96 H265/90000" in sdp
    watch(server.url("/edges"), program="ffmpeg", size=tuple(SMALL.values())).wait_numbers(1)
    daemon.wait_for(lambda: not ended.watching)
    server.assert_accounted(viewer)
    server.wait_mount("/front/other", lambda m: m["encoder"] == "x265enc")
    assert pids(server) == before


def test_edgectl_asks_the_edged_of_a_configuration(edged):
    server = edged([daemon.camera(**SMALL)])
    command = [daemon.EDGECTL, "reload", "--config", server.config]
    told = subprocess.run(command, capture_output=True, text=True, timeout=daemon.PATIENCE_S)
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout == f"configuration reloaded from {server.config}\n"
    server.config.write_text("rtsp = { prt = 1; };")
    told = subprocess.run(command, capture_output=True, text=True, timeout=daemon.PATIENCE_S)
    assert told.returncode == 1 and f"{server.config}:1: error: rtsp.prt" in told.stderr


def test_a_change_that_a_camera_cannot_have_is_told_in_the_verdict(edged, watch):
    """It is the camera's process that finds out, after the reload."""
    camera = daemon.camera(views=[{"name": "edges", "view": "edges"}], **SMALL)
    server = edged([camera])
    viewer = watch(server.url("/front/edges"))
    viewer.wait_numbers(1)
    wrong = [{"name": "edges", "view": "edges", "encoder": "nvv4l2h264enc"}]
    server.reload([{**camera, "views": wrong}])
    told = daemon.wait_for(lambda: [
        problem for problem in server.status()["configuration"]["problems"]
        if problem.startswith("camera front: ")
    ])  # fmt: skip
    assert len(told) == 1 and re.search("nvv4l2h264enc.*, keeping its settings before", told[0])
    assert not server.status()["configuration"]["successful"]
    viewer.wait_after(time.monotonic_ns(), pattern.FPS)
    server.reload([camera])
    assert server.status()["configuration"]["successful"]
