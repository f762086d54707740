"""Motion events do not depend on the camera's rate, find whoever walks, and stay silent where nothing moves."""

import json
import subprocess

import cv2
import pytest

import programs
from ffmpeg import complaints
import motion_clips as clips

RATES = (5, 10, 15, 30)
FOUND_S, APART_S = 1.0, 0.3


@pytest.fixture(scope="module")
def grounds():
    return {name: clips.ground(name) for name in ("coffee", "street", "chelsea")}


def begins(tmp_path, clip):
    """When the events of the whole picture at stock settings begin, in seconds."""
    config = tmp_path / "stock.conf"
    config.write_text("cameras = ( { regions = ( { } ); } );")
    result = subprocess.run([str(programs.EDGECTL), "events", "--config", str(config), str(clip)],
                            capture_output=True, text=True, timeout=300)
    assert result.returncode == 0 and not complaints(result.stderr)
    lines = map(json.loads, result.stdout.splitlines())
    return [line["time_s"] for line in lines if line["event"] == "motion_started"]


def assert_same(found, entered_s):
    """As many events at each rate, each beginning at about the same time, the first soon."""
    assert len({len(times) for times in found.values()}) == 1, found
    for times in zip(*found.values()):
        assert max(times) - min(times) <= APART_S + 1e-6, found
    assert all(times and entered_s <= times[0] <= entered_s + FOUND_S for times in found.values()), found


# Width, height and speed in 640x360: at 10 m a person is 20 to 28 pixels wide.
WALKERS = [("coffee", 60, 150, 30), ("street", 60, 150, 60), ("chelsea", 60, 150, 120), ("street", 28, 94, 60),
           ("coffee", 20, 50, 15), ("street", 20, 50, 60), ("chelsea", 12, 30, 30)]


@pytest.mark.parametrize("ground, width, height, speed", WALKERS)
def test_who_walks_is_found_within_a_second_at_any_rate(tmp_path, grounds, ground, width, height, speed):
    scene = clips.walker(grounds[ground], width, height, speed)
    found = {}
    for fps in RATES:
        clips.write(tmp_path / "walker.y4m", clips.frames(scene, fps, 5), fps)
        found[fps] = begins(tmp_path, tmp_path / "walker.y4m")
    assert_same(found, clips.ENTER_S)
    assert all(len(times) == 1 for times in found.values())


def test_people_in_the_street_are_the_same_events_at_any_rate(tmp_path):
    clip, street = cv2.VideoCapture(str(clips.DATA / "street.mp4")), []
    while (read := clip.read())[0]:
        street.append(cv2.resize(cv2.cvtColor(read[1], cv2.COLOR_BGR2GRAY), (clips.WIDTH, clips.HEIGHT),
                                 interpolation=cv2.INTER_AREA))
    found = {}
    for fps in RATES:  # the clip has 10
        pictures = [street[number * 10 // fps] for number in range(12 * fps)]
        clips.write(tmp_path / "street.y4m", pictures, fps)
        found[fps] = begins(tmp_path, tmp_path / "street.y4m")
    assert_same(found, 0)


@pytest.mark.parametrize("index, scene", enumerate(clips.QUIET))
def test_what_is_no_motion_is_no_event(tmp_path, grounds, index, scene):
    ground = list(grounds.values())[index % len(grounds)]
    for fps in (10, 30):
        pictures = clips.frames(clips.QUIET[scene](ground), fps, 8)
        clips.write(tmp_path / "quiet.y4m", pictures, fps)
        assert begins(tmp_path, tmp_path / "quiet.y4m") == []


@pytest.mark.parametrize("kbps", [300, 1000])
def test_key_frames_of_a_poor_encoder_are_no_event(tmp_path, grounds, kbps):
    scene = clips.still(grounds["coffee"], lambda t, picture: picture, sigma=4)
    clips.encode(tmp_path / "poor.mp4", clips.frames(scene, 15, 8), 15, "-b:v", f"{kbps}k", "-maxrate",
                 f"{kbps}k", "-bufsize", f"{kbps}k")
    assert begins(tmp_path, tmp_path / "poor.mp4") == []
