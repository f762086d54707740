"""The Debian packages in a system: installed, upgraded, removed and purged by dpkg."""

import json
import re
import subprocess

import beds
import pytest
from packages import BUILT, BUILT_AGAIN, NAMES, NEW_COMMENT, NEW_VERSION, TEMPLATE

USERS = "/etc/edged/rtsp.users"
AVAHI = "/etc/avahi/services/edged.service"
# What Ubuntu 20.04 has, JetPack 5's: libraries by names that 22.04 and 24.04 (JetPack 6 and 7) have too.
UBUNTU_20_04 = {
    "libc6": "2.31-0ubuntu9",
    "libconfig9": "1.5-0.4build1",
    "libglib2.0-0": "2.64.6-1~ubuntu20.04.9",
    "libgnutls30": "3.6.13-2ubuntu1.12",
    "libgstreamer-plugins-base1.0-0": "1.16.3-0ubuntu1.4",
    "libgstreamer1.0-0": "1.16.3-0ubuntu1.2",
    "libjson-glib-1.0-0": "1.4.4-2ubuntu2",
    "libmicrohttpd12": "0.9.66-1",
    "libmosquitto1": "1.6.9-1",
    "libpng16-16": "1.6.37-2",
    "libsystemd0": "245.4-4ubuntu3",
    "libturbojpeg": "2.0.3-0ubuntu1",
    "libv4l-0": "1.18.0-2build1",
}


def test_two_builds_in_two_folders_have_the_same_bytes():
    packages = sorted(path.name for path in BUILT.glob("*.deb"))
    assert len(packages) == 2 * len(NAMES)  # with their debug symbols
    assert packages == sorted(path.name for path in BUILT_AGAIN.glob("*.deb"))
    for package in packages:
        assert (BUILT / package).read_bytes() == (BUILT_AGAIN / package).read_bytes(), package


@pytest.mark.skipif(not beds.CROSSED, reason="built natively they are for this release")
def test_packages_for_jetsons_install_on_ubuntu_20_04_and_newer(tmp_path):
    for name in NAMES:
        package, = BUILT.glob(f"{name}_*.deb")
        wanted = subprocess.run(["dpkg-deb", "--field", package, "Depends"], check=True,
                                capture_output=True, text=True).stdout
        libraries = [entry for entry in wanted.split(", ") if entry.startswith("lib")]
        assert any(entry.startswith("libmosquitto1") for entry in libraries) == (name == "edged-mqtt")
        assert len(libraries) >= (6 if name == "edged-mqtt" else 10)
        for entry in libraries:
            alternatives = re.findall(r"([^ |]+)(?: \(>= ([^)]+)\))?", entry)
            assert any(other in UBUNTU_20_04 and not subprocess.run(
                ["dpkg", "--compare-versions", UBUNTU_20_04[other], "ge", least or "0"], check=False).returncode
                for other, least in alternatives), f"{name} wants {entry}"
        subprocess.run(["dpkg-deb", "--extract", package, tmp_path], check=True)
    programs = [path for path in tmp_path.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    assert sorted(path.name for path in programs) == ["edgectl", "edged", "edged-camera", "edged-mqtt", "edged-recorder"]
    for program in programs:
        versions = subprocess.run(["readelf", "--version-info", program], check=True, capture_output=True,
                                  text=True).stdout
        assert "libc.so.6" in versions
        # Its 1.4 has none: the loader would complain at each start.
        assert "libjson-glib" not in versions


def test_an_installation_ends_with_what_to_type_next_and_an_upgrade_does_not(system):
    assert "sudo edgectl setup" in system.install()
    assert "edgectl setup" not in system.install("new")


def test_an_installed_package_films_once_it_is_started(system):
    system.install()
    assert system.property("LoadState") == "loaded"
    assert system.property("ActiveState") == "inactive"
    assert system.run("systemctl is-enabled edged edged.socket")[1].split() == ["disabled"] * 2
    groups = system.check("id -nG edged").split()
    assert {"edged", "video"} <= set(groups)
    assert not system.run("edged --check")[0]
    system.configure()
    system.check("systemctl start edged")
    system.streams()
    system.check("edgectl status")


def test_an_upgrade_keeps_the_file_of_the_user_and_starts_what_ran_anew(system):
    system.install()
    system.configure()
    system.check("systemctl start edged && systemctl enable --now edged-upload.path")
    conf, before = system.check(f"cat {beds.CONF}"), system.main_pid()
    system.install("new")
    assert system.check("dpkg-query -W -f '${Version}' edged") == NEW_VERSION
    assert system.check(f"cat {beds.CONF}") == conf
    assert NEW_COMMENT in system.check(f"cat {TEMPLATE}")
    assert system.property("ActiveState") == "active"
    assert system.main_pid() not in (0, before)
    assert system.run("systemctl is-active edged-upload.path edged-upload.timer")[1].split() == ["active", "inactive"]
    system.streams()


def test_an_upgrade_replaces_the_recorder_and_loses_no_clip(system):
    system.install()
    system.configure('record = { view = "edges"; mode = "always"; };')
    system.check("systemctl start edged")

    def recorder():
        return int(system.check("systemctl show -P MainPID edged-recorder.service"))

    def clips(suffix):
        return beds.wait_until(f"a clip {suffix}", lambda: system.run(
            f"find /var/lib/edged/clips -name '*{suffix}' | grep .")[1].split())

    first, = clips(".mp4.part")
    before = recorder()
    system.install("new")
    assert first.removesuffix(".part") in clips(".mp4")
    assert first not in clips(".mp4.part")
    assert recorder() not in (0, before)


def test_an_upgrade_leaves_a_file_that_nobody_changed_and_starts_nothing(system):
    system.install()
    conf = system.check(f"cat {beds.CONF}")
    assert conf == system.check(f"cat {TEMPLATE}")
    system.install("new")
    assert system.check(f"cat {beds.CONF}") == conf
    assert system.property("ActiveState") == "inactive"


@pytest.mark.parametrize("state", ["edited", "unedited", "deleted"])
def test_a_file_that_was_a_conffile_is_as_it_was_after_an_upgrade_and_a_downgrade(system, state):
    system.install("old")
    assert beds.CONF in system.check("dpkg-query -W -f '${Conffiles}' edged")
    if state == "edited":
        system.configure()
    elif state == "deleted":
        system.check(f"rm {beds.CONF}")
    # Its content, owner, mode and time; nothing where it was deleted.
    look = f"cat {beds.CONF} 2>/dev/null; stat -c '%U:%G %a %y' {beds.CONF} 2>/dev/null"
    before = system.run(look)
    # An earlier version makes a file anew that is not there: dpkg has forgotten that it was deleted.
    for version in ("", "new", "", *(() if state == "deleted" else ("old",))):
        system.install(version)
        assert system.run(look) == before, version
    system.install("new")
    system.dpkg("purge")
    assert not system.exists("/etc/edged")


@pytest.mark.skipif(beds.CROSSED, reason="the version in use is built for this machine")
def test_a_downgrade_loses_nothing_that_was_kept(system):
    """And a change made in the earlier version is there after the next upgrade."""
    system.install("new")
    system.check(f"printf 'correct horse\\n' | edgectl passwd --role admin --file {USERS} bob")
    system.write(beds.CONF, f"""
        rtsp = {{ port = {system.rtsp_port}; users = "{USERS}"; }};
        cameras = ( {{
            name = "front"; source = "pattern"; width = 320; height = 240; fps = 15;
            regions = ( {{ name = "door"; }} );
            record = {{ view = "edges"; mode = "always"; max_clip_s = 10; }};
            views = ( {{ name = "edges"; view = "edges"; }} );
        }} );
    """)
    system.check("systemctl start edged")
    system.check("edgectl set --keep cameras.front.views.edges.gain=2.5 cameras.front.views.edges.label.text=Tür "
                 "cameras.front.regions.door.threshold=44 cameras.front.privacy.pane.polygon=0:0,0.5:0,0.5:0.5")

    def closed():
        fields = ("camera", "view", "start", "end", "asked", "gap", "bytes", "always", "keep", "picture")
        return {clip["id"]: {field: clip[field] for field in fields}
                for clip in json.loads(system.check("edgectl clips --limit 0 --json"))
                if not clip["open"] and clip["picture"]}

    def bytes_of(clips):
        return {number: system.check(f"edgectl clips export {number} - | sha256sum") for number in clips}

    def settings():
        return {row["key"]: row["running"] for row in json.loads(system.check("edgectl diff --json"))["settings"]
                if row["from"] == "kept"}

    beds.wait_until("two whole clips", lambda: len(closed()) >= 2)
    system.check("edgectl clips keep 1")
    clips, kept = closed(), settings()
    files = bytes_of(clips)
    assert len(kept) == 4 and clips[1]["keep"]
    for version in ("landed", "new"):
        system.install(version)
        beds.wait_until("the recorder", lambda: clips.keys() <= closed().keys())
        assert {number: closed()[number] for number in clips} == clips
        assert bytes_of(clips) == files
        assert settings() == kept
        system.streams("bob:correct%20horse@")
        system.check("edgectl set --keep cameras.front.views.edges.gain=3.5")
        kept["cameras.front.views.edges.gain"] = 3.5
    assert system.check("dpkg-query -W -f '${Version}' edged") == NEW_VERSION


def test_an_upgrade_keeps_the_socket_that_listens(system):
    system.install()
    system.configure()
    system.check("mkdir -p /etc/systemd/system/edged.socket.d")
    system.write("/etc/systemd/system/edged.socket.d/address.conf",
                 f"[Socket]\nListenStream=\nListenStream=127.0.0.1:{system.rtsp_port}")
    system.check("systemctl daemon-reload && systemctl enable --now edged.socket edged")
    system.install("new")
    assert system.check("systemctl is-active edged.socket edged").split() == ["active"] * 2
    system.streams()


def test_removed_packages_leave_the_configuration_and_purged_ones_nothing_of_theirs(system):
    system.install()
    system.configure()
    system.check("systemctl enable --now edged")
    system.check("printf 'correct horse\\n' | edgectl passwd bob")
    system.check("install -d /etc/edged/on-motion && echo true >/etc/edged/on-motion/mine")
    system.check("cd /etc/edged && echo RELAY= >push.conf && echo '[clips]' >rclone.conf && echo {} >answers.json")
    system.check("systemctl enable edged-on-motion@mine edged-push@front-edges edged-upload.path edged-upload.timer")
    system.check("mkdir -p /etc/avahi/services")
    system.write(AVAHI, "<!-- Written by `edgectl setup`. -->\n")
    assert system.exists("/var/lib/edged") and system.exists("/var/cache/edged")

    system.dpkg("remove")
    assert not system.exists(AVAHI)
    assert system.run("pgrep -u edged")[0] == 1
    assert not system.exists("/usr/bin/edged") and not system.exists("/usr/bin/edgectl")
    assert "front" in system.check(f"cat {beds.CONF}")
    assert system.exists("/etc/edged/rtsp.users") and system.exists("/var/lib/edged")

    system.write(AVAHI, "<!-- The user's own. -->\n")
    system.dpkg("purge")
    left = system.check("find / -xdev -path /proc -prune -o -path /bed -prune -o "
                        "-name '*edged*' -print -prune").split()
    # Programs, keys and what else the user wrote are the user's own; a user stays, so that no other gets the owner
    # of its files.
    assert sorted(left) == [AVAHI, "/etc/edged"]
    assert sorted(system.check("cd /etc/edged && find * -type f").split()) == [
        "answers.json", "on-motion/mine", "push.conf", "rclone.conf"]
    system.check(f"rm -r {AVAHI} /etc/edged")
    assert system.run("systemctl status edged")[0] == 4  # there is no such unit
