"""What the tests of config/fleet share: its files with addresses of a test, an authority, engines."""

import os
import pathlib
import re
import signal
import subprocess

import daemon
import mqtt

FLEET = daemon.ROOT / "config/fleet"
# How long a broker or a store is away; EDGED_OUTAGE_S is for less.
OUTAGE_S = int(os.environ.get("EDGED_OUTAGE_S", "600"))


def run(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=daemon.PATIENCE_S,
                          check=False, **more)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def recipe(name, folder, changes):
    """Writes a file of config/fleet into the folder; each change names a text that has to be in it."""
    text = (FLEET / name).read_text()
    for was, now in changes.items():
        assert was in text, f"{name} has no {was}"
        text = text.replace(was, str(now))
    path = folder / pathlib.Path(name).name
    path.write_text(text)
    return path


class Authority:
    """A CA of one's own, as config/fleet/https/fleet-ca makes one."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(exist_ok=True)
        run(FLEET / "https/fleet-ca", cwd=folder)
        self.certificate = folder / "fleet-ca.crt"

    def sign(self, name="localhost", *addresses):
        """A certificate and its key."""
        run(FLEET / "https/fleet-ca", name, *(addresses or ("127.0.0.1",)), cwd=self.folder)
        return self.folder / f"{name}.crt", self.folder / f"{name}.key"


class Engine(mqtt.Process):
    """A server that is told to be ready by a line of its own; ended at the end of a test by `engines`."""

    def __init__(self, ready, *command, **extra):
        super().__init__(command, **extra)
        daemon.wait_for(lambda: re.search(ready, self.text()) or self.process.poll() is not None, explain=self.text)
        assert self.process.poll() is None, self.text()


def toggle_motion(server):
    """The fake camera process begins or ends motion."""
    os.kill(server.camera()["process"]["pid"], signal.SIGUSR1)

