"""Several views of one camera: shared stages run once a frame. That no frame is lost: tests/soak."""

import subprocess

import pytest

import daemon
import pattern
import rtsp

VIEWS = [
    {"name": "edges", "view": "edges", "blur": 3},
    {"name": "bw", "view": "binary", "blur": 3, "threshold": 60},
    {"name": "thin", "view": "canny", "blur": 3},
    {"name": "moves", "view": "motion"},
]
# The views that need each stage.
USERS = {
    "gray": ("edges", "bw", "thin", "moves"), "blur": ("edges", "bw", "thin"),
    "gradient": ("edges", "bw"), "threshold": ("bw",), "canny": ("thin",), "difference": ("moves",),
}


@pytest.fixture
def readers():
    """Reads streams without decoding them."""
    started = []

    def start(url):
        command = ["ffmpeg", "-nostdin", "-loglevel", "error", "-rtsp_transport", "tcp", "-i", url]
        started.append(subprocess.Popen([*command, "-c", "copy", "-f", "null", "-"],
                                        stdin=subprocess.DEVNULL))

    yield start
    for process in started:
        process.kill()
        process.wait()


def figures(server, moment=0):
    """Frames of the camera after `moment`, pictures of its views, (runs, shared) of its stages."""
    server.wait_camera("front", lambda c: c["frames"] >= moment and len(c["stages"]) >= len(USERS))
    status = server.status()
    camera = status["cameras"][0]
    return (
        camera["frames"], {m["path"].split("/")[-1]: m["encoded"] for m in status["mounts"]},
        {s["name"]: (s["runs"], s["shared"]) for s in camera["stages"]},
    )


def test_four_views_at_once_share_their_stages(edged, readers):
    server = edged([daemon.camera(views=VIEWS, format="YUYV", width=320, height=240)])
    server.wait_camera("front", lambda c: c["state"] == "live")  # slates come from no stage
    for view in VIEWS:
        rtsp.wait_served(server.url(f"/front/{view['name']}"))
        readers(server.url(f"/front/{view['name']}"))
    for view in VIEWS:
        server.wait_mount(f"/front/{view['name']}", lambda m: m["encoded"] > pattern.FPS)
    # A status has the stages of some moment and the frames of a later one: those of the status
    # before it are of an earlier one.
    earlier, _, _ = figures(server)
    frames_before, encoded, before = figures(server, earlier + 1)
    frames, _, stages = figures(server, frames_before + pattern.FPS)
    for name, users in USERS.items():
        runs, shared = stages[name]
        # A frame under way is counted after its stages. A view with a difference shares none of them.
        runs_a_frame = 2 if "moves" in users and len(users) > 1 else 1
        assert runs - before[name][0] <= runs_a_frame * (frames - earlier + 1), (name, before, stages)
        assert runs + shared >= sum(encoded[user] for user in users), (name, encoded, stages)
        assert (shared > 0) == (len(users) > 1), (name, stages)
