"""edged-recorder, fed by a front that is a test: what clips have in them, how they are found, what
becomes of them."""

import pytest

import time

from recorder_front import ALWAYS, DELETE, FRAME_NS, GROUP, KEEP, Front, Video

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
        assert front.list() == [] and list(front.folder.iterdir()) == []


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
