"""Seven recorded cameras, four of the pattern and three in the network, while programs stall, are killed and are
started anew: every clip is a whole file, and no picture is missing in it that was not counted."""

import json
import os
import signal
import subprocess
import time
from typing import NamedTuple

import daemon
import pattern
from mp4_table import read_table
from recorded import VIEWS, arm, numbers_in, read_line, recorder_of

SIZE = (640, 360)
FPS = 15
NAMES = ("always-1", "always-2", "events-1", "events-2")
AWAY = ("always-3", "events-3", "events-4")  # of another edged
TURN_S = 12  # at least, from one fault to the next


def check_packets(path, durations):
    told = subprocess.run(
        ["ffprobe", "-v", "error", "-show_entries", "packet=pts,dts,duration,flags", "-of", "json", path],
        capture_output=True, text=True, check=True)
    packets = json.loads(told.stdout)["packets"]
    dts = [packet["dts"] for packet in packets]
    assert not told.stderr and dts[0] == 0 and packets[0]["flags"].startswith("K"), (path, told.stderr, packets[0])
    assert dts == [packet["pts"] for packet in packets] and len(dts) == len(durations)
    assert [after - before for before, after in zip(dts, dts[1:])] == durations[:-1]


def unreadable(path, numbers):
    """Which pictures have no number, and the first of them as a file beside the clip."""
    places = [place for place, number in enumerate(numbers) if number is None]
    if not places:
        return None
    still = path.with_suffix(".unreadable.png")
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", "-i", path, "-vf", f"select=eq(n\\,{places[0]})",
                    "-frames:v", "1", still], check=True)
    return f"{path}: pictures {places} of {len(numbers)} have no number, see {still}"


class Clip(NamedTuple):
    said: dict  # of itself, in its note
    numbers: list  # of its pictures
    seconds: float


def check_clip(path):
    data = path.read_bytes()
    durations = read_table(data)
    said = read_line(data[32 : 32 + 1024].decode())
    assert abs((said["end_ns"] - said["start_ns"]) / 1e9 - sum(durations) / 90000) < 0.002 and said["bytes"] == len(data)
    check_packets(path, durations)
    numbers = numbers_in(path, SIZE)
    assert len(numbers) == len(durations), (path, numbers)
    return Clip(said, numbers, sum(durations) / 90000)


def missing_in(numbers):
    """How many pictures are missing. The numbers begin anew where the camera was started anew."""
    steps = [after - before for before, after in zip(numbers, numbers[1:])]
    return sum(step - 1 for step in steps if step > 0)


def missing_between(before, after):
    """The same, of a clip that begins where the one before ends because that was the longest there may be."""
    apart_s = (after.said["start_ns"] - before.said["end_ns"]) / 1e9
    if before.said["camera"] != after.said["camera"] or abs(apart_s) > 1 / FPS:
        return 0
    return missing_in([before.numbers[-1], after.numbers[0]])


class Counted:
    """How many pictures edged says are missing, over the lives of its processes: units on the way to the disk, frames
    in front of the encoder."""

    def __init__(self):
        self.total = self.last = 0

    def look(self, server):
        now = server.dropped() + server.status()["recorder"].get("lost_units", 0)
        self.total += now if now < self.last else now - self.last
        self.last = now


def signal_it(*signals):
    def send(pid):
        for one, pause_s in signals:
            os.kill(pid, one)
            time.sleep(pause_s)
    return send


stall = signal_it((signal.SIGSTOP, 1.5), (signal.SIGCONT, 0))
kill = signal_it((signal.SIGKILL, 0))


def pid_of(server, name):
    return server.wait_camera(name, lambda camera: camera["process"]["pid"])["process"]["pid"]


def start_anew(server):
    server.stop()
    server.start()


FAULTS = (
    lambda server, source: stall(pid_of(server, "events-1")),
    lambda server, source: stall(source.process.pid),
    lambda server, source: stall(recorder_of(server)),
    lambda server, source: start_anew(server),
    lambda server, source: kill(pid_of(server, "always-1")),
    lambda server, source: kill(recorder_of(server)),
    lambda server, source: stall(server.process.pid),
)


def recorded(name, mode, **source):
    view = {**VIEWS[1], "governor": "off"}
    return {**daemon.camera(name, views=[view], width=SIZE[0], height=SIZE[1], fps=FPS), **source, "armed": False,
            "regions": [{"name": "door", "duration_s": 0.0, "erode": 0}],
            "record": {"mode": mode.split("-")[0], "before_s": 2.0, "after_s": 1.0, "max_clip_s": 10}}


def move(server, names, moves):
    for name in names:
        arm(server, moves, camera=name)


def test_clips_of_seven_cameras_are_whole_and_lack_nothing_that_is_not_counted(edged, turns, tmp_path):
    clips = tmp_path / "clips"
    source = edged([daemon.camera(name, views=[VIEWS[1]], width=SIZE[0], height=SIZE[1], fps=FPS) for name in AWAY])
    cameras = [recorded(name, name) for name in NAMES]
    cameras += [recorded(name, name, source="rtsp", url=source.url(f"/{name}/plain"), transport="tcp") for name in AWAY]
    server = edged(cameras, settings={"storage": {"path": str(clips)}})
    events = [name for name in NAMES + AWAY if name.startswith("events")]
    lost = Counted()
    for turn in turns():
        begun_s = time.monotonic()
        for name in NAMES + AWAY:
            server.wait_camera(name, lambda camera: camera["state"] == "live")
        move(server, events, True)
        time.sleep(TURN_S / 3)
        lost.look(server)
        FAULTS[turn % len(FAULTS)](server, source)
        time.sleep(max(0, begun_s + TURN_S - time.monotonic()))
        move(server, events, False)
        time.sleep(2)
        lost.look(server)
    server.stop()
    files = sorted(clips.rglob("*.mp4"))
    missing = pictures = 0
    faults = []
    before = None
    for path in files:
        clip = check_clip(path)
        fault = unreadable(path, clip.numbers)
        if fault:
            faults.append(fault)
            before = None
            continue
        hole = missing_in(clip.numbers) + (missing_between(before, clip) if before else 0)
        print(f"{path.relative_to(clips)}: {len(clip.numbers)} pictures, {clip.seconds:.2f} s, "
              f"gap {clip.said['gap_ns'] / 1e9:.2f} s, {hole} missing")
        missing, pictures, before = missing + hole, pictures + len(clip.numbers), clip
    print(f"{turn + 1} faults, {len(files)} clips, {pictures} pictures, {missing} missing, {lost.total} counted")
    assert not faults, "\n".join(faults)
    assert missing <= lost.total
    assert {path.relative_to(clips).parts[0] for path in files} == {*NAMES, *AWAY}
    assert not list(clips.rglob("*.part"))
