"""When motion events begin, beside Debian's motion at its own stock settings, on the same clips in the same run.

  bench_motion_events.py [--fps N]        never fails

Walkers enter at 2.0 s; 0.0 s more is as they come. In the other scenes nothing moves, and every event is a false one.
motion plays a clip as it was taken, some of them at a time.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import motion_clips as clips  # noqa: E402

EDGECTL = pathlib.Path(os.environ.get("EDGED_BUILD", "build")) / "edgectl"
SECONDS, TOGETHER = 12, 4
WALKERS = [(60, 150, 30), (60, 150, 60), (60, 150, 120), (28, 94, 60), (20, 50, 15), (20, 50, 60), (12, 30, 30)]

MOTION = """daemon off
setup_mode off
log_file {folder}/log
netcam_url file://{clip}
width 640
height 360
framerate {fps}
picture_output off
movie_output off
webcontrol_port 0
stream_port 0
on_event_start /bin/sh -c 'date +%%s.%%N >>{folder}/events'
"""


def edged_begins(clip, folder):
    config = folder / "edged.conf"
    config.write_text("cameras = ( { regions = ( { } ); } );")
    lines = subprocess.run([EDGECTL, "events", "--config", config, clip], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    return [e["time_s"] for e in map(json.loads, lines) if e["event"] == "motion_started"]


def motion_begins(clip, folder, fps):
    """Of the first round of the clip: motion begins it anew."""
    (folder / "motion.conf").write_text(MOTION.format(folder=folder, clip=clip, fps=fps))
    started = time.time()
    motion = subprocess.Popen(["motion", "-n", "-c", folder / "motion.conf"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        motion.wait(SECONDS)
    except subprocess.TimeoutExpired:
        pass
    motion.terminate()
    motion.wait()
    events = folder / "events"
    return [float(line) - started for line in events.read_text().split()] if events.exists() else []


def scenes():
    for index, (width, height, speed) in enumerate(WALKERS):
        behind = clips.ground(("coffee", "street")[index % 2])
        yield f"{width}x{height}, {speed} px/s", clips.walker(behind, width, height, speed)
    for name, scene in clips.QUIET.items():
        yield name, scene(clips.ground("coffee"))


def measure(name, scene, fps):
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        clips.encode(folder / "clip.mp4", clips.frames(scene, fps, SECONDS), fps, "-crf", "20")
        edged = edged_begins(folder / "clip.mp4", folder)
        motion = motion_begins(folder / "clip.mp4", folder, fps) if shutil.which("motion") else []
    return name, edged, motion


def shown(times):
    return ", ".join(f"{at:.1f}" for at in times) or "-"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fps", type=int, default=15)
    fps = parser.parse_args().fps
    print(f"640x360 at {fps} fps: seconds at which events begin\n{'':22}  {'edged':16}  motion")
    with concurrent.futures.ThreadPoolExecutor(TOGETHER) as pool:
        for name, edged, motion in pool.map(lambda scene: measure(*scene, fps), scenes()):
            print(f"{name:22}  {shown(edged):16}  {shown(motion)}", flush=True)


if __name__ == "__main__":
    main()
