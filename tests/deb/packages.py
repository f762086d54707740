"""A system with real systemd, into which dpkg installs what `make deb` built.

It is a container of its own for each test. Packages of another architecture are installed in a virtual
machine of it, which takes so long to start that tests share it: what they installed is purged in between.
"""

import os
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
# Where make check-deb has built a version that is in use, for this machine's architecture alone.
LANDED = pathlib.Path(os.environ.get("EDGED_LANDED", "none"))
INSIDE = "/bed/packages"
NAMES = ("edged", "edged-mqtt", "edged-tools")
NEW_VERSION = "99"
OLD_VERSION = "0.0.1"
TEMPLATE = "/usr/share/edged/edged.conf"
NEW_COMMENT = "# New in this version."


def stage(folder):
    """Lays out the packages, as `new/` a later version with another edged.conf, as `old/` an earlier one, in
    which that file was a conffile of dpkg's, and as `landed/` those of a version that is in use."""
    packages = folder / INSIDE[1:]
    for name in NAMES:
        package, = BUILT.glob(f"{name}_*_{ARCHITECTURE}.deb")
        for version in ("old", "new"):
            (packages / version).mkdir(parents=True, exist_ok=True)
        shutil.copy(package, packages / f"{name}.deb")
        repack(package, packages / "new" / f"{name}.deb", NEW_VERSION, add_comment)
        repack(package, packages / "old" / f"{name}.deb", OLD_VERSION, make_conffile)
        for landed in LANDED.glob(f"{name}_*_{ARCHITECTURE}.deb"):
            (packages / "landed").mkdir(exist_ok=True)
            shutil.copy(landed, packages / "landed" / f"{name}.deb")


def repack(package, result, new_version, change):
    """Makes another version of a package, whose unpacked tree `change` gets."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder) / "root"
        subprocess.run(["dpkg-deb", "-R", package, root], check=True)
        control = root / "DEBIAN/control"
        version = re.search(r"^Version: (.*)$", control.read_text(), re.MULTILINE)[1]
        control.write_text(control.read_text().replace(f"Version: {version}\n",
                                                       f"Version: {new_version}\n")
                           .replace(f"(= {version})", f"(= {new_version})"))
        if (root / TEMPLATE[1:]).exists():
            change(root)
        subprocess.run(["dpkg-deb", "--root-owner-group", "-b", root, result], check=True,
                       stdout=subprocess.DEVNULL)


def add_comment(root):
    template = root / TEMPLATE[1:]
    template.write_text(template.read_text() + NEW_COMMENT + "\n")


def make_conffile(root):
    """As edged 0.1.0 was packaged: the file is dpkg's, and no script makes it."""
    conf = root / beds.CONF[1:]
    conf.parent.mkdir(parents=True)
    (root / TEMPLATE[1:]).rename(conf)
    with (root / "DEBIAN/conffiles").open("a") as conffiles:
        conffiles.write(beds.CONF + "\n")
    postinst = root / "DEBIAN/postinst"
    text = postinst.read_text()
    assert "/etc/edged/edged.conf" in text
    postinst.write_text(re.sub(r"        if \[ ! -e /etc/edged/edged.conf \].*?\n        fi\n", "", text,
                               flags=re.DOTALL))
    assert "/etc/edged/edged.conf" not in postinst.read_text()


class Packages:
    """What can be done with packages in a bed whose `rtsp_port` is edged's, `port` its viewers'."""

    def install(self, folder=""):
        """Returns what dpkg printed."""
        # As apt does where nobody can be asked: a file that the user changed stays.
        return self.check(f"dpkg --force-confdef --force-confold -i {INSIDE}/{folder}/*.deb </dev/null")

    def dpkg(self, verb):
        self.check(f"dpkg --{verb} {' '.join(NAMES)} </dev/null")

    def configure(self, of_camera=""):
        """Changes edged.conf, as a user would."""
        self.write(beds.CONF, f"""
            rtsp = {{ port = {self.rtsp_port}; }};
            cameras = ( {{ name = "front"; source = "pattern"; width = 640; height = 360; fps = 15; {of_camera}
                           views = ( {{ name = "edges"; view = "edges"; }} ); }} );
        """)

    def streams(self, login=""):
        url = f"rtsp://{login}127.0.0.1:{self.port}/edges"
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
