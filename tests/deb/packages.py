"""A system with real systemd, into which dpkg installs what `make deb` built.

It is a container of its own for each test. Packages of another architecture are installed in a virtual
machine of it, which takes so long to start that tests share it: what they installed is purged in between.
"""

import pathlib
import re
import shutil
import subprocess
import tempfile

import beds
from container import Container
from machine import Machine
from ports import free_port

ARCHITECTURE = beds.ARCHITECTURE
BUILT = beds.BUILD / "deb" / ARCHITECTURE
BUILT_AGAIN = beds.BUILD / "again/deb" / ARCHITECTURE
INSIDE = "/bed/packages"
NAMES = ("edged", "edged-tools")
NEW_VERSION = "99"
NEW_COMMENT = "# New in this version."


def stage(folder):
    """Lays out the packages, and as `new/` a later version with another edged.conf."""
    packages = folder / INSIDE[1:]
    (packages / "new").mkdir(parents=True)
    for name in NAMES:
        package, = BUILT.glob(f"{name}_*_{ARCHITECTURE}.deb")
        shutil.copy(package, packages / f"{name}.deb")
        make_newer(package, packages / "new" / f"{name}.deb")


def make_newer(package, result):
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder) / "root"
        subprocess.run(["dpkg-deb", "-R", package, root], check=True)
        control = root / "DEBIAN/control"
        version = re.search(r"^Version: (.*)$", control.read_text(), re.MULTILINE)[1]
        control.write_text(control.read_text().replace(f"Version: {version}\n",
                                                       f"Version: {NEW_VERSION}\n")
                           .replace(f"(= {version})", f"(= {NEW_VERSION})"))
        conf = root / beds.CONF[1:]
        if conf.exists():
            conf.write_text(conf.read_text() + NEW_COMMENT + "\n")
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", root, result], check=True,
                       stdout=subprocess.DEVNULL)


class Packages:
    """What can be done with packages in a bed whose `rtsp_port` is edged's, `port` its viewers'."""

    def install(self, folder=""):
        """Returns what dpkg printed."""
        # As apt does where nobody can be asked: a file that the user changed stays.
        files = " ".join(f"{INSIDE}/{folder}/{name}.deb" for name in NAMES)
        return self.check(f"dpkg --force-confdef --force-confold -i {files} </dev/null")

    def dpkg(self, verb):
        self.check(f"dpkg --{verb} {' '.join(NAMES)} </dev/null")

    def configure(self, of_camera=""):
        """Changes edged.conf, as a user would."""
        self.write(beds.CONF, f"""
            rtsp = {{ port = {self.rtsp_port}; }};
            cameras = ( {{ name = "front"; source = "pattern"; width = 640; height = 360; fps = 15; {of_camera}
                           views = ( {{ name = "edges"; view = "edges"; }} ); }} );
        """)

    def streams(self):
        url = f"rtsp://127.0.0.1:{self.port}/edges"
        pictures = beds.wait_moving(url, 5, self.patience_s)
        # Edges: mostly dark, somewhere bright.
        assert pictures[0].max() > 150 and pictures[0].mean() < 100

    def exists(self, path):
        return self.run(f"test -e {path}")[0] == 0

    def main_pid(self):
        return int(self.property("MainPID"))


class PackagedContainer(Packages, Container):
    def __init__(self):
        super().__init__(stage=stage)
        self.port = self.rtsp_port = free_port()


class PackagedMachine(Packages, Machine):
    def __init__(self):
        super().__init__(stage=stage)

    def install(self, folder=""):
        printed = super().install(folder)
        # The first start looks at every plugin of GStreamer, for which an emulator may take longer than the
        # minute that a camera process may say nothing: done before, in the cache of the service.
        self.run("systemd-run --wait --collect --property=User=edged --property=CacheDirectory=edged "
                 "--setenv=XDG_CACHE_HOME=/var/cache/edged edgectl doctor")
        return printed

    def reset(self):
        """Leaves the system as it was before a test."""
        self.run("systemctl disable --now edged.socket edged")
        self.dpkg("purge")
        self.check("rm -rf /etc/edged /etc/systemd/system/edged.socket.d && systemctl daemon-reload && "
                   "{ userdel edged 2>/dev/null; groupdel edged 2>/dev/null; true; }")
