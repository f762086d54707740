"""Streams that are watched for long: no frame is lost, none is late."""

import os
import signal
import socket
import subprocess
import time

import pytest

import daemon
import pattern
import rtsp
import slate
from streams import CAMERA, KINDS, SIZE, assert_whole, longest_gap_ms, watch_for
from test_sources import make_pattern_clip
from test_v4l2 import fake
from test_views_at_once import VIEWS, figures, readers  # noqa: F401

IDLE_CORES = 0.03
CONNECTIONS_MAX = 256


def test_four_viewers_of_one_encoder_get_every_frame_in_time(edged, watch, seconds):
    server = edged([daemon.camera(**CAMERA)])
    viewers = [
        watch(server.url("/front/edges"), program=p, transport=t, size=SIZE) for p, t in KINDS
    ]
    for frames in watch_for(seconds, viewers):
        assert_whole(frames)
    assert all(viewer.watching and viewer.messages == [] for viewer in viewers)
    mount = server.wait_mount("/front/edges", lambda m: m["encoded"] >= seconds * pattern.FPS)
    assert (mount["viewers"], server.dropped()) == (4, 0)


def test_a_clip_plays_at_its_own_rate_again_and_again(edged, watch, seconds, tmp_path):
    path = make_pattern_clip(tmp_path / "pattern.mp4", *SIZE)
    server = edged([daemon.camera(source="file", path=path)])
    server.wait_camera("front", lambda c: c["state"] == "live")
    frames, = watch_for(seconds, [watch(server.url("/front/edges"), size=SIZE)])
    assert_whole(frames, period=pattern.FPS)
    span_s = (frames[-1][1] - frames[0][1]) / 1e9
    assert span_s == pytest.approx((len(frames) - 1) / pattern.FPS, rel=0.01, abs=0.1)


def test_four_views_at_once_lose_no_frame(edged, readers, seconds):  # noqa: F811
    server = edged([daemon.camera(views=VIEWS, format="YUYV")])
    for view in VIEWS:
        rtsp.wait_served(server.url(f"/front/{view['name']}"))
        readers(server.url(f"/front/{view['name']}"))
    daemon.wait_for(lambda: server.status()["viewers"] == len(VIEWS))
    frames_before, encoded_before, _ = figures(server)
    before_s, dropped = time.monotonic(), server.dropped()
    frames, encoded, _ = figures(server, frames_before + int(seconds * pattern.FPS))
    rate = (frames - frames_before) / (time.monotonic() - before_s)
    made = {name: encoded[name] - encoded_before[name] for name in encoded}
    assert server.dropped() == dropped and rate > 0.97 * pattern.FPS, (rate, server.status())
    # What is being encoded at either end of the window is not counted there.
    assert min(made.values()) >= frames - frames_before - 3, (frames - frames_before, made)


def test_nobody_notices_reloads_of_others_and_of_block_sizes(edged, watch, turns):
    same = daemon.camera("same", **CAMERA)
    server = edged([same, daemon.camera("other", width=640, height=360)])
    viewer = watch(server.url("/same/edges"))
    viewer.skip_unreadable(most=pattern.FPS // 2)
    for turn in turns():
        other = daemon.camera("other", width=(320, 480)[turn % 2], height=240)
        server.reload([same, other], kernels={"gradient": {"block": [(32, 128)[turn % 2], 4]}})
        server.wait_camera("other", lambda c, other=other: c["width"] == other["width"])
        viewer.next_frames(pattern.FPS)
        server.config.write_text("")
        server.hang_up()
        viewer.next_frames(pattern.FPS)
    assert_whole(viewer.frames[: viewer.taken])
    assert server.camera("same")["process"]["restarts"] == server.dropped() == 0


def test_a_thousand_reloads_in_ten_seconds_lose_no_frame(edged, watch):
    edges, binary = {"name": "edges", "view": "edges"}, {"name": "bw", "view": "binary"}
    front = daemon.camera("front", views=[edges, binary], **CAMERA)
    server = edged([front])
    viewers = [watch(server.url("/front/edges")), watch(server.url("/front/bw"), view="binary")]
    for viewer in viewers:
        viewer.skip_unreadable(most=pattern.FPS // 2)
    texts = []
    for edges["gain"], binary["threshold"] in ((1.0, 80), (2.0, 60)):
        server.write_config([front])
        texts.append(server.config.read_text())
    begin_s = time.monotonic()
    for turn in range(1000):
        (server.directory / "new.conf").write_text(texts[turn % 2])
        (server.directory / "new.conf").rename(server.config)
        server.signal(signal.SIGHUP)
        time.sleep(max(0, begin_s + (turn + 1) / 100 - time.monotonic()))
    for viewer in viewers:
        viewer.wait_after(time.monotonic_ns(), pattern.FPS)
        assert_whole(viewer.frames[viewer.taken :])
    assert server.stderr().count("configuration reloaded from") > 500  # signals may come together
    assert server.camera()["process"]["restarts"] == server.dropped() == 0


def test_nobody_notices_that_others_cameras_die_and_others_stall(edged, watch, turns):
    server = edged([daemon.camera("good", **CAMERA), daemon.camera("bad", width=640, height=360)])
    viewer = watch(server.url("/good/edges"))
    viewer.skip_unreadable(most=pattern.FPS // 2)
    for turn in turns():
        stalled = [rtsp.play_and_stall(server.url("/good/edges")) for _ in range(4)]
        os.kill(server.camera("bad")["process"]["pid"], signal.SIGKILL)
        server.wait_camera("bad", lambda c, turn=turn: c["process"]["restarts"] == turn + 1)
        daemon.wait_for(lambda: server.status()["viewers"] == 5, 5)
        daemon.wait_for(lambda: server.status()["viewers"] == 1, 20)
        for connection in stalled:
            connection.close()
        server.wait_camera("bad", lambda c: c["state"] == "live")
    assert_whole(viewer.new_frames())


def test_no_frame_is_lost_when_block_sizes_change_on_a_gpu(board, watch, turns):
    camera = daemon.camera(width=320, height=240)
    server = board("agx-orin", [camera])
    viewer = watch(server.url("/front/edges"), size=(320, 240))
    viewer.skip_unreadable(most=pattern.FPS // 2)
    blocks = (((64, 4), 0), ((1, 1), 3), ((128, 2), 64), ((128, 2), 1), ((7, 9), 8), ((9, 64), 0))
    for turn in turns():
        block, rows = blocks[turn % len(blocks)]
        server.reload(kernels={"gradient": {"block": list(block), "rows": rows}})
        viewer.next_frames(15)
    assert_whole(viewer.frames[: viewer.taken])
    assert server.camera()["process"]["restarts"] == 0


def test_a_camera_of_one_frame_a_second_shows_no_slate_between_frames(edged, watch, seconds):
    camera = daemon.camera(
        source="v4l2", device="/dev/video0", width=320, height=240, fps=1, views=["camera"]
    )
    server = edged([camera], **fake("format=YUYV size=320x240 fps=1"))
    watch(server.url("/front/camera"), view="camera").wait_frames(4)  # the rate is known
    viewer = watch(server.url("/front/camera"), view="camera", keep_every=1)
    frames = viewer.wait_frames(max(5, int(seconds)), seconds + 20)
    viewer.stop()
    assert longest_gap_ms(frames) < 1500
    shown = [picture for _, picture in viewer.kept()]
    assert not any(slate.shows_no_signal(picture) for picture in shown)
    assert server.camera("front")["reconnects"] == 0


def test_what_nobody_asks_for_costs_little(edged, seconds):
    """Views that nobody watches, and connections that say nothing."""
    server = edged([daemon.camera(views=VIEWS, format="YUYV")])
    idle = [
        socket.create_connection(("127.0.0.1", server.port)) for _ in range(2 * CONNECTIONS_MAX)
    ]
    server.wait_camera("front", lambda c: c["frames"] > pattern.FPS)
    processes = [server.process.pid, *daemon.process_children(server.process.pid)]
    begin, begin_s = sum(map(daemon.process_cpu_s, processes)), time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        server.process.wait(seconds)  # left alone
    used = (sum(map(daemon.process_cpu_s, processes)) - begin) / (time.monotonic() - begin_s)
    print(f"{100 * used:.1f} % of a core")
    assert used < IDLE_CORES
    for connection in idle:
        connection.close()
