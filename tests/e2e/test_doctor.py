"""`edgectl doctor`: what it finds on machines that are well, and what it says of those that are not."""

import json
import re
import socket
import subprocess

import pytest

import daemon
from ports import free_port
from repeats import once
from system_bus import SystemBus
from test_http import make_certificate, make_expired_certificate

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


class Findings:
    def __init__(self, result):
        self.result = result
        self.report = json.loads(result.stdout)
        self.checks = {check["check"]: check for check in self.report["checks"]}
        assert len(self.checks) == len(self.report["checks"])
        assert all(set(check) == {"check", "verdict", "text"} for check in self.checks.values())
        failed = [check for check in self.checks.values() if check["verdict"] == "failed"]
        assert self.report["ok"] == (not failed) == (result.returncode == 0)

    def of(self, check):
        return self.checks[check]["verdict"], self.checks[check]["text"]


@pytest.fixture
def doctor(tmp_path):
    """Runs it on a configuration: doctor([camera, …], fake="board=thor", backend="cuda", …)."""

    def run(cameras=None, *words, fake=None, variables=None, text=None, **settings):
        path = tmp_path / "edged.conf"
        keys = {"control": {"socket": tmp_path / "control.sock"}, "rtsp": {"port": 0}, **settings,
                "cameras": cameras or [daemon.camera(width=64, height=48)]}
        path.write_text(
            text or "".join(f"{key} = {daemon.libconfig(v)};\n" for key, v in keys.items()))
        gpu = {"CUDA_VISIBLE_DEVICES": ""} if fake is None else {
            "LD_LIBRARY_PATH": daemon.FAKE_CUDA, "EDGED_FAKE_CUDA": fake}
        result = subprocess.run(
            [daemon.EDGECTL if fake is None else daemon.FAKE_CUDA / "edgectl", "doctor", "--config",
             path, *(words or ["--json"])],
            capture_output=True, text=True, timeout=60,
            env=daemon.environment(**{"DBUS_SYSTEM_BUS_ADDRESS": "unix:path=/nowhere", **gpu,
                                      **(variables or {})}),
        )
        assert not daemon.SANITIZER_REPORT.search(result.stderr), result.stderr
        assert "fake_cuda: leaked" not in result.stderr
        return result if words else Findings(result)

    return run


def test_machine_without_gpu_camera_and_systemd_is_well(doctor):
    found = doctor()
    assert found.report["ok"]
    assert found.of("GPU")[0] == "info" and ": the CPU computes" in found.of("GPU")[1]
    assert found.of("service")[0] == "info"
    assert found.of("control socket")[0] == "info"
    assert found.of("configuration")[0] == "ok" and "1 camera, 1 view" in found.of("configuration")[1]
    assert found.of("RTSP port") == ("ok", "127.0.0.1, port 0 is free")
    assert found.of("encoder x264enc")[1].startswith("two key frames of 64x48 in ")
    assert found.of("camera front") == ("ok", "the moving pattern")


def test_lines_say_the_same_and_end_in_the_sum(doctor):
    result = doctor(None, "--config", "/nonexistent")  # the last one counts
    lines = result.stdout.splitlines()
    assert result.returncode == 1
    assert lines[0].startswith("FAILED   configuration         /nonexistent: ")
    assert lines[-1] == f"1 of {len(lines) - 2} checks failed" and lines[-2] == ""
    assert any(line.startswith("ok       encoder x264enc       two key frames of ") for line in lines)


def test_report_is_a_page_with_the_machine_and_all_checks(doctor):
    page = doctor(None, "--report", fake="board=orin-nano").stdout
    found = doctor(fake="board=orin-nano")
    title, *rest = page.splitlines()
    assert re.fullmatch(r"# edged [0-9.]+ on .+", title)
    cells = [re.split(r" ?(?<!\\)\| ?", row)[1:-1] for row in rest if row.startswith("|")]
    machine = {row[0]: row[1] for row in cells if len(row) == 2}
    assert machine["kernel"] == subprocess.check_output(["uname", "-srm"], text=True).strip()
    assert machine["system"] in open("/etc/os-release", encoding="utf-8").read()
    verdicts = {row[1]: row[0] for row in cells if len(row) == 3}
    assert {check["check"]: check["verdict"] for check in found.report["checks"]} == \
        {name: verdict for name, verdict in verdicts.items()
         if name not in ("check", "---")}
    assert rest[-1] == f"{len(found.checks)} checks, none failed"


def test_report_and_json_exclude_each_other(doctor):
    assert doctor(None, "--report", "--json").returncode == 2


def test_wrong_words_are_refused(doctor):
    assert doctor(None, "--jsno").returncode == 2
    assert doctor(None, "now").returncode == 2
    assert "Usage: edgectl doctor" in doctor(None, "--help").stdout


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
        "ok", "nvv4l2h264enc, v4l2h264enc, x264enc, openh264enc (built-in)")
    assert found.of("order for H.265") == ("ok", "nvv4l2h265enc, v4l2h265enc, x265enc (built-in)")
    assert found.of("blocks") == ("ok", "all chosen for the GPU and the picture (built-in)")
    assert ("camera on CSI" in found.checks) == (" L4T " in name)
    assert "GPU of the board" not in found.checks


def test_orin_nano_has_no_encoder_in_hardware_unless_a_view_names_it(doctor):
    tree = daemon.on_board("orin-nano")
    found = doctor(fake="board=orin-nano", variables=tree)
    assert found.of("order for H.264") == (
        "ok", "v4l2h264enc, x264enc, openh264enc (board: no encoder in hardware)")
    assert found.of("encoder nvv4l2h264enc") == (
        "info", "not tried: Jetson Orin Nano has no hardware for it")
    assert found.of("camera on CSI") == ("ok", 'source = "argus"; sensor = 0; (board)')
    views = [{"name": "hard", "view": "edges", "encoder": "nvv4l2h264enc"}]
    found = doctor([daemon.camera(width=64, height=48, views=views)], variables=tree)
    assert found.of("order for H.264")[1].endswith("; /front/hard: nvv4l2h264enc (edged.conf)")
    assert found.of("encoder nvv4l2h264enc")[0] == "failed"


def test_each_choice_says_whether_it_is_the_boards_or_the_configurations(doctor):
    tree = daemon.on_board("agx-thor")
    found = doctor(fake="board=thor", variables=tree)
    assert found.of("blocks")[1].startswith("gradient.rows = 8 (board, reasoned), others chosen ")
    kernels = {"gradient": {"block": [64, 4], "rows": 24}, "gray": {"block": [128, 1]}}
    found = doctor(fake="board=thor", variables=tree, memory="pinned", kernels=kernels)
    assert found.of("first memory") == ("ok", "pinned (edged.conf)")
    assert found.of("blocks")[1].startswith(
        "gradient.block = [64, 4] (edged.conf), gradient.rows = 24 (edged.conf), "
        "gray.block = [128, 1] (edged.conf), others chosen ")


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


def test_problems_of_the_configuration_are_counted(doctor, tmp_path):
    path = tmp_path / "edged.conf"
    one = doctor(text='cameras = ( { name = "front"; source = "patern"; } );').of("configuration")
    assert one[0] == "failed" and one[1].startswith(f"{path}:1: error: cameras[0].source: ")
    two = doctor(text='backend = "gpu"; rtsp = { port = 70000; };').of("configuration")
    assert two[1].endswith(f", and 1 more: `edged --config {path} --check` lists them")


def test_port_of_another_program_fails_and_that_of_edged_does_not(doctor, edged):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        verdict, text = doctor(rtsp={"port": port}).of("RTSP port")
        assert verdict == "failed" and str(port) in text and "set rtsp.port" in text
    server = edged([daemon.camera(width=64, height=48)])
    found = doctor(rtsp={"port": server.port}, control={"socket": server.socket})
    assert found.of("RTSP port") == ("ok", f"127.0.0.1, port {server.port} is the running edged's")
    assert found.of("control socket")[0] == "ok" and found.of("control socket")[1].endswith(" answers")
    # Without its socket nobody knows that it is edged's.
    assert doctor(rtsp={"port": server.port}).of("RTSP port")[0] == "failed"


def test_certificate_is_looked_at_for_what_clients_check(doctor, edged, tmp_path):
    assert doctor().of("certificate") == ("info", "nothing is encrypted: rtsp.tls_port is 0")
    own = make_certificate(tmp_path, "own")  # for 127.0.0.1, and 2 days
    verdict, text = doctor(rtsp={"port": 0, "tls_port": 1, **own}).of("certificate")
    assert verdict == "warning" and re.search(r"own\.crt is valid for [12] days: renew it soon", text)
    verdict, text = doctor(rtsp={"port": 0, "tls_port": 1, "address": "127.0.0.2", **own}).of(
        "certificate")
    assert verdict == "warning" and "names neither " in text and " nor 127.0.0.2" in text
    old = make_expired_certificate(tmp_path)
    verdict, text = doctor(rtsp={"port": 0, "tls_port": 1, **old}).of("certificate")
    assert verdict == "failed" and "old.crt has expired" in text
    (tmp_path / "own.key").chmod(0o644)
    verdict, text = doctor(rtsp={"port": 0, "tls_port": 1, **own}).of("certificate")
    assert verdict == "failed" and "`chmod 640 " in text


def test_generated_certificate_is_the_running_edgeds(doctor, edged, tmp_path):
    tls = {"port": 0, "tls_port": free_port()}
    assert doctor(rtsp=tls).of("certificate")[0] == "info"
    server = edged([daemon.camera(width=64, height=48)], settings={"rtsp": tls},
                   STATE_DIRECTORY=tmp_path)
    verdict, text = doctor(rtsp=tls, control={"socket": server.socket}).of("certificate")
    assert verdict == "ok" and server.status()["certificate"]["fingerprint"] in text


def test_file_of_users_may_be_nobody_elses(doctor, tmp_path):
    assert doctor().of("users")[0] == "info"
    users = tmp_path / "rtsp.users"
    subprocess.run([daemon.EDGECTL, "passwd", "--file", users, "vera"], text=True, check=True,
                   input="correct horse\n", env=daemon.environment())
    found = doctor(rtsp={"port": 0, "users": users})
    assert found.of("users") == ("ok", f"{users}: 1 user")
    users.chmod(0o640)
    verdict, text = doctor(rtsp={"port": 0, "users": users}).of("configuration")
    assert verdict == "failed" and str(users) in text and "0640" in text
    users.write_text("vera\n")
    credential = {"CREDENTIALS_DIRECTORY": str(tmp_path)}
    verdict, text = doctor(variables=credential).of("users")
    assert verdict == "failed" and text.startswith(f"{users}:1: ")


def test_socket_of_something_else_fails(doctor, tmp_path):
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(tmp_path / "other.sock"))  # nobody listens
        found = doctor(control={"socket": tmp_path / "other.sock"})
        assert found.of("control socket")[0] == "info" and "no edged listens" in found.of(
            "control socket")[1]
    verdict, text = doctor(control={"socket": "/" + "x" * 120}).of("configuration")
    assert verdict == "failed" and "at most 107" in text


def v4l2(options):
    return {"LD_PRELOAD": daemon.FAKE_V4L2, "EDGED_FAKE_V4L2": options}


V4L2 = {"source": "v4l2", "width": 640, "height": 480}


def test_cameras_are_listed_with_what_they_would_deliver(doctor):
    fake = v4l2("device=/dev/video7 format=MJPG,YUYV size=640x480 fps=30")
    found = doctor([daemon.camera(device="/dev/video7", **V4L2)], variables=fake)
    assert found.of("/dev/video7") == ("ok", "opens, would deliver YUYV 640x480@30")
    assert found.of("camera front") == ("ok", "/dev/video7, YUYV 640x480@30")
    found = doctor([daemon.camera(**V4L2)], variables=fake)
    assert found.of("camera front") == ("ok", "takes the first device that works")


@pytest.mark.parametrize("options, settings, text", [
    ("device=/dev/video3", {"device": "/dev/video4"}, "/dev/video4 does not exist; "),
    ("device=/dev/video3 format=YUYV", {"device": "/dev/video3", "format": "NV12"},
     '/dev/video3 delivers YUYV, not format = "NV12"; '),
    ("device=/dev/video3 kind=denied", {"device": "/dev/video3"}, "add the user to group video"),
    ("device=/dev/video3 kind=denied", {}, "no device may be opened: add the user to group video"),
    ("device=/dev/video3 kind=output", {}, "no camera found: plug one in"),
])
def test_camera_that_is_wished_for_and_not_there_fails(doctor, options, settings, text):
    found = doctor([daemon.camera(**V4L2, **settings)], variables=v4l2(options))
    assert found.of("camera front")[0] == "failed" and text in found.of("camera front")[1]


def test_camera_by_default_may_be_missing_but_not_be_denied(doctor):
    automatic = [daemon.camera(source="auto", width=640, height=480)]
    found = doctor(automatic, variables=v4l2("device=/dev/video3 kind=output"))
    assert found.of("camera front")[0] == "info" and found.report["ok"]
    found = doctor(automatic, variables=v4l2("device=/dev/video3 kind=denied"))
    assert found.of("/dev/video3")[0] == "warning" and "usermod -aG video" in found.of("/dev/video3")[1]
    assert found.of("camera front")[0] == "failed"


def test_clips_and_pipelines_are_looked_at(doctor, tmp_path):
    clip = daemon.ROOT / "tests/data/street.mp4"
    found = doctor([
        daemon.camera("a", source="file", path=clip),
        daemon.camera("b", source="file", path=tmp_path / "gone.mp4"),
        daemon.camera("c", source="gstreamer", pipeline="videotestsrc ! videoconvert"),
        daemon.camera("d", source="gstreamer", pipeline="nosuchsrc ! videoconvert"),
    ])
    assert [found.of(f"camera {name}")[0] for name in "abcd"] == ["ok", "failed", "ok", "failed"]
    assert "No such file" in found.of("camera b")[1] and "nosuchsrc" in found.of("camera d")[1]


def test_encoder_that_a_view_names_has_to_work(doctor):
    views = [{"view": "edges", "encoder": "nvv4l2h264enc"}]
    found = doctor([daemon.camera(width=64, height=48, views=views)])
    verdict, text = found.of("encoder nvv4l2h264enc")
    assert verdict == "failed" and text.endswith('; set encoder = "auto"')
    assert doctor().of("encoder nvv4l2h264enc")[0] == "info"


def test_machine_without_gstreamers_plugins_fails(doctor, tmp_path):
    found = doctor(variables={"GST_PLUGIN_SYSTEM_PATH": tmp_path, "GST_PLUGIN_PATH": "",
                              "GST_REGISTRY": tmp_path / "registry"})
    assert found.of("encoders")[0] == "failed"
    assert "gstreamer1.0-plugins-ugly" in found.of("encoders")[1]


def test_a_view_of_h265_has_to_have_an_encoder(doctor, tmp_path):
    views = [{"view": "edges", "codec": "h265"}]
    found = doctor([daemon.camera(views=views, width=64, height=48)])
    assert found.of("encoder x265enc")[1].startswith("two key frames of 64x48 in ")
    found = doctor([daemon.camera(views=views)],
                   variables={"GST_PLUGIN_SYSTEM_PATH": tmp_path, "GST_PLUGIN_PATH": "",
                              "GST_REGISTRY": tmp_path / "registry"})
    assert found.of("encoders of H.265")[0] == "failed"
    assert "gstreamer1.0-plugins-bad (x265enc)" in found.of("encoders of H.265")[1]


@pytest.fixture
def systemd():
    bus = SystemBus()
    yield bus
    bus.close()


@pytest.mark.parametrize("states, verdict, text", [
    (("not-found", "inactive", "", "success"), "info", "edged.service is not installed"),
    (("loaded", "active", "enabled", "success"), "ok", "edged.service is active, enabled"),
    (("loaded", "inactive", "disabled", "success"), "info", "`systemctl enable --now edged`"),
    (("loaded", "failed", "enabled", "exit-code"), "failed", "failed (exit-code): `journalctl -eu"),
    (("bad-setting", "inactive", "", "success"), "failed", "edged.service is bad-setting: see"),
])
def test_service_is_as_systemd_says(doctor, systemd, states, verdict, text):
    names = ("LoadState", "ActiveState", "UnitFileState", "Result")
    systemd.states = dict(zip(names, states))
    found = doctor(variables={"DBUS_SYSTEM_BUS_ADDRESS": systemd.address})
    assert found.of("service")[0] == verdict and text in found.of("service")[1]


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
    assert found.of("nvv4l2h264enc from nvmm") == (
        "warning", "nvv4l2h264enc by descriptor: Failed to process frame.; "
        "two key frames of 64x48 by transform")
    found = doctor(fake="board=agx-orin", variables={**variables, "FAKE_JETSON": "refuse"})
    assert found.of("nvv4l2h264enc from nvmm") == (
        "warning", "nvv4l2h264enc by descriptor: Failed to process frame.; "
        "nvv4l2h264enc by transform: Failed to process frame.; nvv4l2h264enc: Failed to process "
        "frame.; pictures are copied for it")
    variables["EDGED_FAKE_NVMM"] = "fail=NvBufSurfaceSyncForCpu:2"
    found = doctor(fake="board=agx-orin", variables=variables)
    assert found.of("memory nvmm") == (
        "warning", "NvBufSurfaceSyncForCpu failed; pictures for the encoder are copied, from the "
        "next kind of memory")
