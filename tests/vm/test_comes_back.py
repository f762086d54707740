"""A V4L2 camera that fails or is plugged in again streams at once, in the same processes, and no viewer is lost.

The faults are vivid's; uvc_camera.c is plugged in and out below the kernel's driver of USB cameras. The machine's
clock counts its instructions, so that the figures do not depend on what else runs here: edged logs at which time
of that clock a camera's first picture was captured. `make soak-vm` does each as often as SECONDS allow; otherwise
it is done once. Loops run in the machine, where every program that is started costs much.
"""
import json
import os
import re
import shutil
import statistics
import threading

import pytest

import beds
from machine import Machine
from rtp import parse_packet
from rtsp_client import Connection, set_up

SECONDS = int(os.environ.get("EDGED_SOAK_SECONDS", "0"))
TURNS = max(1, SECONDS // 30)
REPLUGS = max(1, SECONDS // 20)
DROPPING_S = max(5, SECONDS)
FPS = 10
VIVID = "/dev/video0"
PORT = "/dev/v4l/by-path/platform-vhci_hcd.0-usb-0:1:1.0-video-index0"
CAMERA = """cameras = ( {{ name = "front"; source = "v4l2"; device = "{device}"; format = "YUYV";
    width = 320; height = 180; fps = {fps};
    views = ( {{ name = "edges"; view = "edges"; bitrate_kbps = 2000; governor = "off"; }} ); }} );"""
LOG, CAPTURED = "/run/edged.log", "was captured at"
SECOND_TICKS = 90000  # of RTP
STAMPS = 1 << 32


class Viewer:
    """Reads a stream and notes its pictures' time stamps, until the server hangs up."""

    def __init__(self, url):
        self.connection = Connection(url)
        self.connection.socket.settimeout(None)
        self.session = set_up(self.connection, url)
        self.session.play()
        self.stamps = []
        self.end = None
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        try:
            while True:
                is_rtcp, data = self.session.read()
                if not is_rtcp and (packet := parse_packet(data)).marker:
                    self.stamps.append(packet.timestamp)
        except (OSError, AssertionError) as error:
            self.end = error

    def is_watching(self):
        """Whether it gets further pictures."""
        seen = len(self.stamps)
        beds.wait_until("a viewer's next pictures", lambda: len(self.stamps) > seen + 5 or self.end, 600)
        return not self.end

    def gaps_s(self):
        """Between any two pictures, slates among them."""
        return [(after - before) % STAMPS / SECOND_TICKS for before, after in zip(self.stamps, self.stamps[1:])]

    def outages(self):
        """How often three pictures or more were missing; what follows within 5 s is the same outage."""
        at_s = began_s = count = 0
        for gap_s in self.gaps_s():
            if gap_s > 3 / FPS and (count == 0 or at_s > began_s + 5):
                count, began_s = count + 1, at_s
            at_s += gap_s
        return count

    def close(self):
        self.connection.socket.shutdown(2)
        self.thread.join()
        self.connection.close()


class Watched:
    """edged, the camera it watches and a viewer of that camera."""

    def __init__(self, machine, device):
        self.machine = machine
        machine.run(f"systemctl stop edged; rm -f {LOG}")
        machine.restart(CAMERA.format(device=device, fps=FPS))
        machine.check(f"until grep -q '{CAPTURED}' {LOG}; do sleep 0.2; done")
        self.first = machine.camera("front")
        self.viewer = Viewer(machine.url("front/edges"))

    def turns(self, count, before, fault, after=":"):
        """Does all that `count` times, with the number of the turn in $turn, and waits after the fault for a first
        picture. The times from the fault to it, by the machine's clock, and what `after` said.
        """
        output = self.machine.check(f"""
            for turn in $(seq 0 {count - 1}); do
                {before}
                seen=$(grep -c '{CAPTURED}' {LOG})
                read -r uptime _ </proc/uptime
                {fault}
                until [ $(grep -c '{CAPTURED}' {LOG}) -gt $seen ]; do sleep 0.1; done
                echo "$uptime $({after})"
                sleep 0.3
            done""", 3600 + 60 * count)
        lines = [line.partition(" ") for line in output.splitlines()]
        log = self.machine.check(f"grep '{CAPTURED}' {LOG}")
        captured_s = [int(at_ns) / 1e9 for at_ns in re.findall(f"{CAPTURED} (\\d+) ns", log)]
        times = [min(at_s for at_s in captured_s if at_s > float(fault_s)) - float(fault_s) for fault_s, _, _ in lines]
        return times, [told for _, _, told in lines]

    def more(self, counter):
        """What has come to it since the start; edged hears of it once a second."""
        self.machine.check("sleep 2")
        return self.machine.camera("front")[counter] - self.first[counter]

    def end(self):
        assert self.viewer.is_watching(), self.viewer.end
        assert self.machine.camera("front")["process"]["pid"] == self.first["process"]["pid"]
        assert self.machine.property("NRestarts") == "0"
        self.viewer.close()


def stage(directory):
    beds.stage(directory)
    shutil.copy(beds.BUILD / "tests/vm/uvc_camera", directory / "usr/local/bin")


@pytest.fixture(scope="module")
def machine():
    bed = Machine(stage=stage, counted_clock=True)
    bed.check("modprobe vivid n_devs=1 node_types=0x1 num_inputs=1 input_types=0 && modprobe vhci_hcd && "
              "udevadm settle")
    for unit in ("edged.service", "edged-camera@.service"):
        bed.check(f"mkdir -p /run/systemd/system/{unit}.d")
        bed.write(f"/run/systemd/system/{unit}.d/test.conf",
                  f"[Service]\nEnvironment=EDGED_LOG=debug\nStandardError=append:{LOG}")
    bed.check("systemctl daemon-reload")
    yield bed
    bed.close()


@pytest.fixture
def vivid(machine):
    watched = Watched(machine, VIVID)
    yield watched
    watched.end()


def control(*settings):
    return f"v4l2-ctl -d {VIVID}" + "".join(f" -c {setting}" for setting in settings)


def check_median(name, times_s, most_s):
    median = statistics.median(times_s)
    print(f"{name}: {len(times_s)} times, median {median:.2f} s, longest {max(times_s):.2f} s")
    assert median <= most_s, (name, times_s)


# The last two fail the opening after a disconnect.
@pytest.mark.parametrize("before, fault", [
    (":", "disconnect=1"), (":", "inject_vidioc_qbuf_error=1"), (":", "inject_fatal_streaming_error=1"),
    (control("inject_vidioc_reqbufs_error=1"), "disconnect=1"),
    (control("inject_vidioc_streamon_error=1"), "disconnect=1"),
], ids=["disconnect", "qbuf", "fatal", "reqbufs", "streamon"])
def test_a_camera_that_fails_streams_again_within_a_second(request, vivid, before, fault):
    times, _ = vivid.turns(TURNS, before, control(fault))
    assert vivid.more("reconnects") >= TURNS
    check_median(request.node.callspec.id, times, 1 + 1 / FPS)


def test_a_camera_that_was_silent_streams_again_within_a_second(vivid):
    """It is silent for 1 to 5 s, and opened again after 2 of them."""
    silence = control("percentage_of_dropped_buffers=100") + "; sleep $((1 + turn % 5))"
    times, _ = vivid.turns(TURNS, silence, control("percentage_of_dropped_buffers=0"))
    check_median("no data", times, 1 + 1 / FPS)


def test_a_broken_picture_costs_that_picture_alone(machine, vivid):
    machine.check(f"for turn in $(seq {TURNS}); do {control('inject_v4l2_buf_flag_error=1')}; sleep 1; done", 3600)
    assert vivid.more("corrupted") == TURNS
    assert vivid.more("reconnects") == 0
    longest_s = max(vivid.viewer.gaps_s())
    print(f"broken picture: {TURNS} times, longest gap {longest_s:.2f} s")
    assert longest_s <= 1 + 1 / FPS


def test_sequence_numbers_and_times_that_wrap_cost_no_picture(machine, vivid):
    """vivid's numbers wrap 128 pictures after it begins to stream, its times 16 s after that."""
    wrapping = control("wrap_sequence_number=1", "wrap_timestamp=$((1 + turn % 2))")
    vivid.turns(TURNS, wrapping, control("disconnect=1"), "sleep 17")
    machine.check(control("wrap_sequence_number=0", "wrap_timestamp=0"))
    assert vivid.more("reconnects") == TURNS
    outages = vivid.viewer.outages()
    print(f"wrapped: {TURNS} times, {outages} outages, longest gap {max(vivid.viewer.gaps_s()):.2f} s")
    assert outages <= TURNS  # by each "disconnect" one, and none by what wraps after it


def test_half_of_all_pictures_lost_is_no_reason_to_open_a_camera_again(machine, vivid):
    machine.check(f"{control('percentage_of_dropped_buffers=50')}; sleep {DROPPING_S}", 3600 + 20 * DROPPING_S)
    frames, dropped, reconnects = map(vivid.more, ("frames", "dropped", "reconnects"))
    machine.check(control("percentage_of_dropped_buffers=0"))
    print(f"half dropped: for {DROPPING_S} s, {frames} pictures and {dropped} dropped")
    assert min(frames, dropped) > DROPPING_S * FPS / 4
    assert reconnects == 0


def plug(width, height):
    return (f"setsid uvc_camera {width} {height} {FPS} >/run/uvc_camera.log 2>&1 & echo $! >/run/uvc_camera.pid; "
            f"until [ -e {PORT} ]; do sleep 0.05; done")


UNPLUG = f"kill $(cat /run/uvc_camera.pid); while [ -e {PORT} ]; do sleep 0.05; done"
SIZES = [(320, 180), (352, 288)]


def direct_s(machine, count):
    """Times from plugging in to a picture that another program takes, without edged."""
    output = machine.check(f"""
        for turn in $(seq {count}); do
            read -r uptime _ </proc/uptime
            {plug(*SIZES[0])}
            v4l2-ctl -d {PORT} --stream-mmap --stream-count=1 >/dev/null 2>&1
            read -r now _ </proc/uptime
            echo $uptime $now
            {UNPLUG}
        done""", 3600)
    return [float(end) - float(begin) for begin, end in map(str.split, output.splitlines())]


def test_a_usb_camera_that_is_plugged_in_streams_within_two_seconds(machine):
    """Each time in another size, and every third time under another number, as a program holds the one before."""
    machine.check("systemctl stop edged")
    direct = direct_s(machine, max(1, REPLUGS // 3))
    machine.check(plug(*SIZES[0]))
    watched = Watched(machine, PORT)
    nodes = {machine.check(f"readlink -f {PORT}").strip()}
    leave = f"""
        [ $((turn % 3)) = 0 ] && {{ sleep infinity <{PORT} >/dev/null & holder=$!; }}
        {UNPLUG}
        sleep $((turn % 4))"""
    come = f"if [ $((turn % 2)) = 1 ]; then {plug(*SIZES[0])}; else {plug(*SIZES[1])}; fi"
    shown = (f"readlink -f {PORT} | tr '\\n' ' '; edgectl status --json | tr -d '\\n'; "
             "[ $((turn % 3)) = 0 ] && kill $holder")
    times, told = watched.turns(REPLUGS, leave, come, shown)
    for turn, line in enumerate(told):
        node, _, status = line.partition(" ")
        camera = json.loads(status)["cameras"][0]
        assert (camera["width"], camera["height"]) == SIZES[(turn + 1) % 2]
        nodes.add(node)
    assert len(nodes) > 1
    watched.end()
    machine.check(UNPLUG)
    print(f"{len(nodes)} nodes; without edged: {len(direct)} times, median {statistics.median(direct):.2f} s, "
          f"longest {max(direct):.2f} s")
    check_median("plugged in", times, 2)
