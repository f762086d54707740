"""Motion events on the street clip: what a person saw is found, nothing else, whatever the light."""

import json
import subprocess

import cv2
import numpy as np
import pytest

import motion_oracle
import oracle
import programs
from ffmpeg import complaints

CLIP = oracle.DATA / "street.mp4"
REGIONS = oracle.DATA / "street-motion.conf"
LABELS = json.loads((oracle.DATA / "street-motion.json").read_text())
FPS = LABELS["frames_per_second"]
WIDTH, HEIGHT = 768, 576
NOWHERE = {"x": 0, "y": 0, "width": 0, "height": 0}
FOUND_S = 0.5  # from the first frame with somebody in it to the event
# The longest cooldown of regions with people, and a part of the last step that moves too little.
OVER_S = 1.0 + 0.6
JUMP = 0.4


def events(*words, cwd=None):
    result = subprocess.run([str(programs.EDGECTL), "events", *map(str, words)], cwd=cwd,
                            capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    assert not complaints(result.stderr)
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture(scope="module")
def street():
    """The clip's frames as I420, luma in 16..235."""
    clip, frames = cv2.VideoCapture(str(CLIP)), []
    while (read := clip.read())[0]:
        frames.append(cv2.cvtColor(read[1], cv2.COLOR_BGR2YUV_I420))
    assert len(frames) == 120
    return frames


def luma(frame):
    return frame[:HEIGHT]


def write(path, frames):
    """A YUV4MPEG2 file, of frames as they are."""
    with open(path, "wb") as file:
        file.write(f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F{FPS}:1 Ip A1:1 C420jpeg\n".encode())
        for frame in frames:
            file.write(b"FRAME\n" + frame.tobytes())


def lit(frames, light):
    """The clip in another light: light(frame number, luma as floats)."""
    for number, frame in enumerate(frames):
        frame = frame.copy()
        bright = light(number, luma(frame).astype(np.float64))
        frame[:HEIGHT] = np.clip(np.rint(bright), 0, 255).astype(np.uint8)
        yield frame


def assert_as_labelled(found):
    """Each labelled range is one event, begun and over in time; there are no others."""
    for region, ranges in LABELS["ranges"].items():
        started = [e for e in found if e["region"] == region and e["event"] == "motion_started"]
        ended = [e for e in found if e["region"] == region and e["event"] == "motion_ended"]
        assert [e["number"] for e in started] == list(range(1, len(ranges) + 1)), region
        for (first, _, who), event in zip(ranges, started):
            # The first frame of the clip has none before it to differ from.
            assert first / FPS <= event["started_s"] <= event["time_s"], who
            assert event["time_s"] <= first / FPS + FOUND_S, who
        # What reads `edgectl watch --json` reads these, too.
        watched = {"event", "camera", "region", "number", "time", "time_ns", "started", "share",
                   "peak", "box", "time_s", "started_s", "clip"}
        assert all(set(e) == watched for e in started)
        assert all(set(e) == watched | {"duration_s", "reason"} for e in ended)
        over = [r for r in ranges if r[1] < 119]
        assert [e["number"] for e in ended] == list(range(1, len(over) + 1)), region
        for (_, last, who), event in zip(over, ended):
            assert event["time_s"] <= last / FPS + OVER_S, who


def test_every_labelled_range_is_found_and_nothing_else():
    assert_as_labelled(events("--config", REGIONS, CLIP))


def ramp(number, frames):
    """0 before frame 30, 1 after `frames` more."""
    return min(max((number - 30) / frames, 0), 1)


# In 30 to 36, where the light changes, nobody is in any region; nor in 54 to 63.
LIGHTS = {
    "up": lambda n, y: y * (1 + JUMP * (n >= 33)),
    "down": lambda n, y: y * (1 - JUMP * (n >= 33)),
    "down to what it was before": lambda n, y: y * (1 + JUMP * (n < 33)),
    "up to what it was before": lambda n, y: y * (1 - JUMP * (n < 33)),
    "up and down again": lambda n, y: y * (1 + JUMP * (33 <= n < 35)),
    "above black, cut off at white": lambda n, y: np.minimum(16 + (y - 16) * (1 + JUMP * (n >= 33)),
                                                             235),
    "up by 40 % of white": lambda n, y: y + JUMP * 219 * (n >= 33),
    "down by 40 % of white": lambda n, y: np.maximum(y - JUMP * 219 * (n >= 60), 16),
    "up within half a second": lambda n, y: y * (1 + JUMP * ramp(n, 5)),
    "down within half a second": lambda n, y: y * (1 - JUMP * ramp(n, 5)),
    "up in a curve": lambda n, y: 255 * (y / 255) ** (1 - JUMP * (n >= 60)),
}


@pytest.mark.parametrize("light", LIGHTS)
def test_a_change_of_the_light_is_no_motion(street, tmp_path, light):
    # By the plain difference most of the picture would have moved.
    still = luma(street[30]).astype(np.float64)
    change = max((abs(LIGHTS[light](n, still) - LIGHTS[light](0, still)) > 25).mean()
                 for n in (34, 63))
    assert change > 0.5
    write(tmp_path / "lit.y4m", lit(street, LIGHTS[light]))
    found = events("--config", REGIONS, tmp_path / "lit.y4m")
    for event in found:
        if event["region"] in ("grass", "wall"):
            pytest.fail(f"{event}")
    # Darker people may move too little to be found as labelled; nobody is found who is not there.
    for event in (e for e in found if e["event"] == "motion_started"):
        assert any(first / FPS <= event["started_s"] <= last / FPS + 0.1
                   for first, last, _ in LABELS["ranges"][event["region"]]), event


@pytest.mark.parametrize("light", ["up", "down to what it was before", "up and down again",
                                   "above black, cut off at white", "up within half a second"])
def test_everybody_is_found_in_bright_light_too(street, tmp_path, light):
    write(tmp_path / "lit.y4m", lit(street, LIGHTS[light]))
    assert_as_labelled(events("--config", REGIONS, tmp_path / "lit.y4m"))


def test_noise_is_no_motion(street, tmp_path):
    chance = np.random.default_rng(4)
    still = [street[32].copy() for _ in range(40)]
    for frame in still:
        noisy = luma(frame) + chance.normal(0, 6, (HEIGHT, WIDTH))
        frame[:HEIGHT] = np.clip(np.rint(noisy), 0, 255).astype(np.uint8)
    assert (cv2.absdiff(luma(still[0]), luma(still[1])) > 25).mean() > 0.001
    write(tmp_path / "noise.y4m", still)
    config = tmp_path / "all.conf"
    config.write_text('cameras = ( { regions = ( { start = 0.01; duration_s = 0.0; } ); } );')
    assert events("--config", config, tmp_path / "noise.y4m") == []


def inside(polygon):
    """Pixels whose centres lie inside: an odd number of edges to their left."""
    x, y = np.meshgrid(np.arange(WIDTH) + 0.5, np.arange(HEIGHT) + 0.5)
    odd = np.zeros((HEIGHT, WIDTH), bool)
    for (ax, ay), (bx, by) in zip(polygon, np.roll(polygon, -1, 0)):
        if ay != by:
            crosses = (ay * HEIGHT <= y) != (by * HEIGHT <= y)
            odd ^= crosses & (x >= (ax + (bx - ax) * (y - ay * HEIGHT) / ((by - ay) * HEIGHT)) * WIDTH)
    return odd


def assert_readings(found, frames, regions, names):
    """The lines of --frames are what the definition says, which numpy and OpenCV compute."""
    meter, readings = motion_oracle.Meter((HEIGHT, WIDTH)), [(0, NOWHERE)] * len(regions)
    moving = 0
    for number, frame in enumerate(frames):
        readings = meter.look(luma(frame), number * 1000 // FPS, regions) or readings
        for index, (share, box) in enumerate(readings):
            got = found[len(regions) * number + index]
            assert got["region"] == names[index] and got["time_s"] == number / FPS
            assert abs(got["share"] - share) <= 0.00005 + 1e-7, (number, index)
            assert got["box"] == box, (number, index)
            moving += share > 0
    return moving


def frame_lines(*words, cwd=None):
    return [line for line in events("--frames", *words, cwd=cwd) if line["event"] == "frame"]


def test_shares_and_boxes_are_those_of_the_definition(street, tmp_path):
    chance = np.random.default_rng(1)
    polygons = [np.round(chance.random((corners, 2)), 4) for corners in (3, 4, 5, 7, 12)]
    settings = [(25, 1), (10, 0), (25, 1), (5, 3), (40, 0)]
    frames = street[:40]
    write(tmp_path / "some.y4m", frames)
    (tmp_path / "some.conf").write_text("cameras = ( { regions = ( %s ); } );" % ", ".join(
        "{ name = \"r%d\"; polygon = ( %s ); threshold = %d; erode = %d; }" % (
            number, ", ".join(f"[{x:.4f}, {y:.4f}]" for x, y in polygon), *setting)
        for number, (polygon, setting) in enumerate(zip(polygons, settings))))
    regions = [(inside(polygon), *setting) for polygon, setting in zip(polygons, settings)]
    found = frame_lines("--config", tmp_path / "some.conf", tmp_path / "some.y4m")
    assert len(found) == 5 * len(frames)
    assert assert_readings(found, frames, regions, [f"r{i}" for i in range(5)]) > 100


@pytest.mark.parametrize("name", ["mask.png", "mask.pgm"])
def test_a_mask_picture_is_stretched_over_the_frame(street, tmp_path, name):
    mask = np.zeros((HEIGHT // 4, WIDTH // 4), np.uint8)
    mask[30:130, 60:] = 255
    cv2.imwrite(str(tmp_path / name), mask)
    (tmp_path / "m.conf").write_text('cameras = ( { regions = ( { mask = "%s"; } ); } );' % name)
    write(tmp_path / "some.y4m", street[:20])
    found = frame_lines("--config", tmp_path / "m.conf", tmp_path / "some.y4m", cwd="/")
    whole = cv2.resize(mask, (WIDTH, HEIGHT), interpolation=cv2.INTER_NEAREST) > 0
    assert assert_readings(found, street[:20], [(whole, 25, 1)], ["region0"]) > 10


@pytest.mark.parametrize("words, status, problem", [
    ([], 2, "Usage: edgectl events"),
    (["--nonsense", "x.mp4"], 2, "Usage: edgectl events"),
    (["--config", "none.conf", CLIP], 1, "none.conf"),
    (["--config", REGIONS, "none.mp4"], 1, "none.mp4"),
    (["--config", REGIONS, REGIONS], 1, "street-motion.conf"),
    (["--config", REGIONS, "--camera", "back", CLIP], 1, "no camera back with regions"),
    (["--config", "/dev/null", CLIP], 1, "no camera with regions"),
])
def test_what_cannot_be_done_says_why(tmp_path, words, status, problem):
    result = subprocess.run([str(programs.EDGECTL), "events", *map(str, words)], cwd=tmp_path,
                            capture_output=True, text=True, timeout=300)
    assert result.returncode == status
    assert problem in result.stderr
    assert result.stdout == ""


def test_a_missing_mask_loses_nothing_but_its_region(tmp_path):
    (tmp_path / "m.conf").write_text(
        'cameras = ( { regions = ( { name = "masked"; mask = "none.png"; }, { name = "all"; start = '
        '0.1; } ); } );')
    result = subprocess.run([str(programs.EDGECTL), "events", "--config", str(tmp_path / "m.conf"),
                             str(CLIP)], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0
    assert "none.png: No such file or directory" in result.stderr
    assert {json.loads(line)["region"] for line in result.stdout.splitlines()} == {"all"}


@pytest.mark.parametrize("private", [False, True])
def test_what_is_private_moves_in_no_light(street, tmp_path, private):
    # The cells at its edge show some of what is not private as well.
    corners = "( [0.0, 0.0], [%s, 0.0], [%s, 1.0], [0.0, 1.0] )"
    hidden = f"privacy = ( {{ polygon = {corners % (0.5, 0.5)}; }} );" if private else ""
    (tmp_path / "edged.conf").write_text(
        f"cameras = ( {{ {hidden} regions = ( {{ polygon = {corners % (0.49, 0.49)}; erode = 0; threshold = 5; "
        "duration_s = 0; start = 0.001; end = 0.0005; } ); } );")
    write(tmp_path / "clip.y4m", lit(street, lambda n, gray: gray * (1, 0.6, 1.2)[n // 7 % 3] + 5))
    lines = events("--config", tmp_path / "edged.conf", "--frames", tmp_path / "clip.y4m")
    assert len([line for line in lines if line["event"] == "frame"]) == len(street)
    assert any(line["event"] == "motion_started" for line in lines) != private
    assert any(line["share"] > 0 for line in lines) != private
