"""The Debian packages in a system: installed, upgraded, removed and purged by dpkg."""

import beds
from packages import BUILT, BUILT_AGAIN, NAMES, NEW_COMMENT, NEW_VERSION


def test_two_builds_in_two_folders_have_the_same_bytes():
    packages = sorted(path.name for path in BUILT.glob("*.deb"))
    assert len(packages) == 2 * len(NAMES)  # with their debug symbols
    assert packages == sorted(path.name for path in BUILT_AGAIN.glob("*.deb"))
    for package in packages:
        assert (BUILT / package).read_bytes() == (BUILT_AGAIN / package).read_bytes(), package


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
    system.check("systemctl start edged")
    conf, before = system.check(f"cat {beds.CONF}"), system.main_pid()
    system.install("new")
    assert system.check("dpkg-query -W -f '${Version}' edged") == NEW_VERSION
    assert system.check(f"cat {beds.CONF}") == conf
    assert NEW_COMMENT in system.check(f"cat {beds.CONF}.dpkg-dist")
    assert system.property("ActiveState") == "active"
    assert system.main_pid() not in (0, before)
    system.streams()


def test_an_upgrade_replaces_a_file_that_nobody_changed_and_starts_nothing(system):
    system.install()
    system.install("new")
    assert NEW_COMMENT in system.check(f"cat {beds.CONF}")
    assert system.property("ActiveState") == "inactive"


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
    assert system.exists("/var/lib/edged") and system.exists("/var/cache/edged")

    system.dpkg("remove")
    assert system.run("pgrep -u edged")[0] == 1
    assert not system.exists("/usr/bin/edged") and not system.exists("/usr/bin/edgectl")
    assert "front" in system.check(f"cat {beds.CONF}")
    assert system.exists("/etc/edged/rtsp.users") and system.exists("/var/lib/edged")

    system.dpkg("purge")
    left = system.check("find / -xdev -path /proc -prune -o -path /bed -prune -o "
                        "-name '*edged*' -print -prune").split()
    # Programs are the user's own; a user stays, so that no other gets the owner of its files.
    assert left == ["/etc/edged"]
    assert system.check("find /etc/edged -type f").split() == ["/etc/edged/on-motion/mine"]
    assert system.run("systemctl status edged")[0] == 4  # there is no such unit
