"""Cameras that deliver a sensor's raw samples, played by the preloaded tests/fakes/v4l2: what every
view shows of them, by the CPU and by the GPU."""

import subprocess

import cv2
import numpy as np
import pytest

import daemon
import mosaics
import pattern
import rtsp
from test_flip import grab

WIDTH, HEIGHT = 320, 240
VIEWS = {
    "camera": {}, "gray": {}, "edges": {"blur": 3}, "binary": {}, "canny": {}, "motion": {},
    "overlay": {}, "direction": {}, "split": {"left": "camera", "right": "edges"},
    "custom": {"stages": ["blur5", "canny", "dilate", "mark"]},
}


def camera(views=VIEWS, **settings):
    groups = [{"name": view, "view": view, "bitrate_kbps": 8000, **VIEWS[view]} for view in views]
    return daemon.camera(source="v4l2", device="/dev/video0", width=WIDTH, height=HEIGHT,
                         views=groups, **settings)


@pytest.fixture(scope="module")
def picture():
    bgr = cv2.imread(str(daemon.ROOT / "tests/data/coffee.png"))
    return cv2.GaussianBlur(cv2.resize(bgr, (WIDTH, HEIGHT)), (5, 5), 0)


@pytest.fixture
def sensor(tmp_path, picture):
    """The environment of a camera that sees the picture: sensor("RG10"); and the samples."""

    def play(fourcc):
        bits, packed, order, _ = next(case for case in mosaics.CASES if case[3] == fourcc)
        samples = mosaics.of_picture(picture, bits, order)
        path = tmp_path / f"{fourcc}.raw"
        path.write_bytes(mosaics.pack(samples, bits, packed))
        spec = f"format={fourcc} size={WIDTH}x{HEIGHT} fps=30 mjpg={path}"
        environment = {"LD_PRELOAD": daemon.FAKE_V4L2,
                       "EDGED_FAKE_V4L2": f"device=/dev/video0 {spec}"}
        return environment, lambda *development: mosaics.demosaiced(
            samples, bits, order, development or mosaics.PLAIN)

    return play


def luma_of(rgb):
    """Of NV12, as kernels/convert has it."""
    factors = np.array([269484, 528482, 102760])
    return ((rgb.astype(np.int64) @ factors + (16 << 20) + (1 << 19)) >> 20).astype(np.uint8)


def expected_luma(tmp_path, rgb, view):
    """What a stream shows of a picture: `edgectl process` makes the view of it, whose own results
    tests/golden compares with OpenCV's."""
    assert cv2.imwrite(str(tmp_path / "in.ppm"), cv2.cvtColor(rgb, cv2.COLOR_RGB2BGR))
    sets = [word for key, value in VIEWS[view].items() for word in
            ("--set", f"{key}={','.join(value) if isinstance(value, list) else value}")]
    before = ["--previous", tmp_path / "in.ppm"] if view == "motion" else []
    subprocess.run([daemon.EDGECTL, "process", "--view", view, *sets, *before, tmp_path / "in.ppm",
                    tmp_path / "out.png"], check=True, timeout=daemon.PATIENCE_S)
    out = cv2.imread(str(tmp_path / "out.png"), cv2.IMREAD_UNCHANGED)
    if out.ndim == 2:
        return (16 + (219 * out.astype(int) + 127) // 255).astype(np.uint8)
    return luma_of(cv2.cvtColor(out, cv2.COLOR_BGR2RGB))


def shows(server, view, expected):
    *_, (luma, _, _) = grab(server.url(f"/front/{view}"), expected.shape[::-1], 8)
    return pattern.psnr_db(luma, expected) >= 32


def assert_shows(server, view, expected):
    """In the end: a viewer gets the slate until a busy machine has made its first picture."""
    daemon.wait_for(lambda: shows(server, view, expected), explain=lambda: view)


def assert_shows_all(server, tmp_path, rgb):
    for view in VIEWS:
        assert_shows(server, view, expected_luma(tmp_path, rgb, view))


def test_every_view_shows_raw_samples(edged, sensor, tmp_path):
    environment, picture_of = sensor("pGAA")
    server = edged([camera()], **environment)
    found = server.wait_camera("front", lambda c: c["state"] == "live")
    assert_shows_all(server, tmp_path, picture_of())
    assert "V4L2 USERPTR pGAA 320x240@30 -> host -> demosaic -> CPU" in found["path"]
    assert found["path"].endswith("0 copies a frame")


def test_the_gpu_makes_every_view_of_raw_samples(board, sensor, tmp_path):
    environment, picture_of = sensor("BG12")
    server = board("orin-nano", [camera(regions=[{"name": "all", "threshold": 25}])], **environment)
    found = server.wait_camera("front", lambda c: "CUDA" in c["path"])
    assert "USERPTR BG12 320x240@30 -> registered -> demosaic -> CUDA sm_87" in found["path"]
    assert_shows_all(server, tmp_path, picture_of())
    assert server.camera("front")["copies_per_frame"] == 0


@pytest.mark.parametrize("fourcc", ["BA81", "GB10", "pRAA", "RG12", "pgCC", "GR16"])
def test_samples_of_every_kind_become_their_picture(edged, sensor, fourcc):
    environment, picture_of = sensor(fourcc)
    server = edged([camera(["camera"])], **environment)
    server.wait_camera("front", lambda c: f"USERPTR {fourcc} 320x240@30" in c["path"])
    assert_shows(server, "camera", luma_of(picture_of()))


def test_black_level_gain_and_white_balance_are_the_configurations(edged, sensor):
    environment, picture_of = sensor("RG10")
    plain = camera(["camera"])
    server = edged([{**plain, "raw_black": 100, "raw_gain": 0.5, "raw_red": 2.0, "raw_blue": 3.0}],
                   **environment)
    server.wait_camera("front", lambda c: c["state"] == "live")
    assert_shows(server, "camera", luma_of(picture_of(100, 1, .5, 1.5)))
    server.reload([{**plain, "raw_gain": 1.5}])
    server.wait_camera("front", lambda c: c["process"]["restarts"] == 0 and c["state"] == "live")
    assert_shows(server, "camera", luma_of(picture_of(0, 1.5, 1.5, 1.5)))


def test_doctor_says_that_a_camera_delivers_raw_samples(sensor):
    environment, _ = sensor("pBCC")
    found = subprocess.run([daemon.EDGECTL, "doctor"], env=daemon.environment(**environment),
                           capture_output=True, text=True, timeout=daemon.PATIENCE_S, check=False)
    assert "opens, would deliver pBCC 320x240@30, raw samples" in found.stdout


def test_black_beyond_white_is_named(edged, sensor):
    environment, _ = sensor("BA81")
    server = edged([camera(["camera"], raw_black=255)], **environment)
    found = server.wait_camera("front", lambda c: c["state"] == "no signal")
    assert "raw_black is 255, but samples of BA81 are 0 to 255" in found["error"]


def test_what_only_the_gpu_reads_may_be_read_by_others_after_a_reload(board, sensor, tmp_path):
    """Views on the GPU alone read the GPU's own memory, motion events shared memory."""
    environment, picture_of = sensor("pRCC")
    server = board("orin-nano", [camera(["edges", "overlay"])], **environment)
    server.wait_camera("front", lambda c: "CUDA" in c["path"])
    expected = {view: expected_luma(tmp_path, picture_of(), view) for view in ("edges", "overlay")}
    soft = {"name": "soft", "view": "custom", "stages": ["blur5"], "governor": "off"}  # has no kernel
    watched = {"regions": [{"name": "all", "threshold": 25}]}
    for settings, more in (({}, []), (watched, []), ({}, [soft]), ({}, [])):
        front = camera(["edges", "overlay"], **settings)
        server.reload([{**front, "views": [*front["views"], *more]}])
        for view in more:
            rtsp.wait_served(server.url(f"/front/{view['name']}"))
            assert list(grab(server.url(f"/front/{view['name']}"), (WIDTH, HEIGHT), 4))
        for view in expected:
            assert_shows(server, view, expected[view])
        assert "CUDA" in server.camera("front")["path"]


def test_a_camera_without_views_in_colour_gets_them_by_a_reload(edged, sensor, tmp_path):
    environment, picture_of = sensor("GBRG")
    server = edged([camera(["edges"])], **environment)
    server.wait_camera("front", lambda c: c["state"] == "live")
    expected = {view: expected_luma(tmp_path, picture_of(), view) for view in ("edges", "camera")}
    assert_shows(server, "edges", expected["edges"])
    server.reload([camera(["edges", "camera"])])
    for view in expected:
        assert_shows(server, view, expected[view])


def test_raw_samples_are_flipped_as_pictures(board, sensor):
    environment, picture_of = sensor("RG16")
    turned = {**camera(["camera"]), "flip": "rotate-90", "width": HEIGHT, "height": WIDTH}
    server = board("orin-nano", [turned], **environment)
    found = server.wait_camera("front", lambda c: "CUDA" in c["path"])
    assert "-> demosaic -> flip rotate-90 -> CUDA" in found["path"]
    assert_shows(server, "camera", luma_of(np.rot90(picture_of(), -1)))
