"""A power cut at any moment leaves clips that play, and costs what was promised.

A machine records two cameras onto a disk whose writes dm-log-writes logs; marks in the log tell the time. The
log is replayed up to many points, EDGED_CUTS=40, drawn from a fixed seed. Each is the disk after a power cut:
it is mounted as a boot would (e2fsck replays the journal), and a recorder makes of it what it can.

The machine's clock counts its instructions, so that the figures do not depend on what else runs here.
"""

import datetime
import hashlib
import itertools
import json
import os
import pathlib
import random
import subprocess

import pytest

import beds
from machine import Machine
from recorder_front import Front, gstreamer_frames, picture_hashes
from write_log import WriteLog

CUTS = int(os.environ.get("EDGED_CUTS", "40"))
SEED = 35
DELETED = "DELETED"  # the mark before a clip is
pytestmark = pytest.mark.timeout(3600)  # emulated, on a machine that others use as well
FOLDER = "/var/lib/edged/clips"
BEFORE_S = 2.0
LOSS_MAX_S = {"back": 2.0, "front": 6.0}  # of an event's clip, and of one of `always`
SECOND = 10**9

CAMERA = """{{ name = "{name}"; source = "pattern"; width = 320; height = 240; fps = 5; armed = false;
    regions = ( {{ name = "door"; duration_s = 0.0; erode = 0; }} );
    record = {{ view = "plain"; mode = "{mode}"; before_s = {before_s}; after_s = 2.0; max_clip_s = 20; }};
    views = ( {{ name = "plain"; view = "camera"; bitrate_kbps = 300; keyframe_s = 1.0; governor = "off"; }} ); }}"""
CONF = "storage = {{ min_free = \"20M\"; }}; cameras = ( {} );".format(", ".join(
    CAMERA.format(name=name, mode=mode, before_s=BEFORE_S) for name, mode in (("front", "always"), ("back", "events"))))

# Most of a minute in which events come, a clip is kept and one is deleted, and the clock is told.
FILM_S = 3600  # of this machine's time, at most
FILM = """
(while [[ ! -e /run/over ]]; do dmsetup message cut 0 mark "$EPOCHREALTIME"; sleep 0.25; done) &
for round in 1 2 3 4; do
    edgectl set cameras.back.armed=true
    sleep 5
    edgectl set cameras.back.armed=false
    sleep 6
    closed=$(edgectl clips | awk '$2 == "back/plain" { print $1 }' | tail -n 1)
    case $round in
    1) edgectl clips keep "$closed" ;;
    3) edgectl clips show "$closed" >/run/deleted
       dmsetup message cut 0 mark DELETED
       edgectl clips unkeep "$closed" && edgectl clips delete "$closed" ;;
    esac
done
touch /run/over
wait
"""


def wall_ns(text):
    return int(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() * 1e6) * 1000


def read_clips(text):
    """What edgectl says of clips, by id."""
    told = json.loads(text)
    return {clip["id"]: {"camera": clip["camera"], "end_ns": wall_ns(clip["end"]), "asked_ns": wall_ns(clip["asked"]),
                         "open": clip["open"]} for clip in (told if isinstance(told, list) else [told])}


def sparse_file(path, size):
    subprocess.run(["truncate", "-s", size, path], check=True)
    return path


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    """The disk before it, the log of its writes, the clips that were made on it and the one that was deleted."""
    folder = tmp_path_factory.mktemp("film")
    disk, log = sparse_file(folder / "disk", "256M"), sparse_file(folder / "log", "512M")
    subprocess.run(["mkfs.ext4", "-q", disk], check=True, stdin=subprocess.DEVNULL)
    subprocess.run(["cp", "--sparse=always", disk, folder / "before"], check=True)
    machine = Machine(disks=(disk, log), counted_clock=True)
    try:
        machine.check("modprobe dm-log-writes && dmsetup create cut --table "
                      '"0 $(blockdev --getsz /dev/vdc) log-writes /dev/vdc /dev/vdd" && '
                      f"mkdir -p {FOLDER} && mount /dev/mapper/cut {FOLDER}")
        machine.restart(CONF)
        for name in ("front", "back"):
            beds.wait_until("pictures", lambda name=name: machine.camera(name)["frames"] > 20, machine.patience_s)
        machine.check(FILM, FILM_S)
        machine.check("edgectl set cameras.front.record.mode=off cameras.back.record.mode=off")
        clips = beds.wait_until("closed clips", lambda: (found := read_clips(machine.check("edgectl clips --json"))) and
                                not any(clip["open"] for clip in found.values()) and found, machine.patience_s)
        deleted = read_clips(machine.check("cat /run/deleted"))
        machine.check(f"systemctl stop edged edged-recorder.socket edged-recorder; umount {FOLDER}; "
                      "dmsetup remove cut; sync")
    finally:
        machine.close()
    return folder / "before", log, clips, deleted


class Disk:
    """The disk as the log makes it, write by write, and what a boot finds on it after a cut."""

    def __init__(self, folder, before, log):
        self.folder, self.log, self.number = folder, log, 0
        self.image = folder / "disk"
        subprocess.run(["cp", "--sparse=always", before, self.image], check=True)

    def cut(self, number):
        """The folder of clips after a cut behind so many writes."""
        with open(self.image, "r+b") as disk:
            self.log.replay(disk, self.number, number)
        self.number = number
        image, clips = self.folder / "cut", self.folder / f"clips-{number}"
        subprocess.run(["cp", "--sparse=always", self.image, image], check=True)
        repair = subprocess.run(["e2fsck", "-fy", image], capture_output=True, text=True)
        assert repair.returncode in (0, 1), repair.stdout
        clips.mkdir()
        subprocess.run(["debugfs", "-R", f"rdump / {clips}", image], check=True, capture_output=True)
        return clips


def recovered(folder):
    """The clips that a recorder finds there, by id; those are what is there."""
    with Front(folder) as front:
        front.wait_ready()
        clips = {clip["id"]: clip for clip in front.list()}
        assert len(clips) == len(front.list())
    assert not list(folder.rglob("*.mp4.part"))
    assert sorted(clip["bytes"] for clip in clips.values()) == sorted(path.stat().st_size for path in folder.rglob("*.mp4"))
    return clips


def clip_files(folder):
    """The video of each clip, by id."""
    return {int(path.name.split(".")[1].split("-")[-1]): path for path in folder.rglob("*.mp4")}


class Pictures:
    """What videos show, each looked at once."""

    def __init__(self):
        self.found = {}

    def of(self, path):
        key = hashlib.sha256(path.read_bytes()).digest()
        if key not in self.found:
            pictures = picture_hashes(path)
            assert gstreamer_frames(path) == len(pictures) > 0
            self.found[key] = pictures
        return self.found[key]


def lost_s(clip, kept, at_ns):
    """What a cut at that moment cost of a clip: from the moment it was asked for, what came after is lost."""
    begun_ns = clip["asked_ns"] + (BEFORE_S * SECOND if clip["camera"] == "back" else 0)
    kept_ns = kept["end_wall_ns"] if kept else begun_ns
    return max(0, min(clip["end_ns"], at_ns) - kept_ns) / SECOND


def test_a_power_cut_costs_two_seconds_of_an_event_and_six_of_always(film, tmp_path):
    before, path, clips, deleted = film
    log = WriteLog(path)
    disk, pictures = Disk(tmp_path, before, log), Pictures()
    first = next(i for i in range(len(log.entries)) if log.marks(i, i + 1))
    points = sorted(random.Random(SEED).sample(range(first, len(log.entries)), CUTS))
    whole, losses = {}, {camera: [] for camera in LOSS_MAX_S}
    for number in [*points, len(log.entries)]:
        folder = disk.cut(number)
        kept = recovered(folder)
        (folder / "index.jsonl").unlink()
        assert recovered(folder) == kept  # what the index says is what the files say
        for clip, video in clip_files(folder).items():
            whole.setdefault(clip, []).append(pictures.of(video))
        # The next time that the log tells, which is at most some 0.3 s late.
        at_ns = next((int(float(mark) * SECOND) for mark in log.marks(number) if mark[0].isdigit()), 0)
        expected = clips if DELETED in log.marks(0, number) else {**clips, **deleted}
        for clip, told in expected.items() if at_ns else ():
            losses[told["camera"]].append((lost_s(told, kept.get(clip), at_ns), clip, number))
        subprocess.run(["rm", "-r", folder], check=True)
    log.close()
    assert set(kept) == set(clips)
    # Of a clip that was cut off there is the beginning.
    for versions in whole.values():
        longest = max(versions, key=len)
        assert all(version == longest[:len(version)] for version in versions)
    print(f"{len(points)} cuts in {len(log.entries)} writes, {len(clips)} clips, {len(pictures.found)} videos")
    for camera, found in losses.items():
        print(f"{camera}: at most {max(found)[0]:.2f} s lost, {sum(s for s, *_ in found) / len(points):.2f} s on average")
        assert max(found)[0] <= LOSS_MAX_S[camera], max(found)
