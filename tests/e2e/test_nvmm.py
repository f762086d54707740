"""The whole daemon on a Jetson with its encoder, played by tests/fakes: pictures that lie in NVMM from
the GPU to the encoder, and what becomes of them where something of that does not work.
"""

import re
import subprocess

import numpy as np
import pytest

import daemon
import pattern
from test_frames import assert_pictures_match

SIZE = (320, 240)
EDGES = {"name": "edges", "view": "edges"}
OVERLAY = {"name": "marked", "view": "overlay", "codec": "h265"}


@pytest.fixture
def jetson(board, elements, tmp_path):
    """Starts a daemon on an AGX Orin or another board: library are the options of tests/fakes/nvmm, options those of
    tests/fakes/jetson."""

    def start(views=(EDGES,), library="", options="", source="pattern", keys=(), name="agx-orin",
              gpu=None, **extra):
        keys = {"width": SIZE[0], "height": SIZE[1], **dict(keys)}
        camera = daemon.camera(source=source, views=[dict(view) for view in views], **keys)
        return board(
            gpu or name, [camera], libraries=(daemon.FAKE_CUDA, daemon.FAKE_NVMM),
            EDGED_FAKE_NVMM=f"report={tmp_path / 'library.txt'},{library}",
            FAKE_JETSON=f"report={tmp_path / 'elements.txt'},{options}",
            **{**elements("jetson"), **daemon.on_board(name), **extra},
        )

    return start


def wait_live(server):
    return server.wait_camera(
        "front", lambda c: c["state"] == "live" and c["backend"].startswith("CUDA")
    )


def wait_path(server, text):
    server.wait_camera("front", lambda camera: text in camera["path"])


def numbers(path):
    """What a stand-in wrote as it ended, all its lines together."""
    found = {}
    for name, value in re.findall(r"(\w+)=(\d+)", path.read_text()):
        found[name] = found.get(name, 0) + int(value)
    return found


@pytest.mark.parametrize("release", ["jetpack=5", "jetpack=6", "jetpack=7"])
def test_pictures_go_from_the_gpu_into_the_encoder_and_nobody_copies_them(
        jetson, watch, tmp_path, release):
    server = jetson(views=(EDGES, OVERLAY), library=release, DISPLAY=":10.0")
    wait_live(server)
    edges = watch(server.url("/front/edges"), size=SIZE, keep_every=5)
    marked = watch(server.url("/front/marked"), program="ffmpeg", size=SIZE)
    wait_path(server, "-> registered -> CUDA sm_87 -> nvmm -> nvv4l2h264enc")
    marked.wait_frames(20)
    edges.wait_frames(200)
    assert_pictures_match(edges, "edges", SIZE)
    camera = server.camera()
    assert camera["copies_per_frame"] == 0
    assert camera["path"].endswith(", 0 copies a frame")
    assert camera["process"]["restarts"] == 0
    assert "nvmm memory" not in server.stderr()
    server.stop()
    elements, library = numbers(tmp_path / "elements.txt"), numbers(tmp_path / "library.txt")
    assert elements["imported"] > 150
    # Two pictures on trial of each view, for slates.
    assert elements["transformed"] <= 4
    # Those of the start and of slates alone.
    assert library["NvBufSurfaceSyncForCpu"] < elements["imported"]


@pytest.mark.parametrize("library, options, told, path, copies", [
    ("fail=NvBufSurfaceMapEglImage:1+", "",
     "nvmm memory: NvBufSurfaceMapEglImage failed, using registered memory",
     "-> registered -> CUDA sm_87 -> nvv4l2h264enc, ",
     {"nvmm-copy": 1, "vic-transform": 2}),
    ("layout=other", "",
     "nvmm memory: a surface of 256x128 is not laid out as expected: its format, "
     "using registered memory",
     "-> registered -> CUDA sm_87 -> x264enc, ", {}),
    ("fail=NvBufSurfaceAllocate:4+", "",
     'view "edges": nvmm memory: NvBufSurfaceAllocate: no surface of 320x240, '
     "using registered memory",
     "-> registered -> CUDA sm_87 -> nvv4l2h264enc, ",
     {"nvmm-copy": 1, "vic-transform": 2}),
    ("", "refuse-import",
     "encoder nvv4l2h264enc by descriptor failed its trial after [0-9]+ ms: "
     "Failed to process frame., using nvv4l2h264enc by transform",
     "-> CUDA sm_87 -> nvmm -> nvv4l2h264enc, ", {"vic-transform": 1}),
    ("", "no-import",
     "encoder nvv4l2h264enc by descriptor failed its trial after [0-9]+ ms: could not set property "
     '"output-io-mode"',
     "-> CUDA sm_87 -> nvmm -> nvv4l2h264enc, ", {"vic-transform": 1}),
    ("", "refuse",
     "encoder nvv4l2h264enc by transform failed its trial after [0-9]+ ms: "
     "Failed to process frame., using x264enc",
     "-> CUDA sm_87 -> nvmm -> x264enc, ", {}),
])
def test_what_does_not_work_has_a_name_and_its_copies_are_counted(
        jetson, watch, library, options, told, path, copies):
    server = jetson(library=library, options=options)
    wait_live(server)
    viewer = watch(server.url("/front/edges"), size=SIZE, keep_every=5)
    viewer.wait_numbers(20)
    # A picture that nobody watched costs nothing.
    camera = server.wait_camera(
        "front", lambda c: all(c["copies"][kind]["total"] > 20 for kind in copies))
    assert_pictures_match(viewer, "edges", SIZE)
    server.wait_stderr(told)
    assert path in camera["path"]
    totals = {kind: copy["total"] for kind, copy in camera["copies"].items() if copy["total"]}
    pictures = min(totals.values(), default=0)
    assert totals == {kind: count * pictures for kind, count in copies.items()}
    assert camera["process"]["restarts"] == 0


@pytest.mark.parametrize("options, encoder", [("cuvid", "nvv4l2h264enc"), ("no-idr", "x264enc")])
def test_an_encoder_has_to_make_key_frames_when_it_is_told_to(jetson, watch, options, encoder):
    """Thor's is told in another way."""
    server = jetson(options=options)
    viewer = watch(server.url("/front/edges"), size=SIZE, keep_every=5)
    viewer.wait_frames(60)
    assert server.mount()["encoder"] == encoder
    assert server.camera()["process"]["restarts"] == 0
    trials = {trial["encoder"]: trial["reason"] for trial in server.camera()["encoder_trials"]}
    if options == "no-idr":
        assert trials["nvv4l2h264enc by transform"] == "makes no key frame when it is told to"
    else:
        assert "output-io-mode" in trials["nvv4l2h264enc by descriptor"]


def test_thors_codecs_are_told_which_way_to_take(jetson, watch):
    """They would ask modprobe, which finds nothing in the service."""
    server = jetson(options="thor", name="agx-thor", gpu="thor")
    watch(server.url("/front/edges"), size=SIZE, keep_every=5).wait_frames(30)
    assert server.mount()["encoder"] == "nvv4l2h264enc"
    server.wait_camera("front", lambda c: "nvmm -> nvv4l2h264enc" in c["path"])


def test_a_list_of_plugins_made_when_nothing_was_found_is_made_anew(jetson, watch, elements, tmp_path):
    registry = {**elements("jetson"), "GST_REGISTRY": tmp_path / "registry"}
    subprocess.run(["gst-inspect-1.0", "--exists", "fakesink"], check=True, capture_output=True,
                   timeout=daemon.PATIENCE_S,
                   env=daemon.environment(FAKE_JETSON="nothing", **registry))
    server = jetson(GST_REGISTRY=registry["GST_REGISTRY"])
    watch(server.url("/front/edges"), size=SIZE, keep_every=5).wait_frames(30)
    assert server.mount()["encoder"] == "nvv4l2h264enc"
    assert "list of plugins lacked nvv4l2h264enc, it has it now" in server.stderr()


def test_encoders_that_were_passed_over_are_told_with_reason_and_time(jetson, watch):
    """Once in the log, however many views there are; in status; by edgectl."""
    server = jetson(views=(EDGES, {"name": "gray", "view": "gray"}), options="refuse")
    for view in "edges", "gray":
        watch(server.url(f"/front/{view}"), size=SIZE, keep_every=5).wait_frames(5)
    trials = {trial["encoder"]: trial for trial in server.camera()["encoder_trials"]}
    # The last one before the GPU was found, from system memory.
    assert set(trials) == {"nvv4l2h264enc by descriptor", "nvv4l2h264enc by transform",
                           "nvv4l2h264enc"}
    for trial in trials.values():
        assert trial["reason"] == "Failed to process frame." and 0 < trial["took_ms"] < 8000
    log = server.stderr()
    assert log.count("encoder nvv4l2h264enc by descriptor failed its trial after ") == 1
    told = subprocess.run([daemon.EDGECTL, "status", "--config", server.config], check=True,
                          capture_output=True, text=True, timeout=daemon.PATIENCE_S).stdout
    assert "front: encoder nvv4l2h264enc by transform failed its trial after " in told


def test_without_surfaces_for_slates_the_encoder_is_made_once(jetson, watch):
    """Those of the view are there, and the encoder reads them by the CPU."""
    server = jetson(library="fail=NvBufSurfaceAllocate:26+")
    wait_live(server)
    viewer = watch(server.url("/front/edges"), size=SIZE, keep_every=5)
    viewer.wait_frames(60)
    assert_pictures_match(viewer, "edges", SIZE)
    server.stop()
    told = "pictures in nvmm memory: NvBufSurfaceAllocate: no surface of 320x240"
    assert server.log.read_text().count(told) == 1
    assert " -> nvmm -> " in server.log.read_text()


def test_a_width_whose_rows_nvvidconv_takes_to_be_shorter(jetson, watch):
    width, height = 360, 240
    server = jetson(library="fail=NvBufSurfaceMapEglImage:1+",
                    keys={"width": width, "height": height})
    wait_live(server)
    viewer = watch(server.url("/front/edges"), size=(width, height), keep_every=5)
    wait_path(server, "-> registered -> CUDA sm_87 -> nvv4l2h264enc, ")
    viewer.wait_frames(20)
    server.wait_camera("front", lambda c: c["copies"]["encoder-convert"]["total"] > 20)
    assert_pictures_match(viewer, "edges", (width, height))


def test_without_the_library_memory_is_registered_and_auto_says_so(board, watch):
    camera = daemon.camera(width=SIZE[0], height=SIZE[1])
    server = board("agx-orin", [camera], **daemon.on_board("agx-orin"))
    viewer = watch(server.url("/front/edges"), size=SIZE, keep_every=5)
    wait_live(server)
    assert_pictures_match(viewer, "edges", SIZE)
    server.wait_stderr("nvmm memory: libnvbufsurface.so.1.0.0: cannot open .*, using registered memory")


@pytest.fixture
def bars(tmp_path):
    """Luma of what the sensor sees, without the part below that is noise."""
    width, height = SIZE
    path = tmp_path / "bars.raw"
    subprocess.run(
        ["gst-launch-1.0", "-q", "videotestsrc", "num-buffers=1", "pattern=smpte", "!",
         f"video/x-raw,format=NV12,width={width},height={height}", "!", "filesink",
         f"location={path}"],
        check=True, timeout=daemon.PATIENCE_S,
    )
    return np.fromfile(path, np.uint8)[:width * height].reshape(height, width)[:height // 2]


def assert_shows(viewer, expected):
    for picture in viewer.camera_pictures(20)[-3:]:
        # The row at the end has neighbours that are not expected's.
        found = pattern.psnr_db(picture[:len(expected) - 1], expected[:-1])
        assert found >= 32, found


@pytest.mark.parametrize("release, options, copies", [
    ("jetpack=5", "", {}), ("jetpack=6", "", {}), ("jetpack=6", "blocks", {"vic-convert"}),
])
def test_from_sensor_to_encoder_nobody_copies_a_picture(
        jetson, watch, bars, tmp_path, release, options, copies):
    views = ({"name": "plain", "view": "camera"}, EDGES)
    server = jetson(views=views, source="argus", library=release, options=options)
    assert "Argus NV12 320x240@30 -> nvmm -> " in wait_live(server)["path"]
    plain, edges = (watch(server.url(f"/front/{view}"), keep_every=1) for view in ("plain", "edges"))
    wait_path(server, "-> nvmm -> nvv4l2h264enc, ")
    for view in views:
        server.wait_mount(f"/front/{view['name']}", lambda mount: mount["encoded"] > 150)
    assert_shows(plain, bars)
    assert_shows(edges, pattern.limited_range(pattern.sobel_magnitude(bars)))
    camera = server.camera()
    assert {kind for kind, copy in camera["copies"].items() if copy["total"]} == set(copies)
    assert camera["process"]["restarts"] == 0
    server.stop()
    found, library = numbers(tmp_path / "elements.txt"), numbers(tmp_path / "library.txt")
    assert found["imported"] > 200 and found["transformed"] <= 4
    # Those of the start and of slates alone.
    assert library["NvBufSurfaceSyncForCpu"] < found["imported"]


def test_without_an_encoder_a_sensors_pictures_are_read_where_they_are(jetson, watch, bars):
    """By the GPU, and by x264enc; an Orin Nano has no encoder of its own."""
    views = ({"name": "plain", "view": "camera"}, EDGES)
    server = jetson(views=views, source="argus", name="orin-nano")
    assert "Argus NV12 320x240@30 -> nvmm -> " in wait_live(server)["path"]
    plain, edges = (watch(server.url(f"/front/{view}"), keep_every=1) for view in ("plain", "edges"))
    for view in views:
        mount = server.wait_mount(f"/front/{view['name']}", lambda mount: mount["encoded"] > 60)
        assert mount["encoder"] == "x264enc"
    assert_shows(plain, bars)
    assert_shows(edges, pattern.limited_range(pattern.sobel_magnitude(bars)))
    camera = server.camera()
    assert not any(copy["total"] for copy in camera["copies"].values())
    assert "this board has no such hardware" in {t["reason"] for t in camera["encoder_trials"]}
    assert camera["process"]["restarts"] == 0


def test_regions_are_watched_in_the_cameras_surfaces(jetson, watch, bars):
    corners = {"corner": [[0.8, 0.8], [1.0, 0.8], [1.0, 1.0], [0.8, 1.0]],
               "bars": [[0.0, 0.0], [1.0, 0.0], [1.0, 0.5], [0.0, 0.5]]}
    regions = [{"name": name, "start": 0.01, "polygon": polygon}
               for name, polygon in corners.items()]
    server = jetson(source="argus", options="mover", keys={"regions": regions})
    viewer = watch(server.url("/front/edges"), keep_every=1)
    camera = server.wait_camera("front", lambda c: len(c["regions"]) == 2 and daemon.is_moving(c))
    assert camera["regions"][1]["share"] == 0
    assert_shows(viewer, pattern.limited_range(pattern.sobel_magnitude(bars)))


def test_after_a_new_start_of_the_camera_stack_a_new_process_has_pictures(jetson, watch):
    """NVIDIA's library has none for a process that knows the daemon before; the GPU is not blamed."""
    server = jetson(source="argus", options="stale")
    viewer = watch(server.url("/front/edges"))
    for restarts in 1, 2:
        server.wait_camera("front", lambda c: c["process"]["restarts"] >= restarts)
        server.wait_camera("front", lambda c: c["state"] == "live")
    assert viewer.watching
    server.wait_camera("front", lambda c: "CUDA" in c["backend"])
    server.wait_stderr("it ended before the first picture; .* is nvargus-daemon there, and has the "
                       "sensor a mode of 320x240 at 30 fps[?], starting it again")


@pytest.mark.parametrize("nth", [2, 4])
def test_a_cameras_surfaces_that_cannot_be_adopted_are_copied(jetson, watch, bars, nth):
    """The first call is the test's. Those behind it are the camera's and the views', in any order:
    the camera's first surface, or one that comes while it streams already."""
    server = jetson(source="argus", library=f"fail=NvBufSurfaceMapEglImage:{nth}+")
    viewer = watch(server.url("/front/edges"), keep_every=1)
    path = "Argus NV12 320x240@30 -> registered -> CUDA sm_87 -> "
    camera = server.wait_camera(
        "front", lambda c: path in c["path"] and all(
            c["copies"][kind]["total"] > 20 for kind in ("nvmm-copy", "vic-convert")))
    assert "NvBufSurfaceMapEglImage failed" in server.stderr()
    assert camera["process"]["restarts"] == 0
    assert_shows(viewer, pattern.limited_range(pattern.sobel_magnitude(bars)))


def test_a_cameras_jpeg_is_decoded_into_surfaces(jetson, watch, bars):
    """By nvjpegdec, as users write it: nvvidconv brings its pictures into edged's frames."""
    pipeline = (f"videotestsrc is-live=true ! video/x-raw,width={SIZE[0]},height={SIZE[1]},framerate=30/1 ! "
                "jpegenc quality=100 ! nvjpegdec ! video/x-raw(memory:NVMM) ! nvvidconv")
    server = jetson(source="gstreamer", keys={"pipeline": pipeline})
    viewer = watch(server.url("/front/edges"), keep_every=1)
    assert "GStreamer NV12 320x240@30 -> registered -> " in wait_live(server)["path"]
    assert_shows(viewer, pattern.limited_range(pattern.sobel_magnitude(bars)))


def test_a_clip_is_read_though_the_first_decoder_leaves_it_in_surfaces(elements, tmp_path):
    for name, extra in (("here", {}), ("jetson", elements("jetson"))):
        subprocess.run([daemon.EDGECTL, "process", "--frame", "7", daemon.ROOT / "tests/data/street.mp4",
                        tmp_path / f"{name}.ppm"],
                       check=True, timeout=daemon.PATIENCE_S, env=daemon.environment(**extra))
    assert (tmp_path / "here.ppm").read_bytes() == (tmp_path / "jetson.ppm").read_bytes()
