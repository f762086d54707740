"""A disk that stalls, fails, fills up, is unplugged or mounted late: a viewer of the camera that is recorded
lacks no frame, and recording goes on by itself.

The disk is one of device-mapper's, whose table is changed under the file system. The machine's clock counts
its instructions, so that it drops no frames because this machine is slow.
"""

import datetime
import json
import subprocess

import pytest

import beds
import pattern
from clients import Viewer
from machine import Machine

pytestmark = pytest.mark.timeout(3600)  # emulated, on a machine that others use as well
MOUNT = "/mnt/disk"
FOLDER = f"{MOUNT}/clips"
STALL_MS = 3000
SECTORS = "$(blockdev --getsz /dev/vdc)"
GOOD = f"0 {SECTORS} linear /dev/vdc 0"
STALLING = f"0 {SECTORS} delay /dev/vdc 0 {STALL_MS}"
FAILING = f"0 {SECTORS} flakey /dev/vdc 0 0 3600"  # each write, and each read
GONE = f"0 {SECTORS} error"
# Clips are short, so that there are closed ones.
CONF = f"""storage = {{ path = "{FOLDER}"; min_free = "20M"; }};
cameras = ( {{ name = "front"; source = "pattern"; width = 320; height = 240; fps = 5;
    record = {{ view = "plain"; mode = "always"; max_clip_s = 10; }};
    views = ( {{ name = "plain"; view = "camera"; bitrate_kbps = 300; keyframe_s = 1.0; governor = "off"; }} ); }} );"""


class DiskMachine(Machine):
    """A machine that records to a disk of its own."""

    def change_table(self, table):
        self.check(f'dmsetup reload disk --table "{table}" && dmsetup suspend --noflush --nolockfs disk && '
                   "dmsetup resume disk")

    def mount(self):
        self.check(f"mount /dev/mapper/disk {MOUNT}")

    def said(self, text):
        """How often the recorder has said that."""
        return self.run("journalctl --sync; journalctl -u edged-recorder -o cat")[1].count(text)

    def wait_said(self, text, before):
        beds.wait_until(text, lambda: self.said(text) > before, self.patience_s)

    def clips(self):
        """The closed ones, the oldest first."""
        found = json.loads(self.check("edgectl clips --json --limit 0"))
        return [clip for clip in reversed(found) if not clip["open"]]

    def wait_clips(self, count):
        """Until there are so many closed clips that are newer than those of now. Returns them."""
        newest = max((clip["id"] for clip in self.clips()), default=0)
        return beds.wait_until("new clips", lambda: (found := [clip for clip in self.clips() if clip["id"] > newest])
                               [count - 1:] and found, self.patience_s)


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    image = tmp_path_factory.mktemp("disk") / "disk"
    subprocess.run(["truncate", "-s", "128M", image], check=True)
    subprocess.run(["mkfs.ext4", "-q", image], check=True, stdin=subprocess.DEVNULL)
    bed = DiskMachine(disks=(image,), counted_clock=True)
    try:
        bed.check(f'modprobe -a dm-delay dm-flakey && dmsetup create disk --table "{GOOD}" && mkdir {MOUNT}')
        bed.mount()
        bed.check(f"edgectl setup --storage {FOLDER} --force </dev/null")
        bed.restart(CONF)
        bed.wait_clips(1)
        yield bed
    finally:
        bed.close()


@pytest.fixture
def viewer(machine):
    """One that must lack no frame up to the test's end."""
    with Viewer(machine.url("front/plain"), view="camera", size=(320, 240)) as viewer:
        viewer.wait_numbers(1, machine.patience_s)
        yield viewer
        viewer.wait_frames(len(viewer.frames) + 5, machine.patience_s)
        assert pattern.holes(viewer.frames) == (0, 0)
    assert machine.camera("front")["dropped"] == 0


def assert_complete(clips):
    """One begins where the one before ends, and none has a gap. Each asks the clock of day when it begins, to a
    microsecond or two."""
    assert all(clip["gap"] == 0 for clip in clips)
    for before, after in zip(clips, clips[1:]):
        end, start = (datetime.datetime.fromisoformat(time.replace("Z", "+00:00")) for time in (before["end"], after["start"]))
        assert abs(end - start) < datetime.timedelta(milliseconds=1), (before, after)


def test_a_stall_holds_up_no_list_and_loses_nothing(machine, viewer):
    clip = machine.clips()[0]
    machine.check("echo 1 >/proc/sys/vm/drop_caches")
    machine.change_table(STALLING)
    machine.check(f"(begin=$(date +%s%N); edgectl clips export {clip['id']} /run/clip.mp4; "
                  "echo $? $((($(date +%s%N) - begin) / 1000000)) >/run/exported) &")
    assert clip in machine.clips()
    assert machine.run("test -e /run/exported")[0] != 0  # the list did not wait for the disk
    beds.wait_until("a download", lambda: machine.run("test -s /run/exported")[0] == 0, machine.patience_s)
    status, took_ms = machine.check("cat /run/exported").split()
    assert status == "0" and int(took_ms) >= STALL_MS
    assert len(machine.read_bytes("/run/clip.mp4")) == clip["bytes"]
    machine.change_table(GOOD)
    machine.wait_clips(2)
    assert_complete(machine.clips())


def test_a_disk_that_is_full_stops_recording_until_there_is_room(machine, viewer):
    stopped, going = machine.said("no clip is left that may be deleted"), machine.said(f"recording to {FOLDER}")
    machine.check(f"fallocate -l $(($(stat -f -c '%a * %S' {MOUNT}) - 4096)) {MOUNT}/of-others")
    machine.wait_said("no clip is left that may be deleted", stopped)
    machine.check(f"rm {MOUNT}/of-others")
    machine.wait_said(f"recording to {FOLDER}", going)
    assert_complete(machine.wait_clips(1))


@pytest.mark.parametrize("table", [FAILING, GONE], ids=["fails", "gone"])
def test_a_disk_that_fails_or_is_unplugged_is_used_again_once_it_is_back(machine, viewer, table):
    clips = machine.clips()
    stopped, going = machine.said("nothing is recorded"), machine.said(f"recording to {FOLDER}")
    machine.change_table(table)
    machine.wait_said("nothing is recorded", stopped)
    machine.check(f"umount {MOUNT}")
    machine.change_table(GOOD)
    machine.mount()
    machine.wait_said(f"recording to {FOLDER}", going)
    assert machine.said("nothing is recorded") == stopped + 1
    assert_complete(machine.wait_clips(1))
    assert [clip for clip in machine.clips() if clip in clips] == clips  # those of before are there


def test_a_disk_that_is_mounted_late_is_used_from_then_on_and_nothing_in_its_place(machine):
    """The folder beneath is there and edged's as well, and edged was faster than the disk when the machine started."""
    going = f"recording to {FOLDER}"
    clips = machine.clips()
    machine.check(f"systemctl stop edged edged-recorder; umount {MOUNT}; install -d -o edged -g edged -m 750 {FOLDER}")
    machine.restart(CONF)
    machine.wait_clips(1)
    before = machine.said(going)
    machine.mount()
    machine.wait_said(going, before)
    machine.wait_clips(1)
    assert [clip for clip in machine.clips() if clip in clips] == clips
    before = machine.said(going)
    machine.check(f"umount --lazy {MOUNT}")
    beds.wait_until("that the folder beneath is refused",
                    lambda: "this is another folder than before" in machine.status()["recorder"]["error"], machine.patience_s)
    machine.mount()
    machine.wait_said(going, before)
    machine.wait_clips(1)
