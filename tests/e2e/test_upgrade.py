"""What an earlier edged has left in its state directory is taken over whole: settings that are kept, and a
thousand clips. tests/data/kept/ is what commit c3f34404 has written; the clips are one file of it by many
names, with its lines of the index once for each."""

import datetime
import json
import pathlib
import re
import shutil

import daemon
from daemon import wait_for
from recorded import ask, clip_files, clips_of, edgectl, picture_lengths, read_line

KEPT = pathlib.Path(__file__).parent.parent / "data/kept"
VIDEO, PICTURE, OPEN = KEPT / "185812.534Z-event-5.mp4", KEPT / "185812.534Z-event-5.jpg", KEPT / "185824.537Z-always-7.mp4.part"
OPEN_ID = 7
COUNT = 1000  # of clips that were closed
MINUTE_NS = 60_000_000_000
SETTINGS = {
    "cameras.front.views.edges.gain": 2.5,
    "cameras.front.views.edges.label.text": "Tür 3",
    "cameras.front.views.edges.label.corner": "bottom-left",
    "cameras.front.regions.door.threshold": 44,
    "cameras.front.privacy.pane.polygon": [[0.0, 0.0], [0.5, 0.0], [0.5, 0.5]],
    "cameras.yard.armed": True,
    "cameras.yard.views.plain.keyframe_s": 2.0,
    "kernels.gradient.block": [16, 16],
}
SMALL = {"width": 64, "height": 48, "fps": 10, "armed": False}
CAMERAS = (
    daemon.camera("front", **SMALL, regions=[{"name": "door"}, {"name": "gate"}],
                  record={"view": "edges", "mode": "events"}),
    daemon.camera("yard", **SMALL, views=[{"name": "plain", "view": "camera"}],
                  record={"view": "plain", "mode": "off"}),
)


def moved(line, number):
    """A line of the index as it would be of clip `number`, which began so many minutes before."""
    text = re.sub(r'_ns":(17\d+)', lambda time: f'_ns":{int(time[1]) - number * MINUTE_NS}', line)
    text = re.sub(r'"id":\d+', f'"id":{number}', text)
    return text.replace('"dated":false', '"dated":true') if number % 2 else text


def file_of(clips, line, kept):
    clip = read_line(line)
    start = datetime.datetime(1970, 1, 1) + datetime.timedelta(milliseconds=clip["start_ns"] // 1_000_000)
    folder = clips / clip["camera"] / clip["view"] / f"{start:%Y-%m-%d}"
    name = f"{start:%H%M%S}.{start.microsecond // 1000:03d}Z-{'always' if clip['always'] else 'event'}-{clip['id']}"
    return folder / f"{name}{'.keep' if kept else ''}.mp4", folder / f"{name}.jpg"


def lay_out(clips):
    """Makes the folder of clips. Returns what is to be told of those that were closed, by their ids."""
    first, *written = (KEPT / "index.jsonl").read_text().splitlines()
    lines = [moved(written[number % len(written)], number) for number in range(1, COUNT + 2) if number != OPEN_ID]
    told = {}
    for line in lines:
        clip = read_line(line)
        kept, has_picture = clip["id"] % 10 == 0, clip["id"] % 3 > 0
        video, picture = file_of(clips, line, kept)
        video.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(VIDEO, video)
        if has_picture:
            shutil.copy(PICTURE, picture)
        told[clip["id"]] = {
            **{name: clip[name] for name in ("id", "camera", "view", "always", "triggered", "regions", "peak")},
            "event": clip["event"] or None, "keep": kept, "bytes": VIDEO.stat().st_size, "gap": clip["gap_ns"] / 1e9,
            "duration": (clip["end_ns"] - clip["start_ns"]) / 1e9, "open": False, "codec": None, "motion": None,
            "picture": f"/v1/clips/{clip['id']}.jpg" if has_picture else None,
        }
    shutil.copy(OPEN, clips / "yard/plain/2026-11-29")
    (clips / "index.jsonl").write_text("\n".join([first, *lines]) + "\n")
    return told


def clips_in_pages(server):
    clips, query = {}, "limit=300"
    while page := clips_of(server, query):
        clips.update((clip["id"], clip) for clip in page)
        query = f"limit=300&before={page[-1]['id']}"
    return clips


def settings_of(server):
    return {row["key"]: row["running"] for row in json.loads(edgectl(server, "diff", "--json"))["settings"]
            if row["from"] == "kept"}


def assert_taken_over(server, told, files):
    wait_for(lambda: len(clips_in_pages(server)) > COUNT, explain=server.stderr)
    clips = clips_in_pages(server)
    found = clips.pop(OPEN_ID)
    assert {number: {name: clip[name] for name in told[number]} for number, clip in clips.items()} == told
    assert (found["camera"], found["view"], found["open"], found["always"]) == ("yard", "plain", False, True)
    assert files.items() <= {path.name: path.stat().st_size for path in clip_files(server.state)}.items()
    assert settings_of(server) == SETTINGS
    recorder = server.status()["recorder"]
    assert (recorder["clips"], recorder["kept_clips"]) == (COUNT + 1, COUNT // 10)
    assert not re.search("warning|error|aside|broken|damaged", server.stderr()), server.stderr()


def test_kept_settings_and_a_thousand_clips_of_an_earlier_version_stay(edged, tmp_path):
    """At the first start, and at the next, which reads what this version has written. A clip that was open when the
    machine lost its power is whole, and new ones go on with the numbers."""
    state = tmp_path / "state"
    told = lay_out(state / "clips")
    files = {path.name: path.stat().st_size for path in clip_files(state)}
    text = (KEPT / "settings.conf").read_text()
    (state / "settings.conf").write_text(text.replace("/etc/edged/edged.conf", f"{tmp_path}/edged-0/edged.conf"))
    server = edged(list(CAMERAS), STATE_DIRECTORY=state, settings={"storage": {"min_free": "16M"}})
    server.state = state
    assert_taken_over(server, told, files)
    whole, = (path for path in clip_files(state) if path.name.endswith(f"-{OPEN_ID}.mp4"))
    assert len(picture_lengths(whole)) >= 30
    edgectl(server, "clips", "export", "500", str(tmp_path / "500.mp4"))
    assert (tmp_path / "500.mp4").read_bytes() == VIDEO.read_bytes()
    server.stop()
    server.start()
    assert_taken_over(server, told, files)
    server.wait_camera("front", lambda camera: camera["state"] == "live")
    assert ask(server, "POST", "/v1/cameras/front/record", {"duration_s": 1})["id"] == COUNT + 2
