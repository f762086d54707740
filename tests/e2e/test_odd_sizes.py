"""Pictures of odd sizes, as cropping and windows make them, and views that no encoder takes."""

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
        luma, _, _ = list(grab(server.url(f"/front/{view['name']}"), (320, 240), 15))[-1]
        bars = luma[10:140].astype(int)  # all rows of the bars are alike, if none is read from elsewhere
        assert np.ptp(bars) > 60 and np.abs(bars - bars[65]).max() < 40


def test_a_view_that_no_encoder_takes_leaves_the_others_alone(edged, watch):
    views = [{"name": "bad", "view": "edges", "codec": "h265", "encoder": "v4l2h265enc"},
             {"name": "good", "view": "camera"}]  # fmt: skip
    server = edged([daemon.camera(views=views, width=320, height=240)])
    watch(server.url("/front/good")).wait_frames(30)
    server.wait_stderr('view "bad": .*, going on without this view$')
    server.wait_mount("/front/bad", lambda mount: mount["encoder"] == "none works")
    assert "starting it again" not in server.stderr()
