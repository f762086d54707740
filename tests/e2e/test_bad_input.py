"""Bad configurations, absent devices, broken clips: each with its message, none with a crash."""

import pathlib
import re
import socket
import subprocess
import time
import urllib.parse

import pytest

import daemon
import rtsp

EXIT_OK, EXIT_CONFIGURATION, EXIT_USAGE, EXIT_TAKEN, EXIT_MISSING = 0, 1, 2, 3, 4
STREET = pathlib.Path(__file__).resolve().parents[1] / "data/street.mp4"
ENCODER_PLUGINS = ("x264", "openh264", "nvvideo4linux2", "video4linux2")

WRONG_CONFIGURATIONS = {
    "malformed": ("rtsp = {\n  port = ;\n};\n", r"edged\.conf:2: error: syntax error"),
    "unknown key": (
        'cameras = ( {\n  widht = 640;\n} );\n',
        r'edged\.conf:2: error: cameras\[0\]\.widht: unknown key, did you mean "width"\?',
    ),
    "out of range": (
        "rtsp = { port = 65536; };\n",
        r"edged\.conf:1: error: rtsp\.port: got 65536, allowed: an integer from 0 to 65535",
    ),
    "unknown view": (
        'cameras = ( { views = (\n  { view = "edgse"; } ); } );\n',
        r'edged\.conf:2: error: cameras\[0\]\.views\[0\]\.view: got "edgse",'
        r' allowed: "camera", "gray", "edges"',
    ),
    "wrong type": (
        'rtsp = { port = "8554"; };\n',
        r'edged\.conf:1: error: rtsp\.port: got the string "8554", allowed: an integer',
    ),
    "open to the network": (
        'rtsp = { address = "0.0.0.0"; };\n',
        r'edged\.conf:1: error: rtsp\.address: got "0\.0\.0\.0", allowed: 127\.0\.0\.0/8',
    ),
}


@pytest.mark.parametrize("arguments", [[], ["--check"]], ids=["start", "check"])
@pytest.mark.parametrize("kind", WRONG_CONFIGURATIONS)
def test_wrong_configuration_ends_with_its_message_and_status_1(tmp_path, kind, arguments):
    text, message = WRONG_CONFIGURATIONS[kind]
    config = tmp_path / "edged.conf"
    config.write_text(text)
    result = daemon.run_edged("--config", config, *arguments)
    assert result.returncode == EXIT_CONFIGURATION
    assert re.search(message, result.stdout + result.stderr), result


@pytest.mark.parametrize("arguments", [[], ["--check"]], ids=["start", "check"])
def test_unreadable_configuration_ends_with_its_message_and_status_1(tmp_path, arguments):
    for path, reason in (
        (tmp_path / "absent.conf", "No such file or directory"), (tmp_path, "Is a directory")
    ):
        result = daemon.run_edged("--config", path, *arguments)
        assert result.returncode == EXIT_CONFIGURATION
        assert f"{path}: error: cannot read: {reason}" in result.stdout + result.stderr


def test_check_prints_every_problem_in_one_run(tmp_path):
    config = tmp_path / "edged.conf"
    config.write_text('bakend = "cpu";\nrtsp = { port = -1; };\ncameras = ( { fps = 0; } );\n')
    result = daemon.run_edged("--config", config, "--check")
    assert result.returncode == EXIT_CONFIGURATION
    found = re.findall(r"edged\.conf:(\d+): error: (\S+):", result.stdout + result.stderr)
    assert sorted(found) == [("1", "bakend"), ("2", "rtsp.port"), ("3", "cameras[0].fps")]


def test_check_of_a_good_configuration_ends_with_status_0(tmp_path):
    config = tmp_path / "edged.conf"
    config.write_text('cameras = ( { name = "front"; source = "pattern"; } );\n')
    result = daemon.run_edged("--config", config, "--check")
    assert (result.returncode, result.stderr) == (EXIT_OK, "")
    config.write_text("# what a crash has left of it\n")
    result = daemon.run_edged("--config", config, "--check")
    assert result.returncode == EXIT_OK
    assert f"{config}: warning: not one setting in it, using the default of" in result.stderr
    config.write_text('cameras = ( { source = "gstreamer"; pipeline = "nosuchsrc ! queue"; } );')
    result = daemon.run_edged("--config", config, "--check")
    assert result.returncode == EXIT_OK
    assert f'{config}: warning: cameras[0].pipeline: no element "nosuchsrc"' in result.stderr
    config.write_text("""cameras = ( { source = "pattern"; views = (
        { name = "cpu"; encoder = "x264enc"; },
        { name = "jetson"; encoder = "nvv4l2h264enc"; } ); } );""")
    result = daemon.run_edged("--config", config, "--check")
    assert result.returncode == EXIT_OK
    assert result.stderr == (
        f'{config}: warning: cameras[0].views[1].encoder: no element "nvv4l2h264enc"; install what '
        'is missing, or take "auto"\n'
    )


def test_server_is_open_to_the_network_only_in_so_many_words(edged):
    server = edged([daemon.camera()], settings={"rtsp": {"address": "0.0.0.0", "auth": "none"}})
    assert f'warning: rtsp.auth = "none": whoever reaches rtsp://0.0.0.0:{server.port} can watch' in (
        server.stderr()
    )
    # 127.0.0.2 is another address of this machine, which a server on 127.0.0.1 does not have.
    url = f"rtsp://127.0.0.2:{server.port}/front/edges"
    daemon.wait_for(lambda: rtsp.describe(url)[0] == 200)
    assert server.status()["rtsp"] not in (f"rtsp://0.0.0.0:{server.port}", "")
    host = urllib.parse.urlsplit(server.status()["mounts"][0]["url"]).hostname
    assert rtsp.describe(f"rtsp://{host}:{server.port}/front/edges")[0] == 200
    # What the log says at the start can be typed into a player.
    assert f": rtsp://{host}:{server.port}/front/edges and " in server.stderr()
    assert "whoever reaches" not in edged([daemon.camera()]).stderr()


def test_unknown_option_ends_with_status_2():
    result = daemon.run_edged("--frobnicate")
    assert result.returncode == EXIT_USAGE
    assert "--frobnicate" in result.stderr


def write_config(directory, port=0, control="control.sock"):
    config = directory / "edged.conf"
    config.write_text(
        f'rtsp = {{ port = {port}; }}; control = {{ socket = "{directory / control}"; }};'
        ' cameras = ( { source = "pattern"; } );\n'
    )
    return config


def test_taken_rtsp_port_ends_with_its_message_and_status_3(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = daemon.run_edged("--config", write_config(tmp_path, port=port))
    assert result.returncode == EXIT_TAKEN
    assert str(port) in result.stderr
    assert re.search(r"in use|taken", result.stderr), result.stderr


def test_taken_control_socket_ends_with_its_message_and_status_3(tmp_path, edged):
    server = edged([daemon.camera()])
    result = daemon.run_edged("--config", write_config(tmp_path, control=server.socket))
    assert result.returncode == EXIT_TAKEN
    assert f"{server.socket}: another edged listens there" in result.stderr
    assert server.status()["cameras"]


def test_too_few_descriptors_are_an_error_and_few_are_enough(tmp_path, edged):
    program = tmp_path / "few"
    for limit in [*range(8, 66, 5), 65, 66, 68, 70, 80, 96, 128]:
        program.write_text(f'#!/bin/sh\nulimit -n {limit} && exec "{daemon.EDGED}" "$@"\n')
        program.chmod(0o755)
        if limit < 32:
            command = f"ulimit -n {limit} && exec '{daemon.EDGECTL}' status"
            result = subprocess.run(["sh", "-c", command],
                                    timeout=daemon.PATIENCE_S, capture_output=True, text=True, check=False)
            assert result.returncode == EXIT_CONFIGURATION
            assert f"at most {limit} files may be open, needed: 32" in result.stderr
        if limit < 66:
            result = subprocess.run([program, "--config", write_config(tmp_path)], timeout=daemon.PATIENCE_S,
                                    capture_output=True, text=True, check=False)
            assert result.returncode == EXIT_MISSING, result
            assert f"at most {limit} files may be open, needed for 1 camera: 66" in result.stderr
            continue
        server = edged([daemon.camera(width=320, height=240)], program=program)
        url = server.url("/front/edges")
        # More than there is room for: those that play nothing make room for one that asks.
        crowd = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
        daemon.wait_for(lambda: describes(url), explain=server.stderr)
        for one in crowd:
            one.close()
        daemon.wait_for(lambda: describes(url), explain=server.stderr)
        server.stop()
        assert "signal" not in server.stderr().replace("no signal", "")


def describes(url):
    try:
        return rtsp.describe(url)[0] == 200
    except (AssertionError, OSError):
        return False


def test_missing_camera_program_ends_with_its_message(tmp_path):
    missing = tmp_path / "edged-camera"
    result = daemon.run_edged("--config", write_config(tmp_path), EDGED_CAMERA_PROGRAM=missing)
    assert result.returncode not in (EXIT_OK, EXIT_USAGE)
    assert "edged-camera" in result.stderr
    assert str(missing) in result.stderr


def assert_no_signal_says(server, message):
    """The daemon runs, the stream answers, status and log say what is wrong."""
    camera = server.wait_camera("front", lambda c: re.search(message, c["error"]))
    assert camera["state"] == "no signal"
    server.wait_stderr(message)
    assert rtsp.wait_served(server.url("/front/edges"))[0] == 200
    assert camera["process"]["restarts"] == 0


@pytest.mark.parametrize(
    ("device", "message"),
    [
        ("/dev/video-none", "/dev/video-none does not exist"),
        ("/dev/null", "/dev/null is not a capture device"),
    ],
)
def test_wrong_device_is_named_with_the_reason(edged, device, message):
    server = edged([daemon.camera(source="v4l2", device=device)])
    assert_no_signal_says(server, message)


def test_missing_clip_is_named(edged, tmp_path):
    path = tmp_path / "none.mp4"
    server = edged([daemon.camera(source="file", path=path)])
    assert_no_signal_says(server, f"clip {re.escape(str(path))}: No such file or directory")


def test_truncated_clip_is_named(edged, tmp_path):
    path = tmp_path / "truncated.mp4"
    data = STREET.read_bytes()
    path.write_bytes(data[: len(data) // 20])
    server = edged([daemon.camera(source="file", path=path)])
    # What is left of the clip may be playable for a moment; its end must be told all the same.
    server.wait_stderr(f"clip {re.escape(str(path))}: ")
    assert server.camera()["process"]["restarts"] == 0
    assert rtsp.wait_served(server.url("/front/edges"))[0] == 200


def test_clip_that_is_no_video_is_named(edged, tmp_path):
    path = tmp_path / "noise.mp4"
    path.write_bytes(bytes(range(256)) * 64)
    server = edged([daemon.camera(source="file", path=path)])
    assert_no_signal_says(server, f"clip {re.escape(str(path))}: ")


def make_clip(path, encoder, *profile):
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=10", "-t", "1",
                    "-c:v", encoder, *profile, path], check=True)
    return path


def process_clip(clip, result, **environment):
    return subprocess.run([daemon.EDGECTL, "process", "--view", "camera", clip, result], capture_output=True,
                          text=True, env=daemon.environment(**environment), check=False)


def test_a_decoder_that_is_missing_is_named_with_its_package(tmp_path):
    """With libde265dec alone, whose pictures of 10 bits are not whole."""
    clip = make_clip(tmp_path / "clip.mp4", "libx265", "-pix_fmt", "yuv420p10le")
    done = process_clip(clip, tmp_path / "out.mp4", GST_PLUGIN_FEATURE_RANK="avdec_h265:NONE")
    assert done.returncode == 1
    assert ("no decoder for video/x-h265 is installed that edged can use: install the package "
            "gstreamer1.0-libav") in done.stderr


def test_an_inexact_decoder_is_the_last_resort(tmp_path):
    """openh264dec of a high profile, whatever its rank."""
    clip = make_clip(tmp_path / "clip.mp4", "libx264", "-pix_fmt", "yuv420p", "-profile:v", "high")
    pictures = []
    for name, rank in (("exact", "avdec_h264:PRIMARY"), ("first", "openh264dec:MAX"), ("alone", "avdec_h264:NONE")):
        done = process_clip(clip, tmp_path / f"{name}.png", GST_PLUGIN_FEATURE_RANK=rank)
        assert done.returncode == 0, done.stderr
        pictures.append((tmp_path / f"{name}.png").read_bytes())
    assert pictures[0] == pictures[1]


@pytest.mark.parametrize(
    ("fragment", "message"),
    [
        ("nosuchelement", r'pipeline "nosuchelement".*: no element "nosuchelement"'),
        ("videotestsrc ! ! x", r'pipeline "videotestsrc ! ! x"'),
        ("audiotestsrc is-live=true", r'pipeline'),
        ("videotestsrc num-buffers=5", r"the pipeline ended"),
    ],
)
def test_bad_gstreamer_fragment_is_named(edged, fragment, message):
    server = edged([daemon.camera(source="gstreamer", pipeline=fragment)])
    server.wait_stderr(message)
    assert server.camera()["process"]["restarts"] == 0
    assert rtsp.wait_served(server.url("/front/edges"))[0] == 200


def test_no_password_is_shown_anywhere(edged, tmp_path):
    def camera(name, pipeline):
        return daemon.camera(name, source="gstreamer", pipeline=pipeline)

    rude = socket.create_server(("127.0.0.1", 0))
    port = rude.getsockname()[1]
    away = f"rtspsrc location=rtsp://me:hunter2@127.0.0.1:{port}/?token=hunter2 user-pw=hunter2"
    server = edged([
        camera("away", f"{away} ! decodebin"),
        camera("element", f'{away} proxy-pw="hunter2 hunter2" ! nosuchelement'),
        camera("unknown", "rtspsrc user-pw=\thunter2 zauberwort=hunter2 ! decodebin"),
        camera("headers", 'souphttpsrc location=http://127.0.0.1:1/ cookies="hunter2" extra-headers="x,'
               'Authorization=(string)\\"Bearer hunter2\\"" ! decodebin'),
        daemon.camera("url", source="rtsp", url="rtsp://127.0.0.1:1/x?usr=a&psw=hunter2&0=hunter2"),
    ])
    rude.settimeout(daemon.PATIENCE_S)
    for _ in range(6):
        rude.accept()[0].close()
    rude.close()
    for name in ("away", "element", "unknown", "headers", "url"):
        server.wait_camera(name, lambda c: c["error"])
    texts = [server.stderr(), server.http_get("/v1/status"), server.http_get("/metrics")]
    for words in (["status", "--socket", server.socket],
                  ["doctor", "--config", server.config],
                  ["doctor", "--json", "--config", server.config]):
        result = subprocess.run([daemon.EDGECTL, *words], capture_output=True, text=True,
                                timeout=daemon.PATIENCE_S, env=daemon.environment(), check=False)
        texts.append(result.stdout + result.stderr)
    wrong = tmp_path / "wrong.conf"
    for text in (f'cameras = ( {{ source = "{away}"; }} );', f'cameras = "{away}";\n',
                 f'cameras = ( {{ pipeline = "{away}" format = ; }} );',
                 'cameras = ( { url = "rtsp://me:hunter2@127.0.0.1/1"; } );',
                 'cameras = ( { url = "http://127.0.0.1/?auth=hunter2&hunter2"; } );'):
        wrong.write_text(text)
        texts.append(daemon.run_edged("--config", wrong, "--check").stderr)
    assert not any("hunter2" in text for text in texts), texts
    assert all("***" in text for text in texts[:2] + texts[6:]), texts


def test_camera_that_comes_and_goes_does_not_fill_the_log(edged):
    begin = time.monotonic()
    server = edged([daemon.camera(source="gstreamer", pipeline="videotestsrc num-buffers=3")])
    server.wait_camera("front", lambda c: c["reconnects"] >= 12)
    lines = len(re.findall(r"front: (?:no signal|GStreamer)", server.stderr()))
    assert 5 <= lines <= 11 * (1 + (time.monotonic() - begin) // 60), server.stderr()


@pytest.fixture
def plugins_without_encoder(tmp_path):
    """The environment of a machine on which no H.264 encoder is installed."""
    installed = subprocess.run(
        ["pkg-config", "--variable=pluginsdir", "gstreamer-1.0"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()
    directory = tmp_path / "plugins"
    directory.mkdir()
    for plugin in pathlib.Path(installed).glob("*.so"):
        if not any(name in plugin.name for name in ENCODER_PLUGINS):
            (directory / plugin.name).symlink_to(plugin)
    return {
        "GST_PLUGIN_SYSTEM_PATH_1_0": directory, "GST_PLUGIN_PATH_1_0": "",
        "GST_REGISTRY_1_0": tmp_path / "registry.bin",
    }


def test_machine_without_encoder_says_so_and_does_not_hang(edged, plugins_without_encoder):
    server = edged([daemon.camera()], **plugins_without_encoder)
    server.wait_stderr("no encoder works")
    camera = server.wait_camera("front", lambda c: "no encoder works" in c["error"])
    assert camera["state"] == "failed"
    assert "x264enc" in camera["error"]
    assert rtsp.describe(server.url("/front/edges"))[0] in (404, 503)


# No GPU, whatever the machine has.
NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}


def test_wishes_for_a_gpu_are_answered_and_frames_flow_on_the_cpu(edged):
    server = edged([daemon.camera()], settings={"backend": "cuda", "memory": "managed"}, **NO_GPU)
    server.wait_stderr(
        r'warning: front: backend = "cuda": .+, using the CPU and host memory instead of "managed"'
    )
    camera = server.wait_camera("front", lambda c: c["state"] == "live")
    assert " -> host -> CPU -> " in camera["path"]


def test_without_a_gpu_auto_says_so_in_one_line_without_a_warning(edged):
    server = edged([daemon.camera()], **NO_GPU)
    server.wait_camera("front", lambda c: c["state"] == "live")
    said = re.findall(r"^edged-camera: front: .*, using the CPU$", server.stderr(), re.MULTILINE)
    assert len(said) == 1, server.stderr()
    assert "warning" not in server.stderr()


def test_host_memory_means_the_cpu_which_is_said(edged):
    server = edged([daemon.camera()], settings={"backend": "cuda", "memory": "host"})
    server.wait_stderr('backend = "cuda": memory = "host" is not for a GPU, using the CPU')
    camera = server.wait_camera("front", lambda c: c["state"] == "live")
    assert " -> host -> CPU -> " in camera["path"]
