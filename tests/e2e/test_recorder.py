"""edged-recorder, fed by a front that is a test: what clips have in them, how they are found, what
becomes of them."""

import os
import re
import shutil
import time

import pytest

from daemon import PATIENCE_S
from recorded import start_recorder
from recorder_front import ALWAYS, DELETE, FRAME_NS, GROUP, KEEP, UNKEEP, Front, Video

SECOND = 10**9
JPEG = b"\xff\xd8 a picture \xff\xd9"


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    return Video(tmp_path_factory.mktemp("video"), 1000)


def past(seconds):
    return time.monotonic_ns() - int(seconds * SECOND)


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
        front.wait(lambda: front.find(clip["id"])[0]["has_picture"], "its picture")
        assert front.read(clip["id"], still=True) == (JPEG, len(JPEG))
        assert front.read(clip["id"], offset=4, size=4) == (b"ftyp", clip["bytes"])
        assert front.find(clip["id"] + 1) == [] and front.read(clip["id"] + 1) == -2
        assert front.change(clip["id"], KEEP)["error"] == 0
        assert [path.name for path in front.files()] == [path.name.replace(".mp4", ".keep.mp4")]
        assert front.change(clip["id"], DELETE)["error"] == 0
        assert front.list() == [] and [path.name for path in front.folder.iterdir()] == ["index.jsonl"]


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


def test_a_gap_ends_the_clip_of_an_event_and_stays_in_always(tmp_path, video):
    base = past(40)
    with Front(tmp_path / "clips") as front:
        front.track(1, "front", mode=ALWAYS)
        front.track(2, "back", before_s=1)
        front.wait_ready()
        for view in (1, 2):
            front.play(view, video, 0, 100, base)
        front.event(2, base + 90 * FRAME_NS, base + 95 * FRAME_NS)
        for view in (1, 2):
            front.play(view, video, 100, 140, base)
            front.unit(view, 141, base + 140 * FRAME_NS, video.units[0], True, slate=True)
            front.play(view, video, 210, 300, base)
        clip, = front.wait_closed(1)
        assert (clip["camera"], clip["gap_ns"]) == ("back", 0)
        front.end()
        assert video.frames_in(front.files("back/**/*.mp4")[0]) == list(range(50, 140))
        assert video.frames_in(front.files("front/**/*.mp4")[0]) == [*range(140), *range(225, 300)]


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
    front.wait(lambda: front.state["written_bytes"] > 1_000_000 and not front.state["waiting_bytes"],
               "that all is written")
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
            assert video.frames_in(path) == list(range(first, 450))
            assert clips[camera]["bytes"] == path.stat().st_size
            assert clips[camera]["end_wall_ns"] - clips[camera]["start_wall_ns"] == (450 - first) * FRAME_NS
        assert clips["back"]["regions"] == ["door"]


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
    """Each once, also if it was replaced by one with a higher peak; a clip that is deleted gives both back."""
    folder = tmp_path / "clips"

    def stored(front):
        return sum(path.stat().st_size for path in front.files("*.mp4") + front.files("*.jpg"))

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
        assert recorder.returncode == 0 and "ending to be started anew" in said
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
        front.play(1, video, 10, 60, time.monotonic_ns() - 50 * FRAME_NS)
        front.end()
        path, = front.files()
        assert video.frames_in(path) == list(range(60))
