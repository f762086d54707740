"""The whole daemon on the boards' GPUs, played by tests/fakes/cuda: edges as OpenCV has them, faults
that cost nobody a session, block sizes that change between two frames.

The driver ends the camera process, with a line on stderr, when the CPU touches memory that a kernel
may be using on a board where it must not.
"""

import re
import time

import pytest

import daemon
import pattern
from sanitized import once
from test_frames import assert_pictures_match
from test_mask import assert_masked, draw_mask, masked_camera
from test_v4l2 import assert_shows_fake_camera

SIZE = (320, 240)
SMALL = {"width": SIZE[0], "height": SIZE[1]}
# Of the trees in tests/data/boards, those that have a GPU: whose, and its architecture.
BOARDS = {"agx-xavier": ("xavier", 72), "xavier-nx": ("xavier", 72), "orin-nano": ("orin-nano", 87),
          "orin-nx": ("orin-nano", 87), "agx-orin": ("agx-orin", 87), "agx-thor": ("thor", 110),
          "x86-gpu": ("h200", 90)}


def wait_on_gpu(server, name="front"):
    return server.wait_camera(
        name, lambda c: c["state"] == "live" and c["backend"].startswith("CUDA")
    )


def on_cpu(camera):
    return camera["backend"] == "CPU"


@pytest.mark.parametrize("tree", once(*BOARDS))
def test_every_board_streams_opencv_edges_without_a_copy(board, watch, tree):
    gpu, sm = BOARDS[tree]
    server = board(gpu, [daemon.camera(**SMALL)], **daemon.on_board(tree))
    viewer = watch(server.url("/front/edges"), size=SIZE, keep_every=5)
    camera = wait_on_gpu(server)
    assert_pictures_match(viewer, "edges", SIZE)
    assert camera["backend"] == f"CUDA sm_{sm}"
    assert f"-> registered -> CUDA sm_{sm} ->" in camera["path"]
    assert server.camera()["copies_per_frame"] == 0
    assert server.camera()["process"]["restarts"] == 0


@pytest.mark.parametrize("tree", once("arm64", "x86"))
def test_boards_without_a_gpu_stream_by_the_cpu(edged, watch, tree):
    server = edged([daemon.camera(**SMALL)], **daemon.on_board(tree))
    viewer = watch(server.url("/front/edges"), size=SIZE, keep_every=5)
    camera = server.wait_camera("front", lambda c: c["state"] == "live")
    assert_pictures_match(viewer, "edges", SIZE)
    assert camera["backend"].startswith("CPU") and camera["copies_per_frame"] == 0


def test_devices_that_came_after_a_process_of_a_unit_are_worth_another_one(board):
    """systemd decides at the start of a process which devices it may open."""
    server = board("agx-orin", [daemon.camera(**SMALL)], "fail=cuInit:1+:100", in_units=True,
                   EDGED_FAKE_REFUSED="/dev/nvgpu/igpu0/ctrl", **daemon.on_board("agx-orin"))
    server.wait_stderr("the GPU's devices came after the camera process had started and are refused to it, "
                       "starting it again")
    camera = server.wait_camera("front", lambda c: c["frames"] > 90)
    assert camera["gpu"].endswith(": this service may not open /dev/nvgpu/igpu0/ctrl")
    assert camera["process"]["restarts"] == 1 and on_cpu(camera)


@pytest.mark.parametrize("memory", ["pinned", "managed"])
def test_two_cameras_with_two_views_stream_from_other_kinds_of_memory(board, watch, memory):
    names, views = ("left", "right"), ("edges", "gray")
    server = board(
        "orin-nano", [daemon.camera(name, views=views, **SMALL) for name in names],
        "slow=gradient:3", settings={"memory": memory},
    )
    for name in names:
        assert f"-> {memory} -> CUDA sm_87 ->" in wait_on_gpu(server, name)["path"]
    watched = {
        (name, view): watch(server.url(f"/{name}/{view}"), view=view, size=SIZE, keep_every=10)
        for name in names for view in views
    }
    for (_, view), viewer in watched.items():
        assert_pictures_match(viewer, view, SIZE)
    for name in names:
        assert server.camera(name)["process"]["restarts"] == 0


def test_a_view_with_a_mask_is_the_gpus_too(board, watch, tmp_path):
    limit = draw_mask(tmp_path / "mask.png", (4, 8))
    server = board("orin-nano", [masked_camera(tmp_path / "mask.png")])
    viewer = watch(server.url("/front/edges"), size=(640, 360), keep_every=5)
    assert "-> CUDA sm_87 ->" in wait_on_gpu(server)["path"]
    assert_masked(viewer, limit)


@pytest.mark.parametrize("memory", ["registered", "managed"])
def test_regions_are_watched_by_the_cpu_between_the_gpus_kernels(board, watch, memory):
    regions = [{"name": "all", "erode": 0, "start": 0.1, "duration_s": 0.2}]
    server = board("orin-nano", [daemon.camera(regions=regions, **SMALL)],
                   settings={"memory": memory})
    viewer = watch(server.url("/front/edges"), size=SIZE, keep_every=5)
    wait_on_gpu(server)
    region, = server.wait_camera("front", daemon.is_moving)["regions"]
    assert region["share"] > 0.001
    assert_pictures_match(viewer, "edges", SIZE, least=3)
    assert server.camera()["process"]["restarts"] == 0


@pytest.mark.parametrize("memory", ["registered", "managed"])
def test_views_of_one_launch_and_of_many_stand_beside_each_other(board, watch, memory):
    views = ["edges", {"name": "thin", "view": "canny", **pattern.CANNY}]
    server = board("orin-nano", [daemon.camera(views=views, **SMALL)], settings={"memory": memory})
    wait_on_gpu(server)
    assert "no CUDA kernel" not in server.stderr()
    watched = {
        kind: watch(server.url(f"/front/{name}"), view=kind, size=SIZE, keep_every=10)
        for name, kind in (("edges", "edges"), ("thin", "canny"))
    }
    for view, viewer in watched.items():
        assert_pictures_match(viewer, view, SIZE)
    assert server.camera()["process"]["restarts"] == 0


@pytest.mark.parametrize(
    "fault, reason",
    [
        ("hang=gradient", "the GPU is not done in time"),
        ("illegal=gradient", "an illegal memory access was encountered"),
    ],
)
def test_viewers_stay_when_the_gpu_fails_and_see_it_come_back(board, watch, provoke, fault, reason):
    server = board("orin-nano", [daemon.camera(**SMALL)])
    viewers = [watch(server.url("/front/edges"), size=SIZE) for _ in range(2)]
    for viewer in viewers:
        viewer.wait_numbers(pattern.FPS)
    lost = wait_on_gpu(server)["process"]["pid"]
    provoke(fault)
    server.wait_camera("front", lambda c: c["process"]["pid"] not in (0, lost))
    for viewer in viewers:
        viewer.wait_after(time.monotonic_ns(), 5)
    assert re.search(f"front: the GPU failed: .*{reason}.*, going on with the CPU, trying the GPU again in 1.0 s",
                     server.stderr())
    camera = wait_on_gpu(server)
    assert (camera["gpu_faults"], camera["process"]["restarts"]) == (1, 0)
    assert server.status()["backend"] == "cuda"
    assert 'edged_camera_gpu_faults_total{camera="front"} 1' in server.http_get("/metrics")
    assert camera["process"]["pid"] != lost
    back_ns = time.monotonic_ns()
    for viewer in viewers:
        viewer.wait_after(back_ns, pattern.FPS)
        assert viewer.watching
    assert server.status()["viewers"] == len(viewers)


def test_block_sizes_and_settings_change_between_two_frames(board, watch):
    binary = {"name": "bw", "view": "binary"}
    front = daemon.camera(views=["edges", binary], **SMALL)
    server = board("agx-orin", [front])
    viewer = watch(server.url("/front/edges"), size=SIZE, keep_every=5)
    other = watch(server.url("/front/bw"), size=SIZE, view="binary")
    viewer.wait_numbers(pattern.FPS)
    other.wait_numbers(1)
    pid = wait_on_gpu(server)["process"]["pid"]

    for block, rows in (((64, 4), 0), ((1, 1), 3), ((128, 2), 64), ((128, 2), 1), ((7, 9), 8)):
        front["views"][1] = {**binary, "threshold": 60 + rows, "norm": ("l2", "l1")[rows % 2]}
        server.reload([front], kernels={"gradient": {"block": list(block), "rows": rows}})
        viewer.wait_after(time.monotonic_ns(), 10)
    server.assert_accounted(viewer)
    server.assert_accounted(other)
    assert_pictures_match(viewer, "edges", SIZE)
    assert wait_on_gpu(server)["process"]["pid"] == pid
    # 16 blocks of one warp that has one thread: 1 % of 1536.
    assert "kernels.gradient.block = [1, 1]: at most 1% of the GPU's threads" in server.stderr()


def test_block_that_the_kernel_cannot_have_is_named_and_the_old_one_stays(board, watch):
    # 168 registers a thread leave 384 threads.
    server = board("xavier", [daemon.camera(**SMALL)], "registers=gradient:168")
    viewer = watch(server.url("/front/edges"), size=SIZE)
    viewer.wait_numbers(pattern.FPS)
    server.reload(kernels={"gradient": {"block": [9, 64]}})
    server.wait_stderr(r"kernels\.gradient\.block = \[9, 64\].*384")
    viewer.wait_after(time.monotonic_ns(), 10)
    server.assert_accounted(viewer)
    assert wait_on_gpu(server)["process"]["restarts"] == 0


def test_launch_that_is_refused_goes_back_to_the_block_before(board, watch, provoke):
    server = board("thor", [daemon.camera(**SMALL)])
    wait_on_gpu(server)
    server.reload(kernels={"gradient": {"block": [64, 2], "rows": 2}})
    provoke("refuse=gradient", launching=False)
    viewer = watch(server.url("/front/edges"), size=SIZE)
    server.wait_stderr(r"kernels\.gradient\.block = \[64, 2\] with rows = 2, "
                       r"back to \[32, 8\] with rows = 16")
    viewer.wait_numbers(pattern.FPS)
    server.assert_accounted(viewer)
    assert wait_on_gpu(server)["process"]["restarts"] == 0


@pytest.mark.parametrize("tree, kernels, told", [
    ("agx-thor", {}, r"kernels\.gradient\.rows = 8, back to 16:"),
    ("agx-thor", {"gradient": {"rows": 2}}, r"kernels\.gradient\.rows = 2, back to 16:"),
])
def test_rows_are_the_configurations_else_the_boards(board, watch, provoke, tree, kernels, told):
    """The refusal of the first launch tells what it was."""
    server = board("thor", [daemon.camera(**SMALL)], settings={"kernels": kernels},
                   **daemon.on_board(tree))
    wait_on_gpu(server)
    provoke("refuse=gradient", launching=False)
    viewer = watch(server.url("/front/edges"), size=SIZE)
    server.wait_stderr(told)
    viewer.wait_numbers(pattern.FPS)


@pytest.mark.parametrize(
    "fault, reason",
    [
        ("fail=cuInit:1+:100", "no CUDA-capable device is detected"),
        ("fail=cuModuleLoadData:1+:209", "Orin, sm_87.*no kernel image is available"),
        ("fail=cuDevicePrimaryCtxRetain:1+:2", "out of memory"),
        ("fail=cuMemHostRegister_v2:1+:2,memory=65536", "out of memory|no memory"),
        ("fail=cuLaunchKernel:1+:701", "too many resources requested for launch"),
    ],
)
def test_gpu_that_cannot_be_used_leaves_the_cpu_and_a_reason(board, watch, fault, reason):
    server = board("orin-nano", [daemon.camera(**SMALL)], fault)
    viewer = watch(server.url("/front/edges"), size=SIZE, keep_every=5)
    viewer.wait_numbers(pattern.FPS)
    server.wait_stderr(f"{reason}.*, using the CPU")
    camera = server.wait_camera("front", on_cpu)
    assert camera["process"]["restarts"] == 0
    assert camera["gpu_faults"] == 0
    assert_pictures_match(viewer, "edges", SIZE)


def test_driver_that_lacks_a_function_is_called_too_old(edged, watch):
    server = edged(
        [daemon.camera(**SMALL)], program=daemon.FAKE_CUDA / "edged",
        LD_LIBRARY_PATH=daemon.FAKE_CUDA / "old",
    )
    watch(server.url("/front/edges"), size=SIZE).wait_numbers(pattern.FPS)
    server.wait_stderr(r"has no cuStreamAttachMemAsync: the driver is too old, using the CPU")
    server.wait_camera("front", on_cpu)


def test_gpu_that_does_not_answer_at_start_is_not_waited_for(board, watch):
    """The memory's self-test hangs: slates for 10 s, then the CPU."""
    server = board("orin-nano", [daemon.camera(**SMALL)], "hang=gpu_probe:1")
    viewer = watch(server.url("/front/edges"), size=SIZE)
    server.wait_stderr(r"the GPU driver did not answer within 10 s, using the CPU")
    viewer.wait_numbers(pattern.FPS)
    server.wait_camera("front", on_cpu)
    assert viewer.watching


@pytest.mark.parametrize("fault, reason", [
    ("wrong=selftest_matrix", 'the GPU computes wrongly: self-test "matrix" gave .*, expected .*'),
    ("hang=selftest_gray", 'self-test "gray": the GPU is not done in time'),
])
def test_gpu_that_computes_wrongly_or_without_end_is_refused(board, watch, fault, reason):
    server = board("orin-nano", [daemon.camera(**SMALL)], fault)
    viewer = watch(server.url("/front/edges"), size=SIZE, keep_every=5)
    server.wait_stderr(f"front: {reason}, using the CPU")
    viewer.wait_numbers(pattern.FPS)
    camera = server.wait_camera("front", on_cpu)
    assert "self-test" in camera["gpu"]
    assert camera["process"]["restarts"] == 0
    assert_pictures_match(viewer, "edges", SIZE)


@pytest.mark.parametrize("memory, userptr, io, fault, copies", [
    ("registered", "", "USERPTR", "", 0),
    ("pinned", "", "USERPTR", "", 0),
    ("managed", "", "USERPTR", "", 0),
    # As a Jetson's VI, whose buffers are mapped; and where CUDA does not take those.
    ("registered", "userptr=no", "MMAP", "", 0),
    ("registered", "userptr=no", "MMAP", "fail=cuMemHostRegister_v2:2:801", 1),
])
def test_frames_of_a_v4l2_camera_reach_gpu_and_encoder_without_a_copy(
        board, watch, memory, userptr, io, fault, copies):
    camera = daemon.camera(
        source="v4l2", device="/dev/video0", views=["gray", "edges", "camera"], **SMALL
    )
    server = board(
        "orin-nano", [camera], *filter(None, [fault]), settings={"memory": memory},
        LD_PRELOAD=daemon.FAKE_V4L2,
        EDGED_FAKE_V4L2=f"device=/dev/video0 format=YUYV size=320x240 fps=30 {userptr}",
    )
    path = f"V4L2 {io} YUYV 320x240@30 -> {memory} -> CUDA sm_87 ->"
    assert path in wait_on_gpu(server)["path"]
    viewers = [watch(server.url(f"/front/{view}"), keep_every=1) for view in ("gray", "edges")]
    seen = [viewer.camera_pictures(20)[-3:] for viewer in viewers]
    assert_shows_fake_camera(seen[0])
    assert_shows_fake_camera(
        seen[1], lambda luma: pattern.limited_range(pattern.sobel_magnitude(luma)))
    assert round(server.camera()["copies_per_frame"], 1) == copies
    told = "/dev/video0: the driver refuses USERPTR, using the driver's buffers"
    assert server.stderr().count(told) == (io == "MMAP")
