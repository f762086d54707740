"""edged-recorder, fed by a front that is a test: what clips have in them, how they are found, what
becomes of them."""

import errno
import os
import re
import shutil
import subprocess
import time

import pytest

import ffmpeg
from daemon import PATIENCE_S
from mp4_table import read_table
from recorded import picture_lengths, read_line, start_recorder
from recorder_front import ALWAYS, DELETE, FPS, FRAME_NS, GROUP, KEEP, START, STOP, UNKEEP, Front, Video

SECOND = 10**9
JPEG = b"\xff\xd8 a picture \xff\xd9"


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    return Video(tmp_path_factory.mktemp("video"), 1000)


def past(seconds):
    return time.monotonic_ns() - int(seconds * SECOND)


def wait_written(front, count):
    """Until the disk has so many bytes of video."""
    front.wait(lambda: front.state["written_bytes"] > count and not front.state["waiting_bytes"], "that it is written")


def test_a_clip_has_what_was_before_the_event_from_a_key_frame_on(tmp_path, video):
    base = past(40)
    with Front(tmp_path / "clips") as front:
        front.track(7, before_s=4, after_s=2)
        front.wait_ready()
        front.play(7, video, 0, 260, base)
        started = base + 250 * FRAME_NS
        front.event(7, started, base + 255 * FRAME_NS)
        front.play(7, video, 260, 400, base)
        front.event(7, started, base + 350 * FRAME_NS, ended=True, peak=0.5)
        front.picture(7, base + 300 * FRAME_NS, JPEG)
        front.play(7, video, 400, 500, base)
        clip, = front.wait_closed(1)
        path, = front.files()
        frames = video.frames_in(path)
        # 4 s before picture 250 is 150, which is a key frame; 2 s behind 350 is 400.
        assert frames == list(range(150, 400))
        assert clip["regions"] == ["door"] and clip["event"] == 1 and clip["peak"] == 0.5
        assert clip["asked_wall_ns"] == clip["start_wall_ns"] and clip["gap_ns"] == 0
        assert clip["end_wall_ns"] - clip["start_wall_ns"] == 250 * FRAME_NS
        assert clip["bytes"] == path.stat().st_size
        front.wait(lambda: front.find(clip["id"])[0]["picture_bytes"], "its picture")
        assert front.read(clip["id"], still=True) == (JPEG, len(JPEG))
        assert front.read(clip["id"], offset=4, size=4) == (b"ftyp", clip["bytes"])
        assert front.find(clip["id"] + 1) == [] and front.read(clip["id"] + 1) == -2
        assert front.change(clip["id"], KEEP)["error"] == 0
        assert [path.name for path in front.files()] == [path.name.replace(".mp4", ".keep.mp4")]
        assert front.change(clip["id"], DELETE)["error"] == 0
        assert front.list() == [] and [path.name for path in front.folder.iterdir()] == ["index.jsonl"]


def test_a_clip_that_ends_within_a_group_of_pictures_has_lost_none_of_it(tmp_path, video):
    """Also when the rest of the group is forgotten, 5 s and what was wanted before an event later."""
    base = past(40)
    with Front(tmp_path / "clips") as front:
        front.track(1, before_s=1, after_s=1)
        front.wait_ready()
        front.play(1, video, 0, 100, base)
        front.event(1, base + 90 * FRAME_NS, base + 90 * FRAME_NS)
        front.play(1, video, 100, 120, base)
        front.event(1, base + 90 * FRAME_NS, base + 112 * FRAME_NS, ended=True)
        front.play(1, video, 120, 500, base)
        front.wait_closed(1)
        front.list()
        told = front.state["running_ns"]
        front.wait(lambda: front.state["running_ns"] > told, "how it is after all of that")
        path, = front.files()
        assert video.frames_in(path) == list(range(50, 137)) and front.state["lost_units"] == 0


def test_always_is_cut_at_key_frames_and_loses_nothing(tmp_path, video):
    base = past(40)
    with Front(tmp_path / "clips") as front:
        front.track(1, mode=ALWAYS, max_clip_s=10)
        front.wait_ready()
        front.play(1, video, 0, 1000, base)
        front.wait_closed(3)
        front.end()
        assert [video.frames_in(path) for path in front.files()] == [
            list(range(begin, begin + 250)) for begin in (0, 250, 500, 750)]


@pytest.mark.parametrize("slate", [True, False], ids=["no-signal", "lost"])
def test_a_gap_stays_in_the_clip_of_what_is_wanted_and_what_is_lost_is_counted(tmp_path, video, slate):
    """Without pictures there is a gap up to the next key frame, the 175th, also if a single unit is lost."""
    base = past(40)
    with Front(tmp_path / "clips") as front:
        front.track(1, "all", mode=ALWAYS)
        front.track(2, "event", before_s=1, after_s=1)
        front.track(3, "asked", before_s=1)
        front.wait_ready()
        for view in (1, 2, 3):
            front.play(view, video, 0, 100, base)
        front.event(2, base + 75 * FRAME_NS, base + 95 * FRAME_NS)
        assert front.trigger(3, START)["error"] == 0
        for view in (1, 2, 3):
            front.play(view, video, 100, 160, base)
            if slate:
                front.unit(view, 0, base + 160 * FRAME_NS, video.units[0], True, slate=True)
            front.play(view, video, 160 if slate else 161, 250, base)
        front.event(2, base + 75 * FRAME_NS, base + 225 * FRAME_NS, ended=True)
        front.trigger(3, STOP)
        front.wait(lambda: front.state["lost_units"] == 3 * 15, "what is lost")
        front.end()
        for camera, frames in {"all": [*range(160), *range(175, 250)], "asked": [*range(75, 160), *range(175, 250)],
                               "event": [*range(50, 160), *range(175, 250)]}.items():
            path, = front.files(f"{camera}/**/*.mp4")
            assert video.frames_in(path) == frames, camera
            assert max(picture_lengths(path)) == pytest.approx(16 / FPS, abs=1e-4)
        for line in (front.folder / "index.jsonl").read_text().splitlines()[1:]:
            assert read_line(line)["gap_ns"] == 15 * FRAME_NS


def test_no_signal_ends_the_clip_of_an_event_that_is_over(tmp_path, video):
    base = past(2)
    with Front(tmp_path / "clips") as front:
        front.track(1, before_s=1, after_s=1)
        front.wait_ready()
        front.play(1, video, 0, 50, base)
        front.event(1, base + SECOND, base + SECOND)
        front.wait(lambda: front.clips, "a clip")
        front.event(1, base + SECOND, base + 2 * SECOND, ended=True)

        def closed():
            front.unit(1, 0, time.monotonic_ns(), video.units[0], True, slate=True)
            return not front.clips[1]["is_open"]

        front.wait(closed, "that it is closed")
        path, = front.files()
        assert video.frames_in(path) == list(range(50))


def test_pictures_of_an_event_that_come_in_a_burst_after_its_end_are_in_its_clip(tmp_path, video):
    base = past(4)
    with Front(tmp_path / "clips") as front:
        front.track(1, before_s=1, after_s=2.4)
        front.wait_ready()
        front.play(1, video, 0, 100, base)
        front.event(1, base + 2 * SECOND, base + 2 * SECOND)
        front.event(1, base + 2 * SECOND, base + 7 * SECOND // 2, ended=True)
        # After 2 s of silence, when the time of the clip is over, the recorder writes all that it has.
        wait_written(front, sum(map(len, video.units[25:100])))
        front.play(1, video, 100, 165, base)
        front.wait_closed(1)
        front.end()
        path, = front.files()
        assert video.frames_in(path) == list(range(25, 148))


def test_a_recorder_that_is_new_goes_on_with_what_is_wanted(tmp_path, video):
    base, folder = past(40), tmp_path / "clips"

    def connect(front):
        front.track(1, "event", before_s=1)
        front.track(2, "asked", before_s=1)
        front.wait_ready()
        front.event(1, base + 25 * FRAME_NS, base + 25 * FRAME_NS)
        front.want(2, asked_until_ns=time.monotonic_ns() + 60 * SECOND, asked_by=1)

    front = Front(folder)
    connect(front)
    for view in (1, 2):
        front.play(view, video, 0, 150, base)
    front.wait(lambda: len(front.list()) == 2 and front.state["written_bytes"] and not front.state["waiting_bytes"],
               "two clips")
    front.kill()
    with Front(folder) as front:
        connect(front)
        for view in (1, 2):
            front.play(view, video, 200, 300, base)
        front.wait(lambda: len(front.list()) == 4, "two more clips")
        front.end()
        for camera in ("event", "asked"):
            assert [video.frames_in(path) for path in front.files(f"{camera}/**/*.mp4")] == [
                list(range(125)), list(range(200, 300))]


def test_a_refused_signal_records_nothing_afterwards(tmp_path, video):
    with Front(tmp_path / "clips") as front:
        front.track(1)
        front.wait_ready()
        assert front.trigger(1, START, duration_s=60)["error"] == -errno.EAGAIN  # there is no picture yet
        base = past(10)
        front.play(1, video, 0, 50, base)
        assert front.trigger(1, START, duration_s=60, waited_s=5)["error"] == -errno.ETIMEDOUT
        front.play(1, video, 50, 100, base)
        assert front.list() == []
        assert front.trigger(1, START, duration_s=60)["error"] == 0


def test_a_state_that_was_on_its_way_does_not_undo_a_signal(tmp_path, video):
    base = past(10)
    with Front(tmp_path / "clips") as front:
        front.track(1)
        front.wait_ready()
        front.play(1, video, 0, 50, base)
        clip = front.trigger(1, START)["id"]
        front.want(1)
        front.play(1, video, 50, 100, base)
        assert front.find(clip)[0]["is_open"]
        front.want(1, asked_by=front.request + 1)  # of one that is newer
        front.play(1, video, 100, 150, base)
        front.wait_closed(1)


@pytest.mark.parametrize("slate", [True, False], ids=["no-signal", "reopened"])
def test_a_gap_in_what_was_before_an_event_is_named(tmp_path, video, slate):
    base, gap = past(40), 50 * FRAME_NS
    with Front(tmp_path / "clips") as front:
        front.track(1, before_s=5, after_s=1)
        front.wait_ready()
        front.play(1, video, 0, 100, base)
        if slate:
            front.unit(1, 101, base + 100 * FRAME_NS, video.units[0], True, slate=True)
        front.play(1, video, 100, 150, base + gap)
        at = base + 150 * FRAME_NS + gap
        front.event(1, at, at)
        front.event(1, at, at, ended=True)
        front.play(1, video, 150, 200, base + gap)
        clip, = front.wait_closed(1)
        path, = front.files()
        assert video.frames_in(path) == list(range(75, 175)) and clip["gap_ns"] == gap
        assert clip["end_wall_ns"] - clip["start_wall_ns"] == 100 * FRAME_NS + gap


def test_the_last_picture_lasts_as_long_as_those_before_the_gap(tmp_path, video):
    base = past(40)
    with Front(tmp_path / "clips") as front:
        front.track(1, mode=ALWAYS)
        front.wait_ready()
        front.play(1, video, 0, 75, base)
        front.play(1, video, 75, 76, base + 5 * SECOND)
        front.end()
        path, = front.files()
        assert sum(picture_lengths(path)) == pytest.approx(76 / FPS + 5, abs=1e-3)


def test_a_clip_tells_when_motion_began_and_ended_in_it(tmp_path, video):
    """Of all regions together; of two clips the part that each of them shows."""
    base = past(60)

    def at(frame):
        return base + frame * FRAME_NS

    with Front(tmp_path / "clips") as front:
        front.track(1, mode=ALWAYS, max_clip_s=10)
        front.wait_ready()
        front.play(1, video, 0, 60, base)
        front.event(1, at(50), at(52))
        front.play(1, video, 60, 100, base)
        front.event(1, at(70), at(75), region="yard", number=7)
        front.event(1, at(50), at(90), ended=True)
        front.play(1, video, 100, 130, base)
        front.event(1, at(70), at(120), region="yard", number=7, ended=True)
        front.play(1, video, 130, 240, base)
        front.event(1, at(230), at(235), number=2)  # goes on into the next clip
        front.play(1, video, 240, 300, base)
        front.event(1, at(230), at(280), number=2, ended=True)
        front.play(1, video, 300, 510, base)
        first, second = front.wait_closed(2)
        assert first["regions"] == ["door", "yard"] and second["regions"] == ["door"]
        assert first["motion_wall_ns"] - first["start_wall_ns"] == pytest.approx(50 * FRAME_NS, abs=SECOND / 100)
        assert first["motion_end_wall_ns"] == 0, "it goes on"
        assert second["motion_wall_ns"] == second["start_wall_ns"]
        assert second["motion_end_wall_ns"] - second["start_wall_ns"] == pytest.approx(30 * FRAME_NS, abs=SECOND / 100)
        third = next(clip for clip in front.list() if clip["is_open"])
        assert third["motion_wall_ns"] == third["motion_end_wall_ns"] == 0
    with Front(tmp_path / "clips") as front:
        front.wait_ready()
        assert [clip["motion_wall_ns"] for clip in front.list()][-2:] == [second["motion_wall_ns"], first["motion_wall_ns"]]


def test_the_end_of_motion_is_that_of_the_last_region(tmp_path, video):
    base = past(60)
    with Front(tmp_path / "clips") as front:
        front.track(1, before_s=1, after_s=1)
        front.wait_ready()
        front.play(1, video, 0, 60, base)
        for region, started in (("door", 50), ("yard", 55)):
            front.event(1, base + started * FRAME_NS, base + started * FRAME_NS, region=region)
        front.play(1, video, 60, 95, base)
        front.event(1, base + 55 * FRAME_NS, base + 70 * FRAME_NS, region="yard", ended=True)
        front.event(1, base + 50 * FRAME_NS, base + 90 * FRAME_NS, region="door", ended=True)
        front.play(1, video, 95, 200, base)
        clip, = front.wait_closed(1)
        assert clip["motion_end_wall_ns"] - clip["motion_wall_ns"] == pytest.approx(40 * FRAME_NS, abs=SECOND / 100)


def fill(front, video, base, clips=4):
    """Clips of 4 s, each of an event, in one go."""
    front.track(1, before_s=1, after_s=1)
    front.wait_ready()
    for i in range(clips):
        at = base + (200 * i + 100) * FRAME_NS
        front.play(1, video, 200 * i, 200 * i + 110, base)
        front.event(1, at, at, number=i + 1, region=f"door-{i}", peak=0.125 * (i + 1))
        front.play(1, video, 200 * i + 110, 200 * i + 150, base)
        front.event(1, at, base + (200 * i + 125) * FRAME_NS, ended=True, number=i + 1,
                    region=f"door-{i}", peak=0.125 * (i + 1))
        front.play(1, video, 200 * i + 150, 200 * i + 200, base)
    return front.wait_closed(clips)


def test_a_lost_or_broken_index_is_made_again(tmp_path, video):
    folder = tmp_path / "clips"
    with Front(folder) as front:
        before = fill(front, video, past(40))
        front.picture(1, past(0), JPEG)
        assert front.change(before[1]["id"], KEEP)["error"] == 0
        assert front.change(before[3]["id"], DELETE)["error"] == 0
        before = front.list()
        assert len(before) == 3
    index = folder / "index.jsonl"
    text = index.read_text()
    assert len(text.splitlines()) == 1 + 4
    for broken in (text, None, "", "{}\n" * 10, text[:-30], text.replace("camera", "cam"),
                   text.replace('"front"', '"../front"'), "\0" * 3000,
                   *(re.sub('"bytes":[0-9]+', f'"bytes":{lie}', text) for lie in (0, 1, 2**63, 2**64 - 1))):
        if broken is None:
            index.unlink()
        else:
            index.write_text(broken)
        with Front(folder) as front:
            front.wait_ready()
            assert front.list() == before
    # An id is not given again although the clip that had it is gone.
    index.write_text(text)
    with Front(folder) as front:
        assert fill(front, video, past(40), 1)[0]["id"] == before[0]["id"] + 2


def nest_an_index(folder, clip):
    (folder / "index.jsonl").write_text('{"folder":"' + "a" * 36 + '","next_id":9}\n' + "[" * 10**6 + "\n")


def end_the_ids(folder, clip):
    (folder / "index.jsonl").write_text('{"folder":"' + "a" * 36 + f'","next_id":{2**64 - 1}}}\n')


def put_a_pipe(folder, clip):
    (folder / "index.jsonl").unlink()
    os.mkfifo(folder / "index.jsonl")


def put_a_link(folder, clip):
    (clip.parent / "000000.000Z-event-99.mp4.part").symlink_to("/etc/hostname")


def put_a_folder(folder, clip):
    (clip.parent / "000000.000Z-event-99.mp4.part").mkdir()


def take_the_last_id(folder, clip):
    (clip.parent / f"000000.000Z-event-{2**53}.mp4.part").touch()


def number_too_high(folder, clip):
    shutil.copy(clip, clip.parent / f"000000.000Z-event-{2**64 - 2}.mp4")


@pytest.mark.parametrize("harm", [nest_an_index, end_the_ids, put_a_pipe, put_a_link, put_a_folder, take_the_last_id,
                                  number_too_high])
def test_what_somebody_put_into_the_folder_stops_nothing(tmp_path, video, harm):
    folder = tmp_path / "clips"
    with Front(folder) as front:
        fill(front, video, past(200), clips=1)
        before = front.list()
        path, = front.files()
    harm(folder, path)
    with Front(folder) as front:
        front.track(1)
        front.wait_ready()
        assert front.list() == before
        fill(front, video, past(100), clips=1)
        before = front.list()
        assert len(before) == 2
    with Front(folder) as front:
        front.wait_ready()
        assert front.list() == before


@pytest.mark.parametrize(("put", "name"), [
    (lambda path: path.symlink_to("/etc/hostname"), "a link"), (lambda path: path.mkdir(), "a folder")])
def test_an_index_that_is_a_link_or_a_folder_is_named(tmp_path, video, put, name):
    folder = tmp_path / "clips"
    with Front(folder) as front:
        fill(front, video, past(200), clips=1)
        before = front.list()
    (folder / "index.jsonl").unlink()
    put(folder / "index.jsonl")
    front = Front(folder)
    front.track(1)
    front.wait_ready()
    assert front.list() == before
    assert f"index.jsonl of the clips is {name} and no list of them, reading all clips instead" in front.end()


def test_of_a_copied_clip_the_one_in_the_index_counts_and_the_copy_is_left_alone(tmp_path, video):
    folder = tmp_path / "clips"
    with Front(folder) as front:
        fill(front, video, past(200), clips=1)
        clip, = front.list()
        assert front.change(clip["id"], KEEP)["error"] == 0
        path, = front.files()
    copy = folder / "another" / path.relative_to(folder / "front")
    copy.parent.mkdir(parents=True)
    shutil.copy(path, copy)
    with Front(folder) as front:
        front.track(1)
        front.wait_ready()
        assert [one["camera"] for one in front.list()] == ["front"]
        assert front.change(clip["id"], DELETE)["error"] == 0
        assert not path.exists() and copy.exists()


def test_a_killed_recorder_loses_seconds_and_what_it_has_is_made_whole(tmp_path, video):
    folder = tmp_path / "clips"
    front = Front(folder)
    front.track(1, mode=ALWAYS)
    front.track(2, "back", before_s=1, max_clip_s=60)
    front.track(3, "side", before_s=1)
    front.wait_ready()
    base = past(20)
    for view in (1, 2):
        front.play(view, video, 0, 110, base)
    front.event(2, base + 100 * FRAME_NS, base + 100 * FRAME_NS)
    for view in (1, 2):
        front.play(view, video, 110, 460, base)
    wait_written(front, 1_000_000)
    front.kill()
    assert len(front.files("*.part")) == 2 and not front.files()
    part = front.files("back/**/*.part")[0]
    empty = part.with_name(part.name.replace("event-2", "event-9"))
    empty.write_bytes(part.read_bytes()[:3000])
    with Front(folder) as front:
        front.wait_ready()
        clips = {clip["camera"]: clip for clip in front.list()}
        assert sorted(clips) == ["back", "front"] and not front.files("*.part")
        for camera, first in ("front", 0), ("back", 75):
            path, = front.files(f"{camera}/**/*.mp4")
            frames = video.frames_in(path)
            # All groups that were over; the last one as well if it was so long until the end that it was written by itself.
            assert frames == list(range(first, first + len(frames))) and frames[-1] + 1 in (450, 460)
            assert clips[camera]["bytes"] == path.stat().st_size
            assert clips[camera]["end_wall_ns"] - clips[camera]["start_wall_ns"] == len(frames) * FRAME_NS
        assert clips["back"]["regions"] == ["door"]


@pytest.mark.parametrize("end", [Front.end, Front.kill])
def test_a_picture_every_three_seconds_or_so_loses_none_and_leaves_no_gap(tmp_path, video, end):
    """Each is written before the next one has come, which comes now sooner and now later than the one before."""
    folder, base = tmp_path / "clips", past(60)
    at = [base, base + 3 * SECOND, base + 6 * SECOND - SECOND // 5, base + 9 * SECOND, base + 12 * SECOND]
    front = Front(folder)
    front.track(1, mode=ALWAYS)
    front.wait_ready()
    front.unit(1, 1, at[0], video.units[0], True)
    front.unit(1, 2, at[1], video.units[1])
    wait_written(front, len(video.units[0] + video.units[1]))
    for i in range(2, 5):
        before = front.state["written_bytes"]
        front.unit(1, i + 1, at[i], video.units[i])
        wait_written(front, before)
    end(front)
    with Front(folder) as front:
        front.wait_ready()
        clip, = front.list()
        path, = front.files()
        assert video.frames_in(path) == list(range(5)) and clip["gap_ns"] == 0
    assert picture_lengths(path)[:4] == pytest.approx([3, 2.8, 3.2, 3], abs=1e-4)


def test_no_two_pictures_have_the_same_time(tmp_path, video):
    """A tick of the file is 11 microseconds."""
    base = past(40)
    with Front(tmp_path / "clips") as front:
        front.track(1, mode=ALWAYS)
        front.wait_ready()
        for i in range(100):
            front.unit(1, i + 1, base + i // 4 * 4 * FRAME_NS + i % 4 * 1000, video.units[i], i % GROUP == 0)
        front.end()
        path, = front.files()
        ticks = read_table(path.read_bytes())
        assert len(ticks) == 100 and min(ticks) > 0


def test_a_clip_that_is_kept_while_it_is_open_is_kept_after_a_crash(tmp_path, video):
    folder = tmp_path / "clips"
    front = Front(folder)
    front.track(1, "front", mode=ALWAYS)
    front.track(2, "back", mode=ALWAYS)
    front.wait_ready()
    for view in (1, 2):
        front.play(view, video, 0, 110, past(20))
    ids = {clip["camera"]: clip["id"] for clip in front.list()}
    assert front.change(ids["front"], KEEP)["error"] == front.change(ids["back"], KEEP)["error"] == 0
    assert front.read(ids["front"], offset=4, size=4)[0] == b"ftyp"
    assert front.change(ids["back"], UNKEEP)["error"] == 0
    front.kill()
    assert len(front.files("*.part")) == 2
    with Front(folder) as front:
        front.wait_ready()
        assert {clip["camera"]: (clip["id"], clip["is_kept"]) for clip in front.list()} == {
            camera: (ids[camera], camera == "front") for camera in ids}
        kept, = front.files("*.keep.mp4")
        assert kept.parts[-4] == "front" and not front.files("*.part")


def test_pictures_count_against_the_limit_of_bytes(tmp_path, video):
    """Each once, also if it was replaced by one with a higher peak; a clip that is deleted gives both back. Of a
    clip, without the holes in its file."""
    folder = tmp_path / "clips"

    def stored(front):
        files = [path.stat() for path in front.files("*.mp4") + front.files("*.jpg")]
        return sum(min(file.st_size, file.st_blocks * 512) for file in files)

    def wait_counted(front, clips):
        front.wait(lambda: front.state["clips"] == clips and front.state["clip_bytes"] == stored(front),
                   "that state counts all files")

    with Front(folder) as front:
        front.track(1, before_s=1, after_s=1)
        fill(front, video, past(100), clips=2)
        videos = stored(front)
        front.picture(1, past(86), JPEG + bytes(300_000), share=0.5)
        front.picture(1, past(86), JPEG + bytes(100_000), share=0.75)
        front.wait(lambda: stored(front) == videos + len(JPEG) + 100_000, "the second picture")
        wait_counted(front, 2)
    with Front(folder) as front:
        front.wait_ready()
        wait_counted(front, 2)
        assert front.trial(max_bytes=videos + 100_000)["clips"] == 1
        front.set_storage(max_bytes=videos + 100_000)
        wait_counted(front, 1)
        assert front.list()[0]["id"] == 2
        assert front.change(2, DELETE)["error"] == 0
        wait_counted(front, 0)


def test_another_size_or_codec_ends_the_clip_and_begins_the_next(tmp_path, video):
    small = Video(tmp_path, 100, size="160x120")
    other = Video(tmp_path, 100, codec="h265", size="160x120")
    base = past(40)
    with Front(tmp_path / "clips") as front:
        front.track(1, mode=ALWAYS)
        front.wait_ready()
        front.play(1, video, 0, 100, base)
        front.play(1, small, 0, 100, base + 100 * FRAME_NS)
        front.track(1, mode=ALWAYS, codec=other.codec)
        front.play(1, other, 0, 100, base + 200 * FRAME_NS)
        front.wait_closed(2)
        front.end()
        assert [of.frames_in(path) for of, path in zip((video, small, other), front.files(), strict=True)] == [
            list(range(100))] * 3
        assert [front.clips[number]["codec"] for number in sorted(front.clips)] == ["h264", "h264", "h265"]


def test_a_recorder_that_is_told_another_folder_closes_its_clips_and_ends(tmp_path, video):
    """systemd starts it again when edged connects the next time."""
    recorder = start_recorder(tmp_path / "socket")
    try:
        with Front(tmp_path / "one", tmp_path / "socket") as front:
            front.track(1, mode=ALWAYS)
            front.wait_ready()
            front.play(1, video, 0, 100, past(40))
            assert front.list()  # so it has heard of all units
        with Front(tmp_path / "other", tmp_path / "socket"):
            said = recorder.communicate(timeout=PATIENCE_S)[1].decode()
        assert recorder.returncode == 0 and "storage.path is now" in said
        path, = (tmp_path / "one").rglob("*.mp4")
        assert video.frames_in(path) == list(range(100)) and not (tmp_path / "other").exists()
    finally:
        recorder.kill()
        recorder.communicate()


def test_a_view_that_is_silent_for_a_while_loses_no_unit(tmp_path, video):
    """What the recorder has is written out meanwhile, in the middle of a group of pictures."""
    with Front(tmp_path / "clips") as front:
        front.track(1, mode=ALWAYS)
        front.wait_ready()
        base = time.monotonic_ns()
        front.play(1, video, 0, 10, base - 10 * FRAME_NS)
        front.wait(lambda: front.state["written_bytes"] > sum(map(len, video.units[:10])), "that they are written")
        front.wait(lambda: time.monotonic_ns() > base + 50 * FRAME_NS, "that what comes now was captured later")
        front.play(1, video, 10, 60, time.monotonic_ns() - 50 * FRAME_NS)
        front.end()
        path, = front.files()
        assert video.frames_in(path) == list(range(60))


def boxes(data):
    """The boxes of a file, and where each begins."""
    at, found = 0, []
    while at < len(data):
        size = int.from_bytes(data[at:at + 4], "big")
        size = size if size != 1 else int.from_bytes(data[at + 8:at + 16], "big")
        found.append(data[at + 4:at + 8].decode())
        assert size >= 8
        at += size
    assert at == len(data)
    return found


def test_finished_clips_begin_with_their_table(tmp_path, video):
    """So that a player that cannot seek has it first. What is left of its room takes no block of the disk."""
    with Front(tmp_path / "clips") as front:
        front.track(1, mode=ALWAYS, max_clip_s=600)
        front.wait_ready()
        front.play(1, video, 0, 500, past(40))
        front.end()
    path, = front.files()
    data = path.read_bytes()
    assert boxes(data) == ["ftyp", "free", "moov", "free", "mdat"]
    assert data[8:12] == b"isom" and data[16:24] == b"isommp42"
    # 25 pictures a second with 12 bytes each, at least.
    assert data.index(b"mdat") > 600 * 25 * 12 and path.stat().st_blocks * 512 < len(data) - 100_000
    assert video.frames_in(path) == list(range(500))
    piped = subprocess.run(["ffprobe", "-v", "error", "-count_packets", "-show_entries", "stream=nb_read_packets",
                            "-of", "csv=p=0", "pipe:0"], input=data, capture_output=True, check=True)
    assert int(piped.stdout) == 500 and not ffmpeg.complaints(piped.stderr)
