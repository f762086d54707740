"""What the two test beds share: staging an install, driving edged inside, and looking at a stream.

A bed is a whole system the tests may stop and break: tests/systemd runs one in a container, tests/vm
one in a virtual machine with a kernel and a camera of its own. Both run the root scripts/bed-root
built and offer run(), write() and the helpers of Bed.
"""
import json
import os
import pathlib
import shutil
import subprocess
import time

import numpy as np

from slate import shows_no_signal

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("EDGED_BUILD", ROOT / "build"))
OWN_ARCHITECTURE = subprocess.check_output(["dpkg", "--print-architecture"], text=True).strip()
# Another one is of packages that were crossed to it, in a virtual machine of its own.
ARCHITECTURE = os.environ.get("EDGED_ARCHITECTURE") or OWN_ARCHITECTURE
CROSSED = ARCHITECTURE != OWN_ARCHITECTURE
BEDS = ROOT / "build" / (f"beds-{ARCHITECTURE}" if CROSSED else "beds")
CONF = "/etc/edged/edged.conf"
PATIENCE_S = 240  # for any event, however busy the machine is


def stage(directory):
    """Installs what is built under `directory`, as a package would be unpacked."""
    shutil.rmtree(directory, ignore_errors=True)
    make("install", directory)


def make(target, directory):
    # All of it is built before: two beds may install at the same time.
    subprocess.run(["make", "-s", target, f"BUILD={os.path.relpath(BUILD, ROOT)}",
                    f"DESTDIR={directory}"], cwd=ROOT, check=True, timeout=600)


def wait_until(what, condition, timeout_s=PATIENCE_S):
    """Asks `condition` until it is true; its value. `what` names it when the time is up."""
    end = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {timeout_s} s: {what}"
        time.sleep(0.1)


def picture_size(url, timeout_s=PATIENCE_S):
    """(width, height) of the stream at `url`, or None while the server does not serve it."""
    probe = subprocess.run(
        ["ffprobe", "-v", "error", "-rtsp_transport", "tcp", "-select_streams", "v",
         "-show_entries", "stream=width,height", "-of", "csv=p=0", url],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s)
    if probe.returncode != 0:
        return None
    width, height = map(int, probe.stdout.strip().split(",")[:2])
    return width, height


def wait_served(url, timeout_s=PATIENCE_S):
    """Its (width, height). edged is ready after 3 s at the latest, whatever its cameras do."""
    return wait_until(f"a picture of {url}", lambda: picture_size(url, timeout_s), timeout_s)


def decode_gray(url, frames, timeout_s=PATIENCE_S):
    """The luma of the first `frames` pictures a TCP viewer of `url` decodes, limited range kept."""
    width, height = wait_served(url, timeout_s)
    client = subprocess.run(
        ["ffmpeg", "-v", "error", "-rtsp_transport", "tcp", "-i", url, "-frames:v", str(frames),
         "-vf", "extractplanes=y", "-vsync", "passthrough", "-f", "rawvideo", "-pix_fmt", "gray", "-"],
        stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout_s)
    assert client.returncode == 0, client.stderr.decode()
    pictures = np.frombuffer(client.stdout, np.uint8).reshape(-1, height, width)
    assert len(pictures) == frames, client.stderr.decode()
    return pictures


def wait_moving(url, count, timeout_s=PATIENCE_S):
    """So many different pictures of a scene that moves; slates may come between them."""
    def decoded():
        shown = [p for p in decode_gray(url, 2 * count, timeout_s) if not shows_no_signal(p)]
        different = {picture.tobytes(): picture for picture in shown}
        return len(different) >= count and list(different.values())

    return wait_until(f"{count} different pictures of {url}", decoded, timeout_s)


class Bed:
    """One running system. Subclasses say how to run a shell command in it."""

    patience_s = PATIENCE_S

    def run(self, command, timeout_s=None):
        """Runs a shell command as root; (exit status, stdout and stderr together)."""
        raise NotImplementedError

    def check(self, command, timeout_s=None):
        status, output = self.run(command, timeout_s)
        assert status == 0, f"{command}: exit status {status}\n{output}\n{self.journal()}"
        return output

    def write(self, path, text):
        self.check(f"cat >{path} <<'END_OF_FILE'\n{text}\nEND_OF_FILE")

    def journal(self, lines=60):
        """The last lines of edged's, what it has written until now among them."""
        return self.run(f"journalctl --sync; journalctl -u edged -u 'edged-camera@*' -n {lines} --no-pager -o short-monotonic")[1]

    def property(self, name):
        return self.check(f"systemctl show -P {name} edged").strip()

    def status(self):
        """Asked for again where edged is so slow that edgectl does not wait for it."""
        def answer():
            status, output = self.run("edgectl status --json")
            return status == 0 and output

        return json.loads(wait_until("an answer to edgectl", answer, self.patience_s))

    def camera(self, name):
        return next(camera for camera in self.status()["cameras"] if camera["name"] == name)

    def restart(self, conf, timeout_s=None):
        """Puts a configuration in place and starts edged with it."""
        self.run("systemctl stop edged; systemctl reset-failed edged")
        self.write(CONF, conf)
        self.check("systemctl start edged", timeout_s)

    def wait_booted(self, timeout_s):
        wait_until("the system is up", lambda: "run" in self.run("systemctl is-system-running")[1] or
                   "degraded" in self.run("systemctl is-system-running")[1], timeout_s)
        self.check("systemctl is-active bed-install")
