"""The bundle, unpacked where there is nothing else: a root of its own with a few device nodes."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/e2e"), str(ROOT / "tests")]
BUILD = pathlib.Path(os.environ.get("EDGED_BUILD", ROOT / "build")).resolve()
TARBALL = BUILD / "bundle-check.tar.gz"
FOLDER = "some where"
# A new mount and process namespace: the bundle read-only, no other file, no variable.
ENTER = """
set -e
for node in null zero urandom; do mount --bind /dev/$node "$1/dev/$node"; done
mount -t proc proc "$1/proc"
mount --bind "$1/$2" "$1/$2"
mount -o remount,bind,ro "$1/$2"
root=$1
shift 2
exec /usr/bin/env -i /usr/sbin/chroot "$root" "$@"
"""


def unpack(folder):
    """Unpacks the bundle below `folder` and returns its path."""
    folder.mkdir(parents=True)
    subprocess.run(["tar", "-C", folder, "-xzf", TARBALL], check=True)
    return next(folder.iterdir())


class EmptyRoot:
    """A root folder that holds the bundle and nothing that could run beside it."""

    def __init__(self, path):
        self.path = path
        self.bundle = "/" / unpack(path / FOLDER).relative_to(path)
        self.started = []
        for folder in ("dev", "proc", "tmp"):
            (path / folder).mkdir()
        for node in ("null", "zero", "urandom"):
            (path / "dev" / node).touch()

    def command(self, program, *arguments):
        enter = ["unshare", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"]
        enter += ["sh", "-c", ENTER, "sh", self.path, FOLDER]
        return [str(word) for word in (*enter, self.bundle / program, *arguments)]

    def run(self, program, *arguments, timeout_s=600):
        return subprocess.run(
            self.command(program, *arguments), capture_output=True, text=True, timeout=timeout_s,
            stdin=subprocess.DEVNULL, check=False,
        )

    def start(self, program, *arguments):
        """Starts a program; its log is added to tmp/log."""
        with (self.path / "tmp/log").open("ab") as log:
            self.started.append(
                subprocess.Popen(self.command(program, *arguments), stderr=log)
            )

    def log(self):
        return (self.path / "tmp/log").read_text()

    def close(self):
        for process in self.started:
            process.send_signal(signal.SIGKILL)
            process.wait()


@pytest.fixture
def empty_root(tmp_path):
    root = EmptyRoot(tmp_path / "root")
    yield root
    root.close()
