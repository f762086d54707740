"""edged-recorder on a disk that stalls, fails and fills (tests/fakes/disk), and in a folder whose files others
take away or put in its way."""

import contextlib
import errno
import itertools
import os
import pathlib
import shutil
import time

import pytest

import disk_log
from daemon import wait_for
from recorded import picture_lengths, read_line, start_recorder
from recorder_front import (
    ALWAYS, DELETE, FRAME_NS, FPS, GROUP, KEEP, START, UNKEEP, Front, Video, with_disk, write_clips,
)

SECOND = 10**9
JPEG = b"\xff\xd8 a picture \xff\xd9"
READY, STOPPED = 1, 2


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    return Video(tmp_path_factory.mktemp("video"), 1000, size="160x120", bitrate="200k")


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


def test_a_clip_that_is_wanted_while_the_disk_is_far_behind_has_its_beginning(tmp_path):
    control = tmp_path / "control"
    control.write_text("")
    big = Video(tmp_path, 250, size="640x480", bitrate="40000k")
    with Front(tmp_path / "clips", environment=with_disk(control=control)) as front:
        front.track(1, "front", mode=ALWAYS)
        front.track(2, "back", before_s=1)
        front.wait_ready()
        with stalled(control):
            base, now = time.monotonic_ns() - 400 * SECOND, time.monotonic_ns() - 10 * SECOND
            front.play(2, big, 0, 100, now)
            for turn in itertools.count():
                front.play(1, big, 250 * turn, 250 * (turn + 1), base)
                front.list()
                if front.state["lost_units"]:
                    break
            front.event(2, now + 75 * FRAME_NS, now + 75 * FRAME_NS)
            front.list()
        front.wait(lambda: front.state["waiting_bytes"] == 0, "that all is written")
        front.play(2, big, 100, 125, now)
        front.end()
        path, = front.files("back/**/*.mp4")
        assert big.frames_in(path) == list(range(50, 125))
        assert sum(picture_lengths(path)) == pytest.approx(75 / FPS, abs=1e-3)


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
        front.wait(lambda: len(front.list()) == len(front.files()) == 1, "that the others are gone")
        assert front.list()[0]["id"] == 500


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


def test_a_change_that_waits_while_the_folder_is_opened_again_is_followed_by_others(tmp_path):
    control, folder = tmp_path / "control", tmp_path / "clips"
    write_clips(folder, 1, size=100)
    with Front(folder, environment=with_disk(control=control)) as front:
        front.wait_ready()
        control.write_text(str(errno.ENOSPC))
        assert front.change(1, KEEP)["error"] == -errno.ENOSPC
        front.wait(lambda: front.state["state"] == STOPPED, "that it stopped")
        with stalled(control):
            front.wait(lambda: front.state["write_max_ns"] > SECOND // 2, "that it opens the folder")
            kept = front.ask("RECORD_CHANGE", "@IIQ", KEEP, 1)
            front.list()  # so it has heard of the change
        assert front.done(kept)["error"] == 0
        assert front.change(1, DELETE)["error"] == 0
        assert front.files("*.mp4*") == []


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
    # It holds on to nothing in a folder whose disk fails, so that it can be unmounted. /proc shows that to root alone.
    if error == errno.EIO and os.geteuid() == 0:
        wait_for(lambda: not files_in_use(front.process.pid, tmp_path / "clips"))
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


def test_a_signal_that_is_refused_costs_an_event_nothing_of_its_beginning(video, tmp_path):
    control = tmp_path / "control"
    control.write_text("")
    base = time.monotonic_ns() - 40 * SECOND
    with Front(tmp_path / "clips", environment=with_disk(control=control)) as front:
        front.track(1, before_s=1)
        front.wait_ready()
        front.play(1, video, 0, 100, base)
        control.write_text(str(errno.ENOSPC))
        front.event(1, base + 75 * FRAME_NS, base + 75 * FRAME_NS)
        front.wait(lambda: front.state["state"] == STOPPED, "that it stopped")
        assert front.trigger(1, START)["error"] == -errno.EAGAIN
        control.write_text("")
        front.wait(lambda: front.state["state"] == READY, "that it goes on")
        front.play(1, video, 100, 125, base)
        front.end()
        path, = front.files()
        assert video.frames_in(path) == list(range(50, 125))


@pytest.mark.parametrize("way", ["hang-up", "SIGTERM"])
def test_a_recorder_that_is_to_end_while_the_disk_fails_ends_in_order(video, tmp_path, way):
    """Memory that was freed is overwritten at once, so that whoever still used it would crash."""
    control = tmp_path / "control"
    control.write_text("")
    environment = {**with_disk(control=control), "G_SLICE": "always-malloc", "MALLOC_PERTURB_": "165"}
    front = Front(tmp_path / "clips", environment=environment)
    front.wait_ready()
    base = time.monotonic_ns() - 3 * SECOND
    for view in (1, 2, 3):
        front.track(view, f"camera{view}", mode=ALWAYS)
        front.play(view, video, 0, 50, base)
    front.wait(lambda: front.state["written_bytes"] > 10000, "that it writes")
    control.write_text(str(errno.ENOSPC))
    if way == "SIGTERM":
        front.process.terminate()
    said = front.end()
    assert said.count("nothing is recorded") <= 1
    front = Front(tmp_path / "clips")
    front.wait_ready()
    assert len(front.list()) == 3
    front.end()


def test_a_disk_that_is_full_at_the_first_start_is_used_once_there_is_room(video, tmp_path):
    control = tmp_path / "control"
    control.write_text(str(errno.ENOSPC))
    with Front(tmp_path / "clips", environment=with_disk(control=control)) as front:
        front.wait(lambda: front.state and front.state["state"] == STOPPED, "that it stopped")
        control.write_text("")
        front.wait(lambda: front.state["state"] == READY, "that it goes on")
        front.track(1, mode=ALWAYS)
        front.play(1, video, 0, 100, time.monotonic_ns() - 10 * SECOND)
        said = front.end()
    assert "another folder" not in said
    assert len(front.files()) == 1 and (tmp_path / "clips/index.jsonl").is_file()


def stop_and_go(front, control, between):
    """The disk fails once; between() is called before it is there again."""
    control.write_text(str(errno.EIO))
    front.wait(lambda: front.state["state"] == STOPPED, "that it stopped")
    between()
    control.write_text("")


def test_a_folder_that_lost_its_index_is_the_same_and_one_with_another_is_not(video, tmp_path):
    control, folder = tmp_path / "control", tmp_path / "clips"
    control.write_text("")
    with Front(folder, environment=with_disk(control=control)) as front:
        front.track(1, mode=ALWAYS, max_clip_s=2)
        front.wait_ready()
        base = time.monotonic_ns() - 30 * SECOND
        front.play(1, video, 0, 150, base)
        front.wait_closed(1)
        stop_and_go(front, control, (folder / "index.jsonl").unlink)
        front.wait(lambda: front.state["state"] == READY, "that it goes on")
        assert front.list() and (folder / "index.jsonl").is_file()
        ids = [clip["id"] for clip in front.list()]
        front.play(1, video, 150, 250, base)

        def swap():
            folder.rename(tmp_path / "unmounted")
            folder.mkdir()
            write_clips(folder, 1)
        stop_and_go(front, control, swap)
        front.wait(lambda: "another folder" in front.state["sentence"], "that it refuses the folder")
        shutil.rmtree(folder)
        (tmp_path / "unmounted").rename(folder)
        front.wait(lambda: front.state["state"] == READY, "that it goes on")
        assert {clip["id"] for clip in front.list()} >= set(ids)


def delete_folder(folder):
    wait_for(lambda: shutil.rmtree(folder, ignore_errors=True) or not folder.exists())


def rename_folder(folder):
    folder.rename(folder.with_name("renamed"))


def replace_folder(folder):
    rename_folder(folder)
    folder.mkdir()


def play_until(front, video, condition):
    """Plays pictures as they come into the open clip, and yields; then until the condition holds, and yields the
    number of the last one."""
    base = time.monotonic_ns() - 75 * FRAME_NS
    front.play(1, video, 0, 75, base)
    front.wait(lambda: front.files("*.mp4.part"), "an open clip")
    yield
    end = 75

    def look():
        nonlocal end
        front.list()  # reads what the recorder tells
        begin, end = end, (time.monotonic_ns() - base) // FRAME_NS
        front.play(1, video, begin, end, base)
        return end > begin and condition()

    wait_for(look)
    yield (end - 1) % len(video.units)


@pytest.mark.parametrize("harm", [delete_folder, rename_folder, replace_folder])
def test_a_folder_that_somebody_took_away_is_made_again(video, tmp_path, harm):
    """At once, and not when the open clip ends."""
    index = tmp_path / "clips/index.jsonl"
    with Front(tmp_path / "clips") as front:
        front.track(1, mode=ALWAYS, before_s=0)
        front.wait_ready()
        playing = play_until(front, video, lambda: index.is_file() and front.files("*.mp4.part"))
        next(playing)
        harm(front.folder)
        last = next(playing)
        assert "nothing is recorded" in front.end()
        path, = front.files()
        assert video.frames_in(path)[-1] == last
        if harm is not delete_folder:
            path, = (tmp_path / "renamed").rglob("*.mp4")
            assert video.frames_in(path)[:75] == list(range(75))


def test_another_clip_begins_where_somebody_deleted_the_open_one(video, tmp_path):
    with Front(tmp_path / "clips") as front:
        front.track(1, mode=ALWAYS)
        front.wait_ready()
        playing = play_until(front, video, lambda: [clip for clip in front.list() if clip["id"] == 2])
        next(playing)
        delete_folder(front.folder / "front")
        last = next(playing)
        said = front.end()
        path, = front.files()
        assert video.frames_in(path)[-1] == last
        assert "cannot write clips of front/plain" in said and "nothing is recorded" not in said


def event_clip(front, video, view, base, first, number=1, frames=50):
    """Plays a clip of an event, and what ends it."""
    at = base + first * FRAME_NS
    front.play(view, video, first, first + frames // 2, base)
    front.event(view, at, at + frames // 4 * FRAME_NS, number=number)
    front.event(view, at, at + frames // 4 * FRAME_NS, ended=True, number=number)
    front.play(view, video, first + frames // 2, first + frames, base)


def put_a_link_for_the_index(folder):
    (folder / "index.jsonl").unlink()
    (folder / "index.jsonl").symlink_to("/etc/hostname")


def put_a_folder_for_the_index(folder):
    (folder / "index.jsonl").unlink()
    (folder / "index.jsonl").mkdir()


def put_a_folder_for_the_next_index(folder):
    (folder / "index.jsonl").unlink()
    (folder / "index.jsonl.part").mkdir()


@pytest.mark.parametrize("harm", [put_a_link_for_the_index, put_a_folder_for_the_index,
                                  put_a_folder_for_the_next_index])
def test_an_index_that_cannot_be_written_stops_nothing_and_is_named(video, tmp_path, harm):
    folder = tmp_path / "clips"
    with Front(folder) as front:
        front.track(1, before_s=0, after_s=0)
        front.wait_ready()
        event_clip(front, video, 1, time.monotonic_ns() - 90 * SECOND, 0)
        front.wait_closed(1)
    harm(folder)
    for clips in (2, 3):
        with Front(folder) as front:
            front.track(1, before_s=0, after_s=0)
            front.wait_ready()
            event_clip(front, video, 1, time.monotonic_ns() - 60 * SECOND, 0)
            front.wait_closed(1)
            assert len(front.list()) == clips
            said = front.end()
            # A link is named once, as the index that is written takes its place.
            assert ("index.jsonl" in said) == (harm is not put_a_link_for_the_index or clips == 2)
    assert pathlib.Path("/etc/hostname").is_file() and not (folder / "index.jsonl").is_symlink()


def test_the_file_of_one_clip_that_is_gone_costs_the_others_nothing(video, tmp_path):
    with Front(tmp_path / "clips") as front:
        front.track(1, "old", before_s=0, after_s=0)
        front.track(2, "running", mode=ALWAYS)
        front.wait_ready()
        base = time.monotonic_ns() - 60 * SECOND
        event_clip(front, video, 1, base, 0)
        front.play(2, video, 0, 100, base)
        gone, = front.wait_closed(1)
        for path in front.files("old/**/*.mp4"):
            path.unlink()
        assert front.change(gone["id"], KEEP)["error"] == -errno.ENOENT
        front.play(2, video, 100, 200, base)
        assert [clip["camera"] for clip in front.list()] == ["running"]
        assert front.state["state"] == READY
        said = front.end()
        assert said.count("clip 1 of old/plain") == 1 and "nothing is recorded" not in said
        path, = front.files()
        assert video.frames_in(path) == list(range(200))


def test_something_in_the_way_of_a_kept_clip_is_left_alone(video, tmp_path):
    with Front(tmp_path / "clips") as front:
        front.track(1, before_s=0, after_s=0)
        front.wait_ready()
        event_clip(front, video, 1, time.monotonic_ns() - 60 * SECOND, 0)
        clip, = front.wait_closed(1)
        path, = front.files()
        foreign = path.with_name(path.name.replace(".mp4", ".keep.mp4"))
        foreign.write_text("somebody's")
        answer = front.change(clip["id"], KEEP)
        assert answer["error"] == -errno.EEXIST and "another file" in answer["sentence"]
        found, = front.list()
        assert not found["is_kept"] and front.state["state"] == READY
        assert foreign.read_text() == "somebody's" and video.frames_in(path) == list(range(25))
        foreign.unlink()
        assert front.change(clip["id"], KEEP)["error"] == 0 and front.list()[0]["is_kept"]


def test_a_camera_whose_folder_is_no_folder_costs_the_others_nothing(video, tmp_path):
    folder = tmp_path / "clips"
    with Front(folder) as front:
        front.wait_ready()
        (folder / "bad").write_text("somebody's")
        base = time.monotonic_ns() - 60 * SECOND
        for view, camera in (1, "bad"), (2, "good"):
            front.track(view, camera, mode=ALWAYS)
            front.play(view, video, 0, 100, base)
        front.wait(lambda: "bad/plain" in front.state["sentence"], "which view fails")
        assert front.state["state"] == READY and front.state["lost_clips"] >= 1
        (folder / "bad").unlink()
        end = time.monotonic() + 30
        for first in itertools.count(100, 25):  # as long as it pauses
            for view in (1, 2):
                front.play(view, video, first, first + 25, base)
            front.list()
            if not front.state["sentence"] or time.monotonic() > end:
                break
            time.sleep(0.5)
        said = front.end()
        assert said.count("cannot write clips of bad/plain") == said.count("can be written again") == 1
        good, = front.files("good/**/*.mp4")
        assert video.frames_in(good) == [i % 1000 for i in range(first + 25)]
        assert front.files("bad/**/*.mp4")


def test_what_could_not_be_written_of_a_view_is_not_said_once_it_is_gone(video, tmp_path):
    folder = tmp_path / "clips"
    with Front(folder) as front:
        front.wait_ready()
        (folder / "bad").write_text("somebody's")
        front.track(1, "bad", mode=ALWAYS)
        front.play(1, video, 0, 100, time.monotonic_ns() - 60 * SECOND)
        front.wait(lambda: "bad/plain" in front.state["sentence"], "which view fails")
        front.send("RECORD_TRACK_END", view=1)
        front.wait(lambda: not front.state["sentence"], "that nothing fails any more")
        said = front.end()
        assert said.count("cannot write clips of bad/plain") == 1 and "can be written again" not in said


def test_kept_clips_that_leave_no_room_are_named_as_the_cause(video, tmp_path):
    with Front(tmp_path / "clips", max_bytes=300_000) as front:
        front.track(1, before_s=0, after_s=0)
        front.wait_ready()
        base = time.monotonic_ns() - 500 * SECOND
        for number in itertools.count():
            event_clip(front, video, 1, base, 100 * number, number + 1)
            clip = front.wait_closed(number + 1)[-1]
            if front.change(clip["id"], KEEP)["error"]:  # it is deleted
                break
        front.wait(lambda: "kept" in front.state["sentence"], "why clips are deleted")
        front.wait(lambda: front.state["deleted_clips"] == 1, "that the clip is deleted")
        assert front.state["lost_clips"] == 1
        assert 0 < front.state["kept_bytes"] <= 300_000
        assert front.change(1, UNKEEP)["error"] == 0
        event_clip(front, video, 1, base, 100 * (number + 1), number + 2)
        front.wait(lambda: len(front.clips) == number + 2 and not front.state["sentence"], "that there is room")
        said = front.end()
        assert said.count("leave no room") == 1


def test_the_index_has_at_most_twice_the_lines_that_it_needs(video, tmp_path):
    folder = tmp_path / "clips"
    with Front(folder, max_bytes=100_000) as front:
        front.track(1, before_s=0, after_s=0)
        front.wait_ready()
        base = time.monotonic_ns() - 400 * SECOND
        for number in range(60):
            event_clip(front, video, 1, base, 100 * number, number + 1)
        front.wait_closed(60)
        front.wait(lambda: front.state["deleted_clips"] > 50 and front.state["clip_bytes"] <= 100_000, "deletions")
        clips = front.list()
        assert wait_for(lambda: len((folder / "index.jsonl").read_text().splitlines()) <= 2 * (1 + len(clips)))
        syncs = front.state["syncs"]
    ids = {read_line(line)["id"] for line in (folder / "index.jsonl").read_text().splitlines()[1:]}
    assert {clip["id"] for clip in clips} <= ids
    assert syncs < 60 * 8
    with Front(folder) as front:
        front.wait_ready()
        assert front.list() == clips


def test_a_clip_is_shown_as_kept_once_that_is_on_the_disk(tmp_path):
    control, folder = tmp_path / "control", tmp_path / "clips"
    write_clips(folder, 1, size=100)
    with Front(folder, environment=with_disk(control=control)) as front:
        front.wait_ready()
        with stalled(control):
            asked = front.ask("RECORD_CHANGE", "@IIQ", KEEP, 1)
            assert not front.list()[0]["is_kept"]
        assert front.done(asked)["error"] == 0 and front.list()[0]["is_kept"]


def test_a_picture_behind_a_delete_leaves_nothing(video, tmp_path):
    control, folder = tmp_path / "control", tmp_path / "clips"
    with Front(folder, environment=with_disk(control=control)) as front:
        front.track(1, before_s=0, after_s=0)
        front.wait_ready()
        event_clip(front, video, 1, time.monotonic_ns() - 60 * SECOND, 0)
        clip, = front.wait_closed(1)
        with stalled(control):
            asked = front.ask("RECORD_CHANGE", "@IIQ", DELETE, clip["id"])
            front.picture(1, time.monotonic_ns() - 59 * SECOND, JPEG)
            front.list()
        assert front.done(asked)["error"] == 0
        front.end()
    assert [path.name for path in folder.iterdir()] == ["index.jsonl"]


def test_names_are_safe_before_anybody_hears_of_them(video, tmp_path):
    """Of a clip that has ended, of one that is kept, and of the folder's mark."""
    log = tmp_path / "log"

    def unsafe():
        disk = disk_log.Disk(tmp_path)
        for operation in disk_log.read(log):
            disk.do(operation)
        return [change for change in disk.changes if not any(".edged-recorder" in path for path in change)]

    with Front(tmp_path / "clips", environment=with_disk(log=log)) as front:
        front.track(1, before_s=0, after_s=0)
        front.wait_ready()
        assert not unsafe()
        event_clip(front, video, 1, time.monotonic_ns() - 60 * SECOND, 0)
        clip, = front.wait_closed(1)
        assert not unsafe()
        assert front.change(clip["id"], KEEP)["error"] == 0
        assert not unsafe()
