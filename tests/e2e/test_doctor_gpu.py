"""`edgectl doctor` on boards and their GPUs, played by the tests: what is chosen for each, and what is
wrong with a GPU."""

import re

import pytest

import daemon
from findings import doctor  # noqa: F401
from sanitized import once

BOARDS = {"xavier": "Xavier, sm_72", "orin-nano": "Orin, sm_87", "thor": "NVIDIA Thor, sm_110",
          "h200": "NVIDIA H200, sm_90"}
SELFTESTS = {
    "sum": "249950002500000.0", "lucas": "L(40) = 228826127",
    "pi": "3.14129, 13175532 of 16777216 points", "matrix": "196479 numbers, as the CPU",
    "vector": "4194301 numbers, as the CPU", "gray": "2073599 numbers, as the CPU",
}
# What the tests' driver, told to be wrong, makes of each.
WRONG = {
    "sum": "gave 249950002500000.1, expected 249950002500000.0",
    "lucas": "gave L(90) = 6440026026380244499, expected 6440026026380244498",
    "pi": "gave 3.14129, 13175533 of 16777216 points, expected 3.14159 +- 0.00160, 13175532",
    "matrix": " as number 196478, expected ", "vector": " as number 4194300, expected ",
    "gray": " as number 2073598, expected ",
}


@pytest.mark.parametrize("board", once(*BOARDS))
def test_gpu_that_works_passes_every_self_test(doctor, board):
    found = doctor(fake=f"board={board}")
    assert found.report["ok"]
    assert found.of("GPU")[1].startswith(BOARDS[board])
    assert found.of("CUDA kernels")[0] == "ok"
    for name, value in SELFTESTS.items():
        verdict, text = found.of(f"self-test {name}")
        assert verdict == "ok" and value in text and text.endswith(" ms")
    for kind in ("registered", "pinned", "managed"):
        assert found.of(f"memory {kind}") == ("ok", "CPU and GPU see the same bytes")
    assert found.of("views") == ("ok", "9 kinds: the GPU's pictures are the CPU's")


HEAT = {
    "agx-orin": ("ok", "cpu-thermal 48.5 C, gpu-thermal 44.2 C, soc0-thermal 46.2 C, tj-thermal 48.5 C, "
                 "power mode MAXN, GPU at 306 of 1300 MHz, GPU 12.4% busy, nothing slows it down"),
    "xavier-nx": ("warning", "AO-therm 71.5 C, CPU-therm 86.5 C, GPU-therm 83.0 C, power mode "
                  "MODE_15W_6CORE, GPU at 510 of 1109 MHz, GPU 100.0% busy, slowed down by "
                  "thermal-cpufreq-0: cool it better, or take a lower power mode"),
}


@pytest.mark.parametrize("tree, gpu, name", [
    ("xavier-nx", "xavier", "Jetson Xavier NX: NVIDIA Jetson Xavier NX Developer Kit, L4T R35.4.1"),
    ("agx-xavier", "xavier", "Jetson AGX Xavier: Jetson-AGX, L4T R35.4.1"),
    ("orin-nx", "orin-nano", "Jetson Orin NX: NVIDIA Jetson Orin NX Engineering Reference "
     "Developer Kit, L4T R36.4.3"),
    ("agx-orin", "agx-orin",
     "Jetson AGX Orin: NVIDIA Jetson AGX Orin Developer Kit, L4T R36.4.3"),
    ("arm64", None, "generic arm64: Raspberry Pi 5 Model B Rev 1.0"),
    ("x86-gpu", "h200", "x86 with an NVIDIA GPU: Precision 3630 Tower"),
    ("x86", None, "x86: OptiPlex 7060"),
])
def test_boards_are_known_and_go_on_with_the_built_in_choices(doctor, tree, gpu, name):
    found = doctor(fake=gpu and f"board={gpu}", variables=daemon.on_board(tree))
    assert found.of("board") == ("ok", name)
    jetson = name.startswith("Jetson")
    assert found.of("first memory") == ("ok", f"{'nvmm' if jetson else 'registered'} (built-in)")
    assert ("memory nvmm" in found.checks) == jetson
    assert found.of("order for H.264") == (
        "ok", "nvv4l2h264enc, v4l2h264enc, nvcudah264enc, nvh264enc, x264enc, openh264enc (built-in)")
    assert found.of("order for H.265") == ("ok", "nvv4l2h265enc, v4l2h265enc, x265enc (built-in)")
    assert found.of("blocks") == ("ok", "all [32, 8] (built-in)" if jetson else
                                  "all of 128 threads, in the shape that fits the picture (built-in)")
    assert found.of("heat") == HEAT.get(tree, ("info", "this machine tells of none"))
    assert ("camera on CSI" in found.checks) == (" L4T " in name)
    assert "GPU of the board" not in found.checks


def test_orin_nano_has_no_encoder_in_hardware_unless_a_view_names_it(doctor):
    tree = daemon.on_board("orin-nano")
    found = doctor(fake="board=orin-nano", variables=tree)
    assert found.of("order for H.264") == (
        "ok", "v4l2h264enc, nvcudah264enc, nvh264enc, x264enc, openh264enc (board: no encoder in "
        "hardware)")
    assert found.of("encoder nvv4l2h264enc") == (
        "info", "not tried: Jetson Orin Nano has no hardware for it")
    assert found.of("camera on CSI") == ("ok", 'source = "argus"; sensor = 0; (board)')
    assert found.of("first memory") == ("ok", "nvmm (built-in)")
    views = [{"name": "hard", "view": "edges", "encoder": "nvv4l2h264enc"}]
    found = doctor([daemon.camera(width=64, height=48, views=views)], variables=tree)
    assert found.of("order for H.264")[1].endswith("; /front/hard: nvv4l2h264enc (edged.conf)")
    assert found.of("encoder nvv4l2h264enc")[0] == "failed"


def test_each_choice_says_whether_it_is_the_boards_or_the_configurations(doctor):
    tree = daemon.on_board("agx-thor")
    found = doctor(fake="board=thor", variables=tree)
    assert found.of("blocks")[1].startswith("gradient.rows = 8 (board, reasoned), others [32, 8] ")
    kernels = {"gradient": {"block": [64, 4], "rows": 24}, "gray": {"block": [128, 1]}}
    found = doctor(fake="board=thor", variables=tree, memory="pinned", kernels=kernels)
    assert found.of("first memory") == ("ok", "pinned (edged.conf)")
    assert found.of("blocks")[1].startswith(
        "gradient.block = [64, 4] (edged.conf), gradient.rows = 24 (edged.conf), "
        "gray.block = [128, 1] (edged.conf), others [32, 8] (built-in)")


def test_jetson_whose_device_tree_is_hidden_is_told_by_its_gpu(doctor):
    verdict, text = doctor(fake="board=thor", variables=daemon.on_board("arm64")).of(
        "GPU of the board")
    assert verdict == "warning" and text.startswith("sm_110 in the chip is not that of generic arm64")


def test_gpu_that_gets_a_bit_of_a_view_wrong_fails_by_the_name_of_the_view(doctor):
    verdict, text = doctor(fake="board=orin-nano,wrong=direction").of("views")
    assert verdict == "failed"
    assert text.startswith("the GPU's picture is not the CPU's: direction;")


def test_gpu_that_fails_at_a_view_fails_by_the_name_of_the_view(doctor):
    verdict, text = doctor(fake="board=orin-nano,illegal=canny:1").of("views")
    assert verdict == "failed" and text.startswith("canny: ")


@pytest.mark.parametrize("name", WRONG)
def test_gpu_that_computes_wrongly_fails_with_the_test_and_both_numbers(doctor, name):
    found = doctor(fake=f"board=orin-nano,wrong=selftest_{name}")
    verdict, text = found.of(f"self-test {name}")
    assert verdict == "failed" and 'set backend = "cpu"' in text
    assert f'the GPU computes wrongly: self-test "{name}" ' in text and WRONG[name] in text
    others = [found.of(f"self-test {other}")[0] for other in SELFTESTS if other != name]
    assert others == ["ok"] * 5
    assert "memory registered" not in found.checks


def test_gpu_that_ends_no_test_is_left_and_the_rest_still_looked_at(doctor):
    found = doctor(fake="board=orin-nano,hang=selftest_pi")
    assert found.of("self-test pi")[0] == "failed"
    assert "the GPU is not done in time" in found.of("self-test pi")[1]
    assert "self-test matrix" not in found.checks
    assert found.of("encoder x264enc")[0] == "ok"


@pytest.mark.parametrize("fault, verdict, text", [
    ("fail=cuInit:1:100", "info", "(CUDA_ERROR_NO_DEVICE, 100): the CPU computes"),
    ("fail=cuModuleLoadData:1:209", "info", "build edged where nvcc knows that GPU"),
    ("fail=cuInit:1:999", "failed", "unknown error (CUDA_ERROR_UNKNOWN, 999): the CPU computes; see"),
])
def test_gpu_that_does_not_open_says_why(doctor, fault, verdict, text):
    found = doctor(fake=fault)
    assert found.of("GPU")[0] == verdict and text in found.of("GPU")[1]


def test_driver_that_lacks_a_function_is_to_be_replaced(doctor):
    found = doctor(fake="", variables={"LD_LIBRARY_PATH": daemon.FAKE_CUDA / "old"})
    assert found.of("GPU")[0] == "warning" and "install a newer driver" in found.of("GPU")[1]


def test_wish_for_a_gpu_that_is_not_there_is_a_warning(doctor):
    found = doctor(backend="cuda")
    assert found.of("GPU")[0] == "warning" and found.report["ok"]


def test_backend_cpu_leaves_the_gpu_alone(doctor, tmp_path):
    found = doctor(fake=f"report={tmp_path / 'calls'}", backend="cpu")
    assert found.of("GPU") == ("info", 'left alone: backend = "cpu"')
    assert not (tmp_path / "calls").exists()


def test_kind_of_memory_that_fails_is_a_warning_where_it_is_wished_for(doctor):
    fault = "fail=cuMemHostRegister_v2:1+:801"
    verdict, text = doctor(fake=fault).of("memory registered")
    assert verdict == "info" and "operation not supported" in text
    found = doctor(fake=fault, memory="registered")
    assert found.of("memory registered")[0] == "warning" and found.report["ok"]


def test_gpu_without_memory_to_share_fails(doctor):
    fault = "fail=cuMemHostRegister_v2:1+:2,fail=cuMemHostAlloc:1+:2,fail=cuMemAllocManaged:1+:2"
    found = doctor(fake=fault)
    assert found.of("memory")[0] == "failed" and "share none" in found.of("memory")[1]


def test_a_jetsons_memory_for_its_encoder_is_tested(doctor, elements):
    libraries = f"{daemon.FAKE_CUDA}:{daemon.FAKE_NVMM}"
    variables = {**daemon.on_board("agx-orin"), "LD_LIBRARY_PATH": libraries, "DISPLAY": ":10.0",
                 **elements("jetson")}
    found = doctor(fake="board=agx-orin", variables=variables)
    assert found.of("memory nvmm") == ("ok", "CPU and GPU see the same bytes")
    for encoder in ("nvv4l2h264enc", "nvv4l2h265enc"):
        assert found.of(f"{encoder} from nvmm") == (
            "ok", "two key frames of 64x48 by descriptor")
    found = doctor(fake="board=agx-orin", variables={**variables, "FAKE_JETSON": "refuse-import"})
    failed = "Failed to process frame., after [0-9]+ ms; "
    verdict, text = found.of("nvv4l2h264enc from nvmm")
    assert verdict == "warning" and re.fullmatch(
        f"nvv4l2h264enc by descriptor: {failed}two key frames of 64x48 by transform", text)
    found = doctor(fake="board=agx-orin", variables={**variables, "FAKE_JETSON": "refuse"})
    verdict, text = found.of("nvv4l2h264enc from nvmm")
    assert verdict == "warning" and re.fullmatch(
        f"nvv4l2h264enc by descriptor: {failed}nvv4l2h264enc by transform: {failed}"
        f"nvv4l2h264enc: {failed}pictures are copied for it", text)
    variables["EDGED_FAKE_NVMM"] = "fail=NvBufSurfaceSyncForCpu:2"
    found = doctor(fake="board=agx-orin", variables=variables)
    assert found.of("memory nvmm") == (
        "warning", "NvBufSurfaceSyncForCpu failed; pictures of a sensor and for an encoder are "
        "copied")


def test_the_page_of_the_hardware_has_what_an_owner_of_a_board_can_tell(doctor, elements):
    libraries = f"{daemon.FAKE_CUDA}:{daemon.FAKE_NVMM}"
    variables = {**daemon.on_board("agx-orin"), "LD_LIBRARY_PATH": libraries,
                 "FAKE_JETSON": "refuse-import", **elements("jetson")}
    page = doctor(None, "--hardware", fake="board=agx-orin", variables=variables).stdout
    assert page.startswith("# edged ") and "none failed" in page
    rows = dict(re.findall(r"^\| (?:ok|info|warning) \| (.+?) \| (.+) \|$", page, re.M))
    assert rows["board"].startswith("Jetson AGX Orin: ")
    assert re.search(r"by descriptor: Failed to process frame., after \d+ ms; .* by transform",
                     rows["nvv4l2h264enc from nvmm"])
    assert "power mode" in rows["heat"] and "majors" in rows
    assert {f"memory {kind}" for kind in ("nvmm", "registered", "pinned", "managed")} <= set(rows)
    for size in "1280x720", "1920x1080":
        assert re.fullmatch(
            r"[\d.]+ frames/s by CUDA sm_87 and nvv4l2h264enc by transform, [\d.]+ without encoding",
            rows[f"4 views of {size}"])
    # What is not for everybody.
    assert not any(word in page for word in ("RTSP port", "users", "certificate", "camera front"))


def test_a_jetsons_camera_gives_a_picture_in_its_own_memory(doctor, elements):
    libraries = f"{daemon.FAKE_CUDA}:{daemon.FAKE_NVMM}"
    variables = {**daemon.on_board("agx-orin"), "LD_LIBRARY_PATH": libraries, "DISPLAY": ":10.0",
                 **elements("jetson")}
    camera = daemon.camera(source="argus", width=320, height=240)
    verdict, text = doctor([camera], fake="board=agx-orin", variables=variables).of("camera front")
    assert verdict == "ok"
    assert text == "Argus NV12 320x240@30 -> nvmm -> CUDA sm_87 -> nvmm -> nvv4l2h264enc, 0 copies a frame"
    for nth in 3, 4:  # as the camera is opened, as the picture comes
        failing = {**variables, "EDGED_FAKE_NVMM": f"fail=NvBufSurfaceMapEglImage:{nth}+"}

        def warns():
            found = doctor([camera], fake="board=agx-orin", variables=failing)
            verdict, text = found.of("camera front")
            return verdict == "warning" and "(vic-convert, nvmm-copy); " in text and text

        # A slow doctor may be given a picture in the surface that it knows already, or none yet.
        assert "NvBufSurfaceMapEglImage failed" in daemon.wait_for(warns)
    verdict, text = doctor([camera], backend="cpu", variables=variables).of("camera front")
    assert verdict == "ok" and text.endswith("(vic-convert, nvmm-copy)")
