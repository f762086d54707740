"""Every player and recorder that a distribution has decodes what edged sends: each writes pictures,
on which the moving pattern's number is read, until there are enough: the first may be slates.
scripts/setup --with players installs them."""

import shutil
import subprocess

import cv2
import pytest

import daemon
import pattern
import rtsp
from sanitized import once

SIZE = {"width": 640, "height": 360}
PICTURES = 5

MOTION = """
daemon off
setup_mode off
target_dir {directory}
netcam_url {url}
netcam_params rtsp_transport={transport}
framerate 10
width {width}
height {height}
emulate_motion on
picture_output on
picture_filename %v-%q
movie_output off
webcontrol_port 0
stream_port 0
log_level 6
"""


def ffmpeg(url, transport, directory):
    return ["ffmpeg", "-nostdin", "-loglevel", "error", "-rtsp_transport", transport, "-i", url,
            directory / "%d.png"]  # fmt: skip


def gstreamer(url, transport, directory):
    source = ["rtspsrc", f"location={url}", f"protocols={transport}", "!", "decodebin"]
    write = ["!", "videoconvert", "!", "pngenc", "!", "multifilesink"]
    return ["gst-launch-1.0", "-q", *source, *write, f"location={directory}/%d.png"]


def mpv(url, transport, directory):
    options = ["--no-config", "--ao=null", "--untimed"]
    output = ["--vo=image", "--vo-image-format=png", f"--vo-image-outdir={directory}"]
    return ["mpv", *options, *output, f"--rtsp-transport={transport}", url]


def mplayer(url, _, directory):
    """Asks FFmpeg's library, which tries UDP first."""
    options = ["-really-quiet", "-nosound", "-noconfig", "all", "-benchmark"]
    return ["mplayer", *options, "-vo", f"png:outdir={directory}", f"ffmpeg://{url}"]


def motion(url, transport, directory):
    config = directory / "motion.conf"
    config.write_text(MOTION.format(url=url, transport=transport, directory=directory, **SIZE))
    return ["motion", "-n", "-c", config]


PLAYERS = [(ffmpeg, "tcp"), (ffmpeg, "udp"), (gstreamer, "tcp"), (gstreamer, "udp"), (mpv, "tcp"),
           (mpv, "udp"), (mplayer, "udp"), (motion, "tcp"), (motion, "udp")]  # fmt: skip


@pytest.mark.parametrize("player, transport", PLAYERS)
@pytest.mark.parametrize("codec", once("h264", "h265", "mjpeg"))
def test_players_decode_frames(edged, tmp_path, codec, player, transport):
    view = {"name": "gray", "view": "gray", "codec": codec}
    server = edged([daemon.camera(views=[view], **SIZE)])
    url = server.url("/front/gray")
    rtsp.wait_served(url)
    directory = tmp_path / "pictures"
    directory.mkdir()
    command = player(url, transport, directory)
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    log = tmp_path / "player.log"
    with log.open("w") as told, subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=told, stderr=told
    ) as process:
        try:
            daemon.wait_for(
                lambda: len(read_numbers(directory)) >= PICTURES,
                explain=lambda: f"{read_numbers(directory)}: {log.read_text()[-2000:]}",
            )
        finally:
            process.kill()


def read_numbers(directory):
    """Of the pictures that are whole: who writes the last may not be done."""
    numbers = set()
    for path in (*directory.glob("*.png"), *directory.glob("*.jpg")):
        luma = cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)
        if luma is not None and luma.shape == (SIZE["height"], SIZE["width"]):
            numbers.add(pattern.read_number(luma, "gray"))
    return numbers - {None}


def test_a_tunnel_in_http_is_refused_as_http(edged):
    server = edged([daemon.camera(**SIZE)])
    url = server.url("/front/edges")
    told = subprocess.run(
        ["ffprobe", "-loglevel", "warning", "-rtsp_transport", "http", url], capture_output=True,
        text=True, timeout=daemon.PATIENCE_S,
    )  # fmt: skip
    assert told.returncode == 1 and "405 Method Not Allowed" in told.stderr
    told = subprocess.run(
        ["curl", "-sS", "-i", url.replace("rtsp:", "http:"), "-H", "x-sessioncookie: abc"],
        capture_output=True, text=True, timeout=daemon.PATIENCE_S, check=True,
    ).stdout  # fmt: skip
    assert told.startswith("HTTP/1.1 405 ")


def test_curl_asks_for_options(edged):
    server = edged([daemon.camera(**SIZE)])
    told = subprocess.run(
        ["curl", "-sS", "-i", server.url("/front/edges")], capture_output=True, text=True,
        timeout=daemon.PATIENCE_S, check=True,
    ).stdout
    assert told.startswith("RTSP/1.0 200 ") and "DESCRIBE" in told
