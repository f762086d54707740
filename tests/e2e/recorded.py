"""Clips that a running edged keeps: the frames of the pattern in them, and motion on command.

The pattern moves all the time, so motion begins when the camera is armed and ends when it is not.
"""

import contextlib
import datetime
import json
import socket
import subprocess
import time

import numpy as np

import daemon
import ffmpeg
import pattern

SIZE = (320, 240)
KEY_S = 1.0  # between two key frames
VIEWS = ({"name": "edges", "view": "edges"},
         {"name": "plain", "view": "camera", "keyframe_s": KEY_S})
REGION = {"name": "door", "duration_s": 0.0, "erode": 0}


def recorded(mode="events", **record):
    """A camera of the pattern whose view plain is recorded."""
    return daemon.camera(views=[dict(view) for view in VIEWS], width=SIZE[0], height=SIZE[1],
                         armed=False, regions=[REGION],
                         record={"view": "plain", "mode": mode, **record})


def settings(tmp_path):
    return {"storage": {"path": str(tmp_path / "clips")}}


def edgectl(server, *arguments, config=False):
    """What edgectl prints; with `config` it knows edged by its configuration."""
    where = ("--config", server.config) if config else ("--socket", server.socket)
    return subprocess.run([daemon.EDGECTL, *arguments, *where], check=True, capture_output=True, text=True,
                          timeout=daemon.PATIENCE_S, env=daemon.environment()).stdout


def ask(server, method, path, body=None, status=200):
    """Asks over the control socket, again while the recorder is being started. Returns the JSON of the reply."""
    def reply():
        connection = daemon.UnixConnection(server.socket)
        connection.request(method, path, body=None if body is None else json.dumps(body),
                           headers={"Content-Type": "application/json"})
        with connection.getresponse() as response:
            told = response.status, response.read()
        connection.close()
        is_early = b"not ready yet" in told[1] or b"has just been started" in told[1]
        return None if status != 503 and is_early else told

    got, told = daemon.wait_for(reply)
    assert got == status, told
    return json.loads(told)


def clips_of(server, query=""):
    return ask(server, "GET", f"/v1/clips?{query}")


def arm(server, armed, camera="front"):
    edgectl(server, "set", f"cameras.{camera}.armed={str(armed).lower()}")


class Events:
    """Follows events. `next()` is one of motion, with `started_ns` and `at_ns` of CLOCK_MONOTONIC, or of another
    kind as it is told."""

    def __init__(self, server):
        self.process = subprocess.Popen(
            [daemon.EDGECTL, "watch", "--json", "--socket", server.socket], text=True,
            stdout=subprocess.PIPE, env=daemon.environment())

    def next(self, kind="motion_"):
        event = {"event": ""}
        while not event["event"].startswith(kind):
            event = json.loads(self.process.stdout.readline())
        if kind != "motion_":
            return event
        # The largest: it is too small where this thread is not run between the two clocks.
        offset_ns = max(time.time_ns() - time.monotonic_ns() for _ in range(5))
        started = datetime.datetime.fromisoformat(event["started"].replace("Z", "+00:00"))
        event["started_ns"] = int(started.timestamp() * 1e6) * 1000 - offset_ns
        event["at_ns"] = event["time_ns"] - offset_ns
        return event

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def move(server, events, seconds):
    """Motion for so long. Returns its beginning and its end."""
    arm(server, True)
    started = events.next()
    time.sleep(seconds)
    arm(server, False)
    ended = events.next()
    assert (started["event"], ended["event"]) == ("motion_started", "motion_ended")
    return started, ended


def read_line(line):
    """The facts of a clip in its line of JSON, in the index or in its file. Behind them may stand later ones and
    blanks."""
    return json.JSONDecoder().raw_decode(line)[0]


def clip_files(tmp_path, suffix=".mp4"):
    return sorted((tmp_path / "clips").rglob(f"*{suffix}"))


def wait_clips(server, tmp_path, count):
    """The files of closed clips, once there are so many."""
    return daemon.wait_for(
        lambda: len(clip_files(tmp_path)) >= count and clip_files(tmp_path),
        explain=lambda: f"{list((tmp_path / 'clips').rglob('*'))}\n{server.stderr()}")


def numbers_in(path, size=SIZE):
    """The frame number in each picture of a file, None where there is none, by ffmpeg, which must not
    complain. Only the top of each picture is looked at."""
    width, height = size[0], pattern.block_size(size[0]) + 4
    result = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-i", path, "-vf", f"crop=iw:{height}:0:0", "-vsync", "passthrough",
         "-enc_time_base", "1:90000", "-f", "rawvideo", "-pix_fmt", "gray", "-"],
        capture_output=True, timeout=daemon.PATIENCE_S, check=True)
    assert not ffmpeg.complaints(result.stderr), result.stderr
    pictures = np.frombuffer(result.stdout, np.uint8).reshape(-1, height, width)
    return [pattern.read_number(picture, "camera") for picture in pictures]


def picture_lengths(path):
    """For how many seconds each picture of a file is shown."""
    result = subprocess.run(
        ["ffprobe", "-v", "error", "-show_entries", "packet=duration_time", "-of", "csv=p=0", path],
        capture_output=True, text=True, timeout=daemon.PATIENCE_S, check=True)
    return [float(line) for line in result.stdout.split()]


class FrameClock:
    """Which frame of the pattern was captured when, from what a viewer has seen so far: none arrives before
    it was captured."""

    def __init__(self, viewer):
        self.viewer = viewer

    def number_at(self, moment_ns):
        frames = [(n, t) for n, t in self.viewer.wait_numbers(60) if n is not None]
        begin_ns = min(t - n * 1e9 / pattern.FPS for n, t in frames)
        return (moment_ns - begin_ns) * pattern.FPS / 1e9


def recorder_of(server):
    """The process id of the recorder that an edged has started."""
    def look():
        for pid in daemon.process_children(server.process.pid):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/comm", encoding="utf-8") as name:  # it may end
                if name.read().strip() == "edged-recorder":
                    return pid
        return None

    return daemon.wait_for(look, explain=server.stderr)


def start_recorder(path, environment=None):
    """A recorder that listens, as systemd starts it: it outlives edged."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen(4)
        return subprocess.Popen(
            ["bash", "-c", f'export LISTEN_PID=$$ LISTEN_FDS=1; exec "$0" 3<&{listening.fileno()}',
             daemon.BUILD / "edged-recorder"],
            pass_fds=[listening.fileno()], env=environment or daemon.environment(), stderr=subprocess.PIPE)
