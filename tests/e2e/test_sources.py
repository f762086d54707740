"""Clips and GStreamer pipelines as cameras."""

import pathlib
import subprocess

import pytest

import daemon
import pattern
from test_flip import grab

STREET = pathlib.Path(__file__).resolve().parents[1] / "data/street.mp4"
WIDTH, HEIGHT = 640, 360


@pytest.fixture
def live(edged):
    """Starts a daemon with one camera and waits for its signal: its slates are not looked at."""

    def start(**settings):
        server = edged([daemon.camera(**settings)])
        server.wait_camera("front", lambda c: c["state"] == "live")
        return server

    return start


def make_pattern_clip(path, width, height):
    """One second of the moving pattern, all but lossless."""
    pictures = b"".join(
        b"".join(plane.tobytes() for plane in pattern.frame(number, width, height))
        for number in range(pattern.FPS)
    )
    command = ["ffmpeg", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "yuv420p"]
    command += ["-s", f"{width}x{height}", "-r", str(pattern.FPS), "-color_range", "tv", "-i", "-"]
    command += ["-c:v", "libx264", "-preset", "ultrafast", "-crf", "4", path]
    subprocess.run(command, input=pictures, check=True)
    return path


@pytest.fixture
def pattern_clip(tmp_path):
    return make_pattern_clip(tmp_path / "pattern.mp4", WIDTH, HEIGHT)


def test_clip_plays_every_frame_again_and_again(live, watch, pattern_clip):
    server = live(source="file", path=pattern_clip)
    viewer = watch(server.url("/front/edges"), keep_every=10)
    every = set(range(pattern.FPS))
    frames = viewer.wait_until(
        lambda frames: every <= {n for n, _ in frames} and len(frames) > 3 * pattern.FPS
    )
    viewer.stop()
    assert {number for number, _ in frames if number is not None} == every
    server.assert_accounted(viewer, period=pattern.FPS)
    for number, picture in viewer.pictures().items():
        expected = pattern.expected_luma("edges", number, WIDTH, HEIGHT)
        assert pattern.psnr_db(picture, expected) >= 32


def test_real_street_clip_streams_edges(live, watch):
    server = live(source="file", path=STREET)
    viewer = watch(server.url("/front/edges"), keep_every=1)
    viewer.wait_frames(10)
    viewer.stop()
    camera = server.camera()
    assert camera["state"] == "live"
    for picture in viewer.unreadable_pictures():
        assert picture.shape == (camera["height"], camera["width"])
        # Mostly dark with some strong edges, as a street is.
        assert 16 <= picture.mean() < 80
        assert (picture > 100).mean() > 0.001


def test_a_clip_is_streamed_without_gstreamers_bad_plugins(edged, watch, few_plugins):
    """To viewers that come late, too: parameter sets are in front of each key frame."""
    server = edged([daemon.camera(source="file", path=STREET)], **few_plugins)
    server.wait_mount("/front/edges", lambda mount: mount["encoded"] == 0)
    first = watch(server.url("/front/edges"), size=(768, 576), keep_every=1)
    first.camera_pictures(2)
    late = watch(server.url("/front/edges"), transport="tcp", size=(768, 576), keep_every=1)
    assert late.camera_pictures(5)[-1].max() > 100
    assert "-> x264enc" in server.camera()["path"]


def test_clips_that_need_a_parser_say_which_package_has_it(few_plugins, tmp_path):
    done = subprocess.run([daemon.EDGECTL, "process", STREET, tmp_path / "out.mp4"], capture_output=True, text=True,
                          env=daemon.environment(**few_plugins), timeout=daemon.PATIENCE_S)
    assert done.returncode == 1 and "h264parse is not installed" in done.stderr
    assert "gstreamer1.0-plugins-bad" in done.stderr


def test_gstreamer_pipeline_writes_into_our_frames_without_a_copy(live, watch):
    server = live(source="gstreamer", pipeline="videotestsrc is-live=true pattern=ball")
    viewer = watch(server.url("/front/edges"), keep_every=1)
    viewer.wait_frames(20)
    camera = server.wait_camera("front", lambda c: c["frames"] > 20)
    viewer.stop()
    assert camera["state"] == "live"
    assert camera["copies_per_frame"] == 0
    assert camera["path"].endswith(", 0 copies a frame"), camera["path"]
    ball = viewer.unreadable_pictures()
    assert all((picture > 100).any() for picture in ball)
    assert any((abs(ball[0].astype(int) - picture) > 100).any() for picture in ball[1:])


def test_gstreamer_pipeline_delivers_what_opencv_expects(edged, watch, pattern_clip):
    # The pipeline ends after a second and is started again, with the slate between.
    fragment = f"filesrc location={pattern_clip} ! decodebin ! identity sync=true"
    server = edged([daemon.camera(source="gstreamer", pipeline=fragment)])
    viewer = watch(server.url("/front/edges"), keep_every=5)
    viewer.wait_numbers(pattern.FPS)
    viewer.stop()
    server.wait_stderr("no signal: the pipeline ended")
    for number, picture in viewer.pictures().items():
        expected = pattern.expected_luma("edges", number, WIDTH, HEIGHT)
        assert pattern.psnr_db(picture, expected) >= 32


def is_upside_down(url):
    (luma, _, _), = grab(url, (WIDTH, HEIGHT), 1)
    return (luma[-8, -32:-8].min() > 200 and luma[8, -32:-8].max() < 200
            and luma[-8, 8:32].max() < 100)


def test_a_jetsons_own_camera_stack_is_a_source(edged, elements):
    """Played by tests/fakes/jetson: a test pattern, white in its top left corner."""
    camera = daemon.camera(source="argus", flip="rotate-180", views=("camera",), width=WIDTH,
                           height=HEIGHT)
    server = edged([camera], LD_LIBRARY_PATH=daemon.FAKE_NVMM, **elements("jetson"))
    front = server.wait_camera("front", lambda c: c["state"] == "live")
    assert f"Argus NV12 {WIDTH}x{HEIGHT}@30" in front["path"]
    daemon.wait_for(lambda: is_upside_down(server.url("/front/camera")))
    front = server.camera()
    assert front["copies"]["vic-convert"]["total"] >= front["frames"] - 1
