"""edged-recorder on a disk that is cut off, stalls, fails and fills (tests/fakes/disk)."""

import contextlib
import errno
import itertools
import json
import os
import pathlib
import shutil
import signal
import time

import pytest

import disk_log
from daemon import BUILD, wait_for
from recorded import start_recorder
from recorder_front import ALWAYS, DELETE, FRAME_NS, FPS, GROUP, KEEP, UNKEEP, Front, Video, gstreamer_frames, write_clips

SECOND = 10**9
FAKE_DISK = BUILD / "tests/fakes/disk/fake_disk.so"
# How many of a film's operations are tried, evenly spread; it has some 110.
CUTS = int(os.environ.get("EDGED_CUTS", 25))
JPEG = b"\xff\xd8 a picture \xff\xd9"
READY, STOPPED = 1, 2


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    video = Video(tmp_path_factory.mktemp("video"), 1000, size="160x120", bitrate="200k")
    video.known = {}  # how many pictures are in a clip of these bytes
    return video


def with_disk(**settings):
    return {**os.environ, "LD_PRELOAD": str(FAKE_DISK),
            **{f"EDGED_DISK_{name.upper()}": str(value) for name, value in settings.items()}}


def film(folder, video, environment, pace=None):
    """A view of each mode, events, a picture, a clip that is kept and one that is deleted. Returns the front;
    the recorder may have been killed."""
    front = Front(folder, environment=environment)
    try:
        front.track(1, "front", mode=ALWAYS, max_clip_s=10)
        front.track(2, "back", before_s=1, after_s=1)
        front.wait_ready()
        base = time.monotonic_ns() - 24 * SECOND
        for second in range(20):
            first, last = second * FPS, (second + 1) * FPS
            front.play(1, video, first, last, base)
            front.play(2, video, first, last, base)
            at = base + last * FRAME_NS
            if second in (2, 8, 14):
                front.event(2, at, at, number=second)
            if second in (5, 11, 17):
                front.event(2, at, at, ended=True, number=second - 3)
            if second == 9:
                front.picture(2, at, JPEG)
            if pace:
                pace(front, second)
        front.wait_closed(4)
        assert front.change(front.wait_closed(4)[0]["id"], KEEP)["error"] == 0
        assert front.change(front.wait_closed(4)[1]["id"], DELETE)["error"] == 0
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass
    return front


def whole_frames(data):
    """How many pictures the whole fragments have that a clip was written in: prft, moof and mdat each."""
    frames, at, waiting = 0, data.find(b"moof") - 4, 0
    while 0 <= at <= len(data) - 8:
        size, kind = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
        if kind not in (b"prft", b"moof", b"mdat") or at + size > len(data):
            break
        if kind == b"moof":
            count = data.index(b"trun", at) + 8
            waiting = int.from_bytes(data[count:count + 4], "big")
        frames += waiting if kind == b"mdat" else 0
        at += size
    return frames


def place(path):
    """A clip's own part of a path, the same while it is written, afterwards, and when it is kept."""
    path = str(path)
    return path[:path.index(".mp4")].removesuffix(".keep")


def read_clip_file(path, video):
    """How many pictures a clip has, none missing, by FFmpeg and by GStreamer. The same bytes are read once."""
    content = path.read_bytes()
    if content not in video.known:
        frames = video.frames_in(path)
        assert frames == list(range(frames[0], frames[0] + len(frames))) and frames[0] % GROUP == 0
        assert gstreamer_frames(path) == len(frames)
        video.known[content] = len(frames)
    return video.known[content]


def check_folder(folder, video):
    """What a recorder makes of a folder: the clips that were not finished can be played whole, and list, index and
    folder are one. Returns how many pictures each clip has, by its place."""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    grown = {place(path) for path in folder.rglob("*.mp4.part")}
    with Front(folder) as front:
        front.wait_ready()
        clips = front.list()
    paths = sorted(folder.rglob("*.mp4"))
    found = {place(path): read_clip_file(path, video) if place(path) in grown else whole_frames(path.read_bytes())
             for path in paths}
    assert not list(folder.rglob("*.mp4.part"))
    listed = [(clip["id"], clip["camera"], clip["view"], clip["is_kept"], clip["bytes"]) for clip in clips]
    assert sorted(listed) == sorted(
        (int(place(path).rsplit("-", 1)[1]), *path.relative_to(folder).parts[:2], ".keep." in path.name,
         path.stat().st_size) for path in paths)
    lines = (folder / "index.jsonl").read_text().splitlines()[1:]
    assert {clip["id"] for clip in clips} <= {json.loads(line)["id"] for line in lines if line.endswith("}")}
    return found


@pytest.fixture(scope="module")
def operations(video, tmp_path_factory):
    """The log of a film that went well, and its folder."""
    folder = tmp_path_factory.mktemp("disk")
    film(folder / "clips", video, with_disk(log=folder / "log")).end()
    return folder / "clips", disk_log.read(folder / "log")


def test_a_recorder_killed_in_a_write_loses_at_most_the_fragment_that_it_wrote(video, operations, tmp_path):
    """In operations of a film in turn, until one is over before it comes to that operation."""
    for number in itertools.count(1, max(1, len(operations[1]) // CUTS)):
        folder = tmp_path / str(number)
        front = film(folder, video, with_disk(kill=number))
        front.socket.close()
        front.process.communicate()
        left = {place(path): whole_frames(path.read_bytes()) for path in folder.rglob("*.mp4*")}
        assert check_folder(folder, video) == {name: frames for name, frames in left.items() if frames}
        if front.process.returncode == 0:
            break
        assert front.process.returncode == -signal.SIGKILL
        shutil.rmtree(folder)
    assert number > 90


def test_a_recorder_killed_while_it_makes_clips_whole_does_so_at_the_next_start(video, operations, tmp_path):
    front = film(tmp_path / "clips", video, with_disk(kill=len(operations[1]) * 2 // 3))
    front.socket.close()
    front.process.communicate()
    left = {place(path): whole_frames(path.read_bytes()) for path in tmp_path.rglob("*.mp4*")}
    for number in itertools.count(1):
        front = Front(tmp_path / "clips", environment=with_disk(kill=number))
        try:
            front.wait_ready()
            break
        except (EOFError, ConnectionResetError):
            front.kill()
    front.end()
    assert number > 10
    assert check_folder(tmp_path / "clips", video) == {name: frames for name, frames in left.items() if frames}


def test_finished_clips_play_and_are_the_groups_to_read(video, operations):
    folder, _ = operations
    assert {oct(path.stat().st_mode & 0o7777) for path in folder.rglob("*.mp4")} == {"0o640"}
    assert {oct(path.stat().st_mode & 0o7777) for path in folder.rglob("*") if path.is_dir()} == {"0o750"}
    for path in folder.rglob("*.mp4"):
        assert read_clip_file(path, video) == whole_frames(path.read_bytes()) > 0


def test_a_power_cut_leaves_clips_that_play_with_all_that_was_synced(video, operations, tmp_path):
    root, log = operations
    disk = disk_log.Disk(root.parent)
    for number, operation in enumerate(log):
        disk.do(operation)
        if number % max(1, len(log) // CUTS):
            continue
        folder = tmp_path / str(number)
        disk.cut(folder, number)
        found = check_folder(folder / "clips", video)
        for path, value in disk.files().items():
            synced = whole_frames(value.synced) if ".mp4" in path else 0
            assert not synced or found[place(path.replace(str(root.parent), str(folder)))] >= synced
        shutil.rmtree(folder)


def test_what_was_before_an_event_is_safe_as_soon_as_its_clip_begins(video, tmp_path):
    log = tmp_path / "log"

    def changes():
        """Of the clip's file: the fragments that were written, and syncs."""
        return ["sync" if change.kind == "sync" else "fragment" for change in disk_log.read(log)
                if ".mp4.part" in change.path and (change.kind == "sync" or change.data[4:8] == b"prft")]

    with Front(tmp_path / "clips", environment=with_disk(log=log)) as front:
        front.track(1, before_s=5)
        front.wait_ready()
        base = time.monotonic_ns() - 8 * SECOND
        front.play(1, video, 0, 8 * FPS, base)
        front.event(1, base + 8 * SECOND, base + 8 * SECOND)
        # The groups of seconds 3 to 6; the one of second 7 is not over.
        wait_for(lambda: changes().count("fragment") >= 4 and changes()[-1] == "sync")
    found = changes()
    fourth = [i for i, change in enumerate(found) if change == "fragment"][3]
    assert found[fourth + 1] == "sync"


def test_what_a_power_cut_costs(video, tmp_path):
    """In time as it passes: at most 2 s of an event's clip, 6 s of `always`."""
    environment = with_disk(log=tmp_path / "log")
    with Front(tmp_path / "clips", environment=environment) as front:
        front.track(1, "front", mode=ALWAYS)
        front.track(2, "back", before_s=1)
        front.wait_ready()
        base = time.monotonic_ns()
        for i in range(10 * FPS):
            time.sleep(max(0, base + i * FRAME_NS - time.monotonic_ns()) / SECOND)
            front.play(1, video, i, i + 1, base)
            front.play(2, video, i, i + 1, base)
            if i == 2 * FPS:
                front.event(2, base + i * FRAME_NS, base + i * FRAME_NS)
        cut = front.state
        log = disk_log.read(tmp_path / "log")
        assert cut["lost_units"] == 0
    disk = disk_log.Disk(tmp_path)
    for operation in log:
        disk.do(operation)
    for path, value in disk.files().items():
        if path.endswith(".part"):
            value.writes.clear()
    disk.cut(tmp_path / "cut", 1)
    with Front(tmp_path / "cut/clips") as front:
        front.wait_ready()
        lengths = {clip["camera"]: (clip["end_wall_ns"] - clip["start_wall_ns"]) / SECOND
                   for clip in front.list()}
    # The event's clip begins a second and its key frame before 2 s.
    assert 10 - 1 - 2 <= lengths["back"] <= 10 - 1 and 10 - 6 <= lengths["front"] <= 10


def test_a_disk_that_stalls_holds_up_nobody_and_what_is_lost_is_counted(video, tmp_path):
    control = tmp_path / "control"
    control.write_text("")
    big = Video(tmp_path, 250, size="640x480", bitrate="40000k")
    environment = with_disk(control=control)
    with Front(tmp_path / "clips", environment=environment) as front:
        front.track(1, "front", mode=ALWAYS)
        front.wait_ready()
        base = time.monotonic_ns() - 400 * SECOND
        front.play(1, big, 0, 50, base)
        front.wait(lambda: front.clips and front.state["written_bytes"] > 10000, "that it writes")
        clip = next(iter(front.clips))
        control.write_text("stall")
        size = sum(map(len, big.units))
        rounds = 3 + (64 << 20) // size
        for turn in range(rounds):
            front.play(1, big, 50 + 250 * turn, 300 + 250 * turn, base)
        assert [found["id"] for found in front.list()] == [clip]
        assert front.change(clip, DELETE)["error"] == -errno.EBUSY
        # It stalls until it is told otherwise, so they were answered meanwhile.
        front.wait(lambda: front.state["lost_units"] > 0 and front.state["write_max_ns"] > SECOND, "a loss")
        assert front.state["waiting_bytes"] <= 64 << 20 and front.state["state"] == READY
        rss = int(pathlib.Path(f"/proc/{front.process.pid}/statm").read_text().split()[1]) * 4096
        assert rss < 220 << 20
        control.write_text("")
        front.wait(lambda: front.state["waiting_bytes"] == 0, "that all is written")
        front.play(1, big, 50 + 250 * rounds, 300 + 250 * rounds, base)
        front.end()
        path, = front.files()
        with Front(tmp_path / "clips") as again:
            again.wait_ready()
            found, = again.list()
            assert found["gap_ns"] > SECOND
        assert len(big.frames_in(path)) > 300


@contextlib.contextmanager
def stalled(control):
    control.write_text("stall")
    try:
        yield
    finally:
        control.write_text("")


def test_clips_beyond_a_lower_limit_go_in_steps_that_hold_up_nothing(tmp_path):
    control, folder = tmp_path / "control", tmp_path / "clips"
    write_clips(folder, 500, size=100)
    with Front(folder, environment=with_disk(control=control)) as front:
        front.wait_ready()
        with stalled(control):
            front.set_storage(max_bytes=1)
            front.wait(lambda: len(front.list()) < 500, "that it deletes")
            assert len(front.list()) >= 400
            kept = front.ask("RECORD_CHANGE", "@IIQ", KEEP, 500)
        assert front.done(kept)["error"] == 0
        front.wait(lambda: len(front.list()) == 1, "that the others are gone")
        assert front.list()[0]["id"] == 500 and len(front.files()) == 1


def test_changes_of_a_clip_that_wait_for_the_disk_follow_one_another(tmp_path):
    control, folder = tmp_path / "control", tmp_path / "clips"
    write_clips(folder, 2, size=100)
    with Front(folder, environment=with_disk(control=control)) as front:
        front.wait_ready()
        with stalled(control):
            asked = [front.ask("RECORD_CHANGE", "@IIQ", action, clip) for action, clip in (
                (KEEP, 1), (KEEP, 1), (UNKEEP, 1), (KEEP, 2), (DELETE, 2), (KEEP, 1))]
            assert front.read(1, size=8)[1] == 100  # by the name that it still has
        assert [front.done(request)["error"] for request in asked] == [0] * len(asked)
        kept, = front.files("*.mp4*")
        assert ".keep." in kept.name and [clip["id"] for clip in front.list()] == [1]


def test_an_answer_to_a_front_that_left_is_none_to_the_next_one(tmp_path):
    """Both ask under the same numbers."""
    control, folder = tmp_path / "control", tmp_path / "clips"
    write_clips(folder, 2, size=100)
    recorder = start_recorder(tmp_path / "socket", with_disk(control=control))
    try:
        with Front(folder, tmp_path / "socket") as first:
            first.wait_ready()
            with stalled(control):
                first.ask("RECORD_CHANGE", "@IIQ", KEEP, 1)
                first.list()  # so it has heard of the change
                second = Front(folder, tmp_path / "socket")
                assert second.change(3, KEEP)["error"] == -errno.ENOENT
        with second:
            assert second.change(2, KEEP)["error"] == 0
            assert [name for name, _ in second.answers] == ["RECORD_HELLO"]
    finally:
        recorder.kill()
        recorder.communicate()


def files_in_use(pid, folder):
    links = []
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # it has closed it meanwhile
            links.append(os.readlink(entry))
    return [link for link in links if link.startswith(str(folder))]


# The second one has free bytes all the time, as one whose inodes are used up.
@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC])
def test_a_disk_that_fails_stops_recording_once_and_it_goes_on_by_itself(video, tmp_path, error):
    control = tmp_path / "control"
    control.write_text("")
    front = Front(tmp_path / "clips", environment=with_disk(control=control))
    front.track(1, "front", mode=ALWAYS)
    front.wait_ready()
    base = time.monotonic_ns() - 100 * SECOND
    front.play(1, video, 0, 200, base)
    front.wait(lambda: front.state["written_bytes"] > 10000, "that it writes")
    control.write_text(str(error))
    front.play(1, video, 200, 300, base)
    front.wait(lambda: front.state["state"] == STOPPED, "that it stopped")
    assert os.strerror(error) in front.state["sentence"]
    assert front.trigger(1, 0)["error"] < 0
    # It holds on to nothing in a folder whose disk fails, so that it can be unmounted.
    assert error == errno.ENOSPC or wait_for(lambda: not files_in_use(front.process.pid, tmp_path / "clips"))
    failed = front.state["lost_units"]
    front.play(1, video, 300, 700, base)
    # Memory has 5 s and what an event is noticed too late by, from a key frame on; the rest is lost.
    front.wait(lambda: front.state["lost_units"] > failed, "that it counts what is lost")
    time.sleep(2.5)
    control.write_text("")
    front.wait(lambda: front.state["state"] == READY, "that it goes on")
    lost = front.state["lost_units"]
    front.play(1, video, 700, 800, base)
    said = front.end()
    assert said.count(os.strerror(error)) == 1 and said.count("recording to") == 2
    first, second = front.files()
    frames = video.frames_in(first)
    assert frames == list(range(len(frames))) and len(frames) >= 175
    # What memory had of the time between is in the next clip.
    again = video.frames_in(second)
    assert again == list(range(again[0], 800)) and again[0] <= 500
    assert failed <= lost <= again[0] - len(frames) + GROUP
