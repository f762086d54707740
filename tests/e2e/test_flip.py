"""Which way up a camera's pictures are."""

import subprocess

import numpy as np

import daemon
import pattern
import rtsp

WIDTH, HEIGHT = 320, 240  # as the pattern is drawn
# What numpy makes of a plane, what undoes that, and the format that it is tried with.
FLIPS = {
    "horizontal": (np.fliplr, np.fliplr, "NV12"),
    "vertical": (np.flipud, np.flipud, "UYVY"),
    "rotate-90": (lambda plane: np.rot90(plane, -1), np.rot90, "YUYV"),
    "rotate-180": (lambda plane: np.rot90(plane, 2), lambda plane: np.rot90(plane, 2), "NV21"),
    "rotate-270": (np.rot90, lambda plane: np.rot90(plane, -1), "YU12"),
}


def size_of(flip):
    return (HEIGHT, WIDTH) if flip in ("rotate-90", "rotate-270") else (WIDTH, HEIGHT)


def camera(flip, **settings):
    width, height = size_of(flip)
    return daemon.camera(flip, flip=flip, width=width, height=height,
                         **{"views": ("camera", "edges"), **settings})


def grab(url, size, count):
    """Pictures of a stream as FFmpeg decodes them: luma, Cb and Cr of each."""
    width, height = size
    rtsp.wait_served(url)
    command = ["ffmpeg", "-nostdin", "-loglevel", "error", "-rtsp_transport", "tcp", "-i", url]
    command += ["-frames:v", str(count), "-pix_fmt", "yuv420p", "-f", "rawvideo", "-"]
    raw = subprocess.run(command, capture_output=True, check=True, timeout=daemon.PATIENCE_S).stdout
    assert len(raw) == count * width * height * 3 // 2
    for picture in np.frombuffer(raw, np.uint8).reshape(count, -1):
        luma, cb, cr = np.split(picture, [width * height, width * height * 5 // 4])
        yield (luma.reshape(height, width), cb.reshape(height // 2, width // 2),
               cr.reshape(height // 2, width // 2))


def count_flipped(url, view, flip, count):
    """Of so many pictures those that have a number, and are that frame of the pattern, flipped."""
    turn, undo, _ = FLIPS[flip]
    seen = 0
    for planes in grab(url, size_of(flip), count):
        number = pattern.read_number(undo(planes[0]), view)
        if number is None:
            continue  # a slate, or a number that the encoder blurred
        expected = pattern.frame(number, WIDTH, HEIGHT)
        if view == "edges":
            expected = [pattern.expected_luma(view, number, WIDTH, HEIGHT)]
        for plane, upright in zip(planes, expected):
            assert plane.shape == turn(upright).shape
            assert pattern.psnr_db(plane, turn(upright)) >= 32, (flip, number)
        seen += 1
    return seen


def assert_flipped(url, view, flip, count=12):
    """Most pictures are, once a busy machine has made the first one."""
    daemon.wait_for(lambda: count_flipped(url, view, flip, count) >= count // 2)


def test_every_flip_shows_in_every_view(edged):
    server = edged([camera(flip, format=fourcc) for flip, (_, _, fourcc) in FLIPS.items()])
    for flip, (_, _, fourcc) in FLIPS.items():
        server.wait_camera(flip, lambda c: c["state"] == "live")
        for view in ("camera", "edges"):
            assert_flipped(server.url(f"/{flip}/{view}"), view, flip)
        found = server.wait_camera(flip, lambda c: c["copies"]["flip"]["total"] > 0)
        assert (found["width"], found["height"]) == size_of(flip)
        assert f"pattern {fourcc} 320x240@30 -> host -> flip {flip} -> CPU" in found["path"]
        assert found["copies"]["flip"]["total"] <= found["frames"]


def test_the_gpu_flips_for_views_encoder_and_events(board):
    region = {"name": "all", "threshold": 25}
    server = board("orin-nano", [camera(flip, format=fourcc, regions=[region])
                                 for flip, (_, _, fourcc) in list(FLIPS.items())[2:4]])
    for flip, (_, _, fourcc) in list(FLIPS.items())[2:4]:
        found = server.wait_camera(flip, lambda c: "CUDA" in c["path"])
        assert f"{fourcc} 320x240@30 -> registered -> flip {flip} -> CUDA sm_87" in found["path"]
        for view in ("camera", "edges"):
            assert_flipped(server.url(f"/{flip}/{view}"), view, flip)
        server.wait_camera(flip, lambda c: c["regions"][0]["share"] > 0)


def test_what_only_the_gpu_reads_may_be_read_by_others_after_a_reload(board):
    """A view that hands the camera's picture on, and motion events, want it in shared memory."""
    front = camera("rotate-90", format="YUYV", views=("edges",))
    server = board("orin-nano", [front])
    server.wait_camera("rotate-90", lambda c: "CUDA" in c["path"])
    assert_flipped(server.url("/rotate-90/edges"), "edges", "rotate-90")
    both = camera("rotate-90", format="YUYV", regions=[{"name": "all", "threshold": 25}])
    for cameras, views in (([both], ("camera", "edges")), ([front], ("edges",))):
        server.reload(cameras)
        for view in views:
            assert_flipped(server.url(f"/rotate-90/{view}"), view, "rotate-90")
        assert "CUDA" in server.camera("rotate-90")["path"]


def test_nothing_is_flipped_for_nobody(edged):
    server = edged([camera("vertical")])
    server.wait_camera("vertical", lambda c: c["frames"] > 20)
    assert server.camera("vertical")["copies"].get("flip", {"total": 0})["total"] == 0


def test_a_reload_flips_the_picture(edged):
    front = camera("rotate-90", views=("camera",))
    server = edged([front])
    url = server.url("/rotate-90/camera")
    server.wait_camera("rotate-90", lambda c: c["state"] == "live")
    assert_flipped(url, "camera", "rotate-90")
    server.reload([{**front, "flip": "rotate-270"}])
    server.wait_camera("rotate-90", lambda c: "flip rotate-270" in c["path"])
    assert_flipped(url, "camera", "rotate-270")
