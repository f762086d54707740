"""A container with real systemd as process 1, on the root scripts/bed-root built.

It shares the host's network, unless an option says otherwise, so a viewer on the host reaches
edged's loopback port. What it writes goes to an overlay in memory and is gone with it.
"""
import os
import pathlib
import signal
import subprocess
import tempfile

import beds


ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}


def own_cgroups():
    """The folders of this process's cgroups that a systemd in a container would take for its own."""
    lines = pathlib.Path("/proc/self/cgroup").read_text().splitlines()
    paths = {name: path for _, name, path in (line.split(":", 2) for line in lines)}
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        mount, filesystem = (half.split() for half in line.split(" - ", 1))
        name = "" if filesystem[0] == "cgroup2" else "name=systemd"
        if name in paths and (not name or name in filesystem[2].split(",")):
            yield pathlib.Path(mount[4] + paths[name])


class Container(beds.Bed):
    def __init__(self, *options, stage=beds.stage):
        """`options` are systemd-nspawn's; `stage` fills a folder that is copied into the system."""
        assert os.geteuid() == 0, "the test beds need root: systemd-nspawn boots a whole system"
        self.directory = tempfile.TemporaryDirectory(prefix="edged-bed-")
        directory = pathlib.Path(self.directory.name)
        staged = directory / "stage"
        stage(staged)
        self.console = open(directory / "console.log", "w+")
        # Two containers in the same cgroups would stop and remove each other's services.
        self.cgroups = [cgroup / directory.name for cgroup in own_cgroups()]
        for cgroup in self.cgroups:
            cgroup.mkdir()
        self.process = subprocess.Popen(
            ["sh", "-ec", 'until [ "$1" = systemd-nspawn ]; do echo $$ >"$1"; shift; done; exec "$@"', "sh",
             *[cgroup / "cgroup.procs" for cgroup in self.cgroups],
             "systemd-nspawn", "--quiet", "--directory", beds.BEDS / "root", "--boot",
             "--register=no", "--keep-unit", "--volatile=overlay", "--console=pipe",
             f"--bind-ro={staged}:/bed/stage", *options],
            stdin=subprocess.DEVNULL, stdout=self.console, stderr=subprocess.STDOUT)
        self.leader = beds.wait_until("systemd in the container", self._find_leader)
        self.wait_booted(beds.PATIENCE_S)

    def _find_leader(self):
        """The process that is number 1 in there."""
        assert self.process.poll() is None, self.console_text()
        pids = [self.process.pid]
        for pid in pids:
            try:
                for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                    pids += map(int, (task / "children").read_text().split())
                status = pathlib.Path(f"/proc/{pid}/status").read_text()
            except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
                continue
            numbers = next(line for line in status.splitlines() if line.startswith("NSpid"))
            if len(numbers.split()) > 2 and numbers.split()[-1] == "1":
                name = pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
                return pid if name == "systemd" else None
        return None

    def console_text(self):
        return pathlib.Path(self.console.name).read_text()

    def inside(self, *command):
        """What runs a command in there."""
        return ["nsenter", "--target", str(self.leader), "--all", "--", *command]

    def run(self, command, timeout_s=None):
        done = subprocess.run(self.inside("bash", "-c", command),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True,
                              timeout=timeout_s or self.patience_s,
                              env=ENVIRONMENT)
        return done.returncode, done.stdout

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()  # systemd-nspawn powers the container off
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                os.kill(self.leader, signal.SIGKILL)  # systemd-nspawn's own end would leave it
                self.process.wait()
        for cgroup in self.cgroups:
            for folder, _, _ in os.walk(cgroup, topdown=False):
                os.rmdir(folder)
        self.console.close()
        self.directory.cleanup()
