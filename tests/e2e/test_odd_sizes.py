"""Pictures of odd sizes, as cropping and windows make them, and views that no encoder takes."""

import re

import numpy as np
import pytest

import daemon
from test_flip import grab

ODD = {
    "source": "gstreamer",
    "pipeline": "videotestsrc is-live=true pattern=smpte ! video/x-raw,format=I420,width=321,height=241,"
                "framerate=15/1",
}  # fmt: skip


@pytest.mark.parametrize("codec", ["h264", "h265"])
def test_a_picture_of_odd_size_is_streamed_without_its_last_row_and_column(edged, watch, codec):
    views = [{"name": "edges", "view": "edges", "codec": codec}, {"name": "plain", "view": "camera"}]
    server = edged([daemon.camera(views=views, **ODD)])
    for view in views:
        server.wait_mount(f"/front/{view['name']}", lambda mount: mount["width"] == 320)
        luma, _, _ = list(grab(server.url(f"/front/{view['name']}"), (320, 240), 15))[-1]
        bars = luma[10:140].astype(int)  # all rows of the bars are alike, if none is read from elsewhere
        assert np.ptp(bars) > 60 and np.abs(bars - bars[65]).max() < 40


BAD = {"name": "bad", "view": "edges", "codec": "h265", "encoder": "v4l2h265enc"}
SIZE = {"width": 320, "height": 240}


def test_a_view_that_no_encoder_takes_leaves_the_others_alone(edged, watch):
    server = edged([daemon.camera(views=[BAD, {"name": "good", "view": "camera"}], **SIZE)])
    watch(server.url("/front/good")).wait_frames(30)
    server.wait_mount("/front/bad", lambda mount: mount["encoder"] == "none works")
    assert re.findall(r'view "bad": .*', server.stderr()) == [
        'view "bad": no encoder works; v4l2h265enc: no element "v4l2h265enc", going on without this view'
    ], "once, though an encoder is looked for before the camera opens and as each frame comes"
    assert "starting it again" not in server.stderr()
    assert re.findall(r" ready: \S+?(/\w+/\w+)", server.stderr()) == ["/front/good"], "nobody can watch the other"


def test_a_view_that_no_encoder_takes_keeps_no_reload_from_the_others(edged, watch):
    good = {"name": "good", "view": "camera"}
    server = edged([daemon.camera(views=[BAD, good], **SIZE)])
    viewer = watch(server.url("/front/good"))
    viewer.wait_frames(1)
    pid = server.camera()["process"]["pid"]
    for bad in (BAD, {**BAD, "bitrate_kbps": 500}, {**BAD, "view": "gray"}, {**BAD, "encoder": "auto"}):
        server.reload([daemon.camera(views=[bad, {**good, "view": "gray"}, {"name": "new", "view": "edges"}], **SIZE)])
        watch(server.url("/front/new")).wait_frames(1)
    watch(server.url("/front/bad"), program="ffmpeg", size=tuple(SIZE.values())).wait_frames(1)
    assert "keeping the settings before" not in server.stderr()
    assert server.camera()["process"]["pid"] == pid
