"""edged-recorder is killed, or its power fails, at any moment of its writes (tests/fakes/disk)."""

import itertools
import os
import pathlib
import shutil
import signal
import time

import pytest

import disk_log
from daemon import wait_for
from recorded import read_line
from recorder_front import ALWAYS, DELETE, FRAME_NS, FPS, GROUP, KEEP, Front, Video, gstreamer_frames, with_disk

SECOND = 10**9
# How many of a film's operations are tried, evenly spread; it has some 110.
CUTS = int(os.environ.get("EDGED_CUTS", 25))
JPEG = b"\xff\xd8 a picture \xff\xd9"


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    video = Video(tmp_path_factory.mktemp("video"), 1000, size="160x120", bitrate="200k")
    video.known = {}  # how many pictures are in a clip of these bytes
    return video


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
    assert {clip["id"] for clip in clips} <= {read_line(line)["id"] for line in lines if line.endswith("}")}
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


def damage_the_head(data):
    at = data.index(b"moov")
    data[at:at + 8] = bytes(8)


def damage_the_first_fragment(data):
    at = data.index(b"moof")
    data[at + 8:at + 40] = bytes(32)


def cut_off_in_front_of_video(data):
    del data[data.index(b"moof") - 40:]


@pytest.mark.parametrize("harm", [damage_the_head, damage_the_first_fragment, cut_off_in_front_of_video])
def test_a_clip_whose_beginning_is_damaged_is_set_aside_and_one_without_video_goes(video, tmp_path, harm):
    folder = tmp_path / "clips"
    front = Front(folder)
    front.track(1, mode=ALWAYS)
    front.wait_ready()
    front.play(1, video, 0, 200, time.monotonic_ns() - 20 * SECOND)
    wait_for(lambda: whole_frames(b"".join(path.read_bytes() for path in folder.rglob("*.part"))) >= 150)
    front.kill()
    part, = folder.rglob("*.mp4.part")
    data = bytearray(part.read_bytes())
    harm(data)
    part.write_bytes(data)
    said = []
    for _ in range(2):
        with Front(folder) as front:
            front.wait_ready()
            assert front.list() == []
            said.append(front.end())
    aside = part.with_suffix(".damaged")
    if harm is cut_off_in_front_of_video:
        assert not [path for path in folder.rglob("*") if path.is_file() and path.name != "index.jsonl"]
    else:
        assert aside.read_bytes() == data and not part.exists()
    assert [text.count("beginning is damaged") for text in said] == [int(aside.exists()), 0]


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
    """In time as it passes, at any moment: 2 s of an event's clip, 6 s of `always`, unless a busy machine is late."""
    log = tmp_path / "log"
    with Front(tmp_path / "clips", environment=with_disk(log=log)) as front:
        front.track(1, "front", mode=ALWAYS)
        front.track(2, "back", before_s=1)
        front.wait_ready()
        moments = []  # how long the log was as each picture had come
        base = due = time.monotonic_ns()
        for i in range(12 * FPS):
            time.sleep(max(0, due - time.monotonic_ns()) / SECOND)
            due = max(due, time.monotonic_ns()) + FRAME_NS
            front.play(1, video, i, i + 1, base)
            front.play(2, video, i, i + 1, base)
            moments.append(log.stat().st_size)
            if i == 2 * FPS:
                front.event(2, base + i * FRAME_NS, base + i * FRAME_NS)
        written = log.read_bytes()
    disk, at, cost = disk_log.Disk(tmp_path), 0, {"front": [], "back": []}
    for count, size in enumerate(moments, 1):
        for operation in disk_log.parse(written[at:size]):
            disk.do(operation)
        at = size
        # The event's clip begins a second and its key frame before 2 s.
        for camera, first in ("front", 0), ("back", FPS):
            synced = sum(whole_frames(file.synced) for path, file in disk.files().items() if f"/{camera}/" in path)
            if count > 6 * FPS:
                cost[camera].append((count - first - synced) / FPS)
    for camera, most_s in ("front", 6), ("back", 2):
        *_, late_s = usual = sorted(cost[camera])[:len(cost[camera]) * 3 // 4]
        print(f"{camera}: {usual[len(usual) // 2]:.2f} s, {late_s:.2f} s in three of four moments, at most {max(cost[camera]):.2f} s")
        assert 0 <= usual[0] and late_s <= most_s, cost
