"""edged as a service of a real systemd: started, watched, reloaded and stopped by systemctl."""
import json
import re
import socket
import subprocess

import pytest

import beds
from ports import free_port

# MESSAGE_IDs as edged(8) documents them.
MESSAGE_STARTED = "81b3b01a78e945829982cf1a9d5d5e60"
MESSAGE_STOPPING = "83d76d4b537b4bcd8498c1573a54cf20"
MESSAGE_CAMERA_STATE = "d246ad3716ab463c9fd0d8e99ab3988b"


class Service:
    """edged in the container, on a port of its own, started afresh for each test."""

    def __init__(self, container):
        self.bed = container
        self.port = free_port()
        self.invocation = None

    def start(self):
        self.bed.restart(self.conf())
        self.invocation = self.bed.property("InvocationID")

    def conf(self, views='{ name = "edges"; view = "edges"; }'):
        return f"""
            rtsp = {{ port = {self.port}; }};
            cameras = ( {{ name = "front"; source = "pattern"; width = 640; height = 360; fps = 15;
                           views = ( {views} ); }} );
        """

    def url(self, view):
        return f"rtsp://127.0.0.1:{self.port}/front/{view}"

    def main_pid(self):
        return int(self.bed.property("MainPID"))

    def messages(self, message_id):
        """Journal entries with that MESSAGE_ID of edged as the fixture started it, or of another invocation."""
        lines = self.bed.check(
            f"journalctl --sync; journalctl -o json MESSAGE_ID={message_id} "
            f"_SYSTEMD_INVOCATION_ID={self.invocation}").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]


@pytest.fixture
def service(container):
    service = Service(container)
    service.start()
    yield service
    container.run("systemctl stop edged; systemctl reset-failed edged")


def test_start_reaches_ready_and_says_what_it_does(service):
    assert service.bed.property("ActiveState") == "active"
    assert service.bed.property("SubState") == "running"
    beds.wait_until("the frame rate in the status text",
                    lambda: "fps" in service.bed.property("StatusText"))
    assert service.bed.check("ps -o user= -p $(systemctl show -P MainPID edged)").strip() == "edged"


def test_client_decodes_different_frames(service):
    pictures = beds.wait_moving(service.url("edges"), 10)
    assert pictures[0].shape == (360, 640)
    # Edges: mostly dark, somewhere bright.
    assert pictures[0].max() > 150 and pictures[0].mean() < 100


def test_reload_takes_new_settings_without_a_new_process(service):
    before = service.main_pid()
    service.bed.write(beds.CONF, service.conf('{ name = "plain"; view = "gray"; }'))
    service.bed.check("systemctl reload edged")
    beds.wait_served(service.url("plain"))
    assert beds.picture_size(service.url("edges")) is None
    assert service.main_pid() == before
    assert service.bed.property("ActiveState") == "active"


def test_refused_reload_keeps_the_old_settings(service):
    before = service.main_pid()
    service.bed.write(beds.CONF, "cameras = ( { fps = -1; } );")
    assert service.bed.run("systemctl reload edged")[0] != 0
    beds.wait_until("the refusal in the journal",
                    lambda: "cameras[0].fps" in service.bed.journal())
    assert beds.decode_gray(service.url("edges"), 3).shape == (3, 360, 640)
    assert service.main_pid() == before


def test_stop_with_a_viewer_ends_in_success(service):
    viewer = subprocess.Popen(
        ["ffmpeg", "-v", "error", "-rtsp_transport", "tcp", "-i", service.url("edges"),
         "-f", "null", "-"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        beds.wait_until("the viewer counts", lambda: service.bed.status()["viewers"] == 1)
        service.bed.check("systemctl stop edged")
    finally:
        viewer.kill()
        viewer.wait()
    assert service.bed.property("Result") == "success"
    assert service.bed.property("ExecMainStatus") == "0"
    assert service.messages(MESSAGE_STOPPING)
    # Nothing of it stays behind, once systemd has heard of the ends of the camera's process.
    beds.wait_until("their end", lambda: service.bed.run("pgrep -u edged")[0] == 1)
    assert service.bed.run("test -e /run/edged")[0] == 1


def test_hung_front_is_replaced_by_the_watchdog(service):
    before = service.main_pid()
    service.bed.check(f"kill -STOP {before}")
    # WatchdogSec and TimeoutStopSec at worst, and the start after them.
    beds.wait_until("a new process", lambda: service.main_pid() not in (0, before))
    assert int(service.bed.property("NRestarts")) == 1
    beds.wait_until("active again", lambda: service.bed.property("ActiveState") == "active")
    assert beds.decode_gray(service.url("edges"), 3).shape == (3, 360, 640)


def test_killed_camera_process_is_not_a_failure_of_the_service(service):
    before = service.main_pid()
    camera = beds.wait_until("a camera process",
                             lambda: service.bed.camera("front")["process"]["pid"])
    service.bed.check(f"kill -KILL {camera}")
    beds.wait_until("another camera process",
                    lambda: service.bed.camera("front")["process"]["pid"] not in (0, camera))
    assert service.main_pid() == before
    assert service.bed.property("NRestarts") == "0"


@pytest.fixture
def held_start(service):
    """edged's next start waits until release() is called."""
    dropin, gate = "/run/systemd/system/edged.service.d/held.conf", "/run/released"
    service.bed.check(f"mkdir -p $(dirname {dropin}); rm -f {gate}")
    service.bed.write(dropin, "[Service]\nExecStartPre=/bin/sh -c "
                              f"'until test -e {gate}; do sleep 0.1; done'")
    service.bed.check("systemctl daemon-reload")
    yield lambda: service.bed.check(f"touch {gate}")
    service.bed.run(f"touch {gate}; rm {dropin}; systemctl daemon-reload")


def connect(port, host="127.0.0.1"):
    return socket.create_connection((host, port), beds.PATIENCE_S)


def is_answered(viewer, url):
    viewer.sendall(f"OPTIONS {url} RTSP/1.0\r\nCSeq: 1\r\n\r\n".encode())
    return viewer.recv(64).startswith(b"RTSP/1.0 200")


@pytest.mark.parametrize("restart", ["systemctl restart --no-block edged",
                                     "kill -KILL $(systemctl show -P MainPID edged)"])
def test_connections_wait_while_edged_is_started_again(service, held_start, restart):
    before = service.main_pid()
    service.bed.check(restart)
    beds.wait_until("its end", lambda: service.main_pid() != before)
    assert service.bed.run("pgrep -x edged")[0] == 1
    with connect(service.port) as viewer:
        held_start()
        assert is_answered(viewer, service.url("edges"))
    assert beds.decode_gray(service.url("edges"), 3).shape == (3, 360, 640)


def http_status(port):
    with connect(port) as client:
        client.sendall(b"GET /v1/status HTTP/1.0\r\n\r\n")
        return client.recv(64).split(b"\r\n")[0]


def test_the_control_api_over_tcp_waits_as_well(service, held_start):
    port = free_port()
    service.bed.write(beds.CONF, service.conf() + f"http = {{ port = {port}; }};")
    service.bed.check("systemctl reload edged")
    before = service.main_pid()
    service.bed.check("systemctl restart --no-block edged")
    beds.wait_until("its end", lambda: service.main_pid() != before)
    with connect(port) as client:
        held_start()
        client.sendall(b"GET /v1/status HTTP/1.0\r\n\r\n")
        assert b" 200 " in client.recv(64).split(b"\r\n")[0]


# What systemd keeps of the old address must not stand in the way, nor let anybody wait there.
def test_a_reload_moves_the_control_api_and_leaves_nobody_waiting(service):
    first, second = free_port(), free_port()
    open_to_all = service.conf().replace("port", 'auth = "none"; port', 1)
    for line in (f"port = {first};", f"port = {second};",
                 f'port = {second}; address = "0.0.0.0";'):
        service.bed.write(beds.CONF, open_to_all + f"http = {{ {line} }};")
        service.bed.check("systemctl reload edged")
    assert b" 200 " in http_status(second)
    with pytest.raises(ConnectionRefusedError):
        connect(first)


def test_a_restart_takes_another_address_and_leaves_the_old_one(service):
    old = service.port
    service.port = free_port()
    service.bed.write(beds.CONF, service.conf().replace(
        "port", 'auth = "none"; address = "0.0.0.0"; port'))
    service.bed.check("systemctl restart edged")
    beds.wait_served(service.url("edges"))
    with pytest.raises(ConnectionRefusedError):
        connect(old)
    # The same port on one address alone.
    service.bed.write(beds.CONF, service.conf())
    service.bed.check("systemctl restart edged")
    beds.wait_served(service.url("edges"))
    with pytest.raises(ConnectionRefusedError):
        connect(service.port, "127.0.0.2")


def test_a_stopped_service_refuses_connections(service):
    service.bed.check("systemctl stop edged")
    with pytest.raises(ConnectionRefusedError):
        connect(service.port)


@pytest.fixture
def held_address(service):
    """edged.socket in the place of a stopped edged; called with the address to listen on."""
    dropin = "/run/systemd/system/edged.socket.d/address.conf"
    service.bed.check(f"systemctl stop edged; mkdir -p $(dirname {dropin})")

    def hold(address):
        service.bed.write(dropin, f"[Socket]\nListenStream=\nListenStream={address}")
        service.bed.check("systemctl daemon-reload; systemctl start edged.socket")

    yield hold
    service.bed.run(f"systemctl stop edged.socket edged; rm -f {dropin} /etc{dropin[4:]}; "
                    "systemctl daemon-reload")


def test_a_connection_to_edged_socket_starts_edged(service, held_address):
    held_address(f"127.0.0.1:{service.port}")
    with connect(service.port) as viewer:
        assert is_answered(viewer, service.url("edges"))
    beds.wait_until("active", lambda: service.bed.property("ActiveState") == "active")
    assert "edged.socket" not in service.bed.run(
        "journalctl -u edged _SYSTEMD_INVOCATION_ID=$(systemctl show -P InvocationID edged)")[1]


def test_edged_socket_with_another_port_is_named_and_left_alone(service, held_address):
    other = free_port()
    held_address(f"127.0.0.1:{other}")
    service.bed.check("systemctl start edged")
    assert (f"edged.socket listens on 127.0.0.1:{other}, which the configuration does not name"
            in service.bed.journal())
    beds.wait_served(service.url("edges"))


# 192.0.2.0/24 is nobody's (RFC 5737).
def test_edged_socket_takes_an_address_that_is_to_come(service, held_address):
    held_address(f"192.0.2.7:{service.port}")
    assert service.bed.check("systemctl is-active edged.socket").strip() == "active"


def test_setup_starts_a_running_service_again(service):
    before = service.main_pid()
    said = service.bed.check("edgectl setup --view gray --force </dev/null")
    assert f"rtsp://127.0.0.1:{service.port}/front/gray" in said
    beds.wait_served(service.url("gray"))
    assert service.main_pid() not in (0, before)


def test_setup_says_how_to_start_a_service_that_does_not_run(service):
    service.bed.check("systemctl stop edged")
    said = service.bed.check("edgectl setup --view gray --force </dev/null")
    assert "systemctl enable --now edged" in said
    assert service.bed.property("ActiveState") == "inactive"


def test_setup_keeps_edged_socket_in_step(service, held_address):
    held_address(f"127.0.0.1:{free_port()}")
    service.bed.check("edgectl setup --view gray --force </dev/null")
    with connect(service.port) as viewer:
        assert is_answered(viewer, service.url("gray"))
    assert "does not name" not in service.bed.run(
        "journalctl -u edged _SYSTEMD_INVOCATION_ID=$(systemctl show -P InvocationID edged)")[1]


def test_journal_carries_message_ids_and_fields(service):
    assert len(service.messages(MESSAGE_STARTED)) == 1
    unit = beds.wait_until("a unit", lambda: units(service))[0].split()[0]
    service.invocation = service.bed.check(f"systemctl show -P InvocationID {unit}").strip()
    states = beds.wait_until("a camera's state",
                             lambda: service.messages(MESSAGE_CAMERA_STATE))
    assert states[0]["EDGED_CAMERA"] == "front"
    assert states[0]["EDGED_STATE"]
    assert states[0]["_SYSTEMD_UNIT"] == unit


def test_status_is_there_for_root_and_for_the_group(service):
    assert service.bed.camera("front")["source"] == "pattern"
    as_member = "setpriv --reuid=nobody --regid=edged --clear-groups edgectl status --json"
    assert json.loads(service.bed.check(as_member))["cameras"][0]["name"] == "front"
    as_stranger = "setpriv --reuid=nobody --regid=nogroup --clear-groups edgectl status --json"
    assert service.bed.run(as_stranger)[0] != 0


def test_broken_configuration_fails_once_with_its_messages(service):
    service.bed.run("systemctl stop edged")
    service.bed.write(beds.CONF, 'rtsp = { prt = 1; };\ncameras = ( { fps = 1000000; } );')
    assert service.bed.run("systemctl start edged")[0] != 0
    assert service.bed.property("ActiveState") == "failed"
    assert service.bed.property("ExecMainStatus") == "1"
    assert service.bed.property("NRestarts") == "0"
    journal = service.bed.journal()
    assert f"{beds.CONF}:1: error: rtsp.prt" in journal
    assert f"{beds.CONF}:2: error: cameras[0].fps" in journal


@pytest.fixture
def read_only_root(service):
    """A root that nobody can write to, with empty folders in memory for what changes."""
    changing = ("/var/lib", "/var/cache", "/tmp")
    service.bed.check("systemctl stop edged")
    service.bed.write(beds.CONF, service.conf().replace(
        "rtsp = {", f"rtsp = {{ tls_port = {free_port()};"))
    for folder in changing:
        service.bed.check(f"mount -t tmpfs tmpfs {folder}")
    service.bed.check("journalctl --relinquish-var && mount -o remount,bind,ro /")
    yield changing
    service.bed.run("systemctl stop edged")
    service.bed.check("mount -o remount,bind,rw / && umount " + " ".join(changing))


def test_on_a_read_only_root_its_own_folders_are_all_it_writes_to(service, read_only_root):
    assert service.bed.run("touch /etc/edged/file")[0] != 0
    service.bed.check("systemctl start edged")
    assert beds.decode_gray(service.url("edges"), 3).shape == (3, 360, 640)
    service.bed.check("systemctl restart edged")
    beds.wait_served(service.url("edges"))
    folders = " ".join(read_only_root)
    written = service.bed.check(f"find {folders} -type f -user edged").split()
    # The certificate, which is made where there is none; what libraries keep can be lost.
    assert [path for path in written if not path.startswith("/var/cache/edged/")] == \
        ["/var/lib/edged/tls.pem"]
    service.bed.check("cd /run && edgectl support --output support.tar.gz")
    journal = service.bed.check("tar -xOzf /run/support.tar.gz --wildcards '*/journal.txt'")
    assert "ready: rtsp" in journal


# Each succeeds in a shell of root's without the unit.
PROBES = {
    "another device": "head -c 1 /dev/kmsg",
    "memory": "head -c 1 /dev/mem",
    "a home": "ls /root/probe",
    "a write to /etc": "touch /etc/edged/probe",
    "a write to /usr": "touch /usr/probe",
    "a write to /tmp": "touch /tmp/probe",
    "a namespace": "unshare --user true",
    "the host's name": "hostname probe",
}


@pytest.fixture
def probed(service):
    """What a shell in the unit's own sandbox says of each probe, after edged has started."""
    dropin = "/run/systemd/system/edged.service.d/probes.conf"
    probes = "\n".join(f'{command} >/dev/null 2>&1 && echo "{name}"'
                       for name, command in PROBES.items())
    service.bed.check(f"mkdir -p $(dirname {dropin}); touch /root/probe")
    service.bed.write("/run/probes", f"{probes}\ntouch /var/lib/edged/probe && echo its own\n")
    service.bed.write(dropin, "[Service]\nExecStartPre=/bin/sh -c 'sh /run/probes >/run/edged/done; true'")
    service.bed.check("systemctl daemon-reload && systemctl restart edged")
    yield service.bed.check("cat /run/edged/done").splitlines()
    service.bed.run(f"rm {dropin}; systemctl daemon-reload; rm -f /var/lib/edged/probe /root/probe")


def test_the_unit_denies_other_devices_homes_and_writes(service, probed):
    assert probed == ["its own"]
    beds.wait_served(service.url("edges"))


def test_the_unit_lets_a_camera_process_confine_itself(service):
    """Its filter has to allow the calls by which a process gives up more."""
    dropin = "/run/systemd/system/edged-camera@.service.d/filters.conf"
    service.bed.check(f"mkdir -p $(dirname {dropin})")
    service.bed.write(dropin, "[Service]\nExecStartPre=grep Seccomp_filters: /proc/self/status")
    try:
        service.bed.check("systemctl daemon-reload && systemctl restart edged")
        beds.wait_served(service.url("edges"))
        journal = service.bed.journal()
    finally:
        service.bed.run(f"rm {dropin}; systemctl daemon-reload")
    assert "seccomp" not in journal
    units = int(re.findall(r"Seccomp_filters:\s+(\d+)", journal)[-1])
    camera = service.bed.check(f"grep Seccomp_filters: /proc/{camera_pid(service)}/status").split()[1]
    assert int(camera) == units + 1


AS_EDGED = "setpriv --reuid edged --regid edged --init-groups"
# Nobody needs to guess more: a folder that is empty has no file.
SECRETS = ("/etc/edged/edged.conf", "/etc/edged/rtsp.users", "/etc/edged/rtsp.tokens", "/etc/edged/onvif.passwords", "/etc/edged/other.credentials",
           "/var/lib/edged/tls.pem", "/var/lib/edged/settings.conf", "/var/lib/edged/clips",
           "/run/credentials/edged.service/key", "/run/edged/control.sock", "/run/edged-camera/socket",
           "/run/edged-recorder.sock")


def camera_pid(service, name="front"):
    return beds.wait_until("a camera process", lambda: service.bed.camera(name)["process"]["pid"])


def visible(service, pid, paths):
    """Those that edged's user can open, or connect to, where that process has its mounts: a process
    of its own has no landlock and no filter."""
    tests = "; ".join(f"test -r {path} && echo {path}" for path in paths)
    return service.bed.run(f"nsenter --mount --target {pid} {AS_EDGED} sh -c '{tests}'")[1].split()


@pytest.fixture
def with_secrets(service):
    dropin = "/run/systemd/system/edged.service.d/credential.conf"
    service.bed.check(f"mkdir -p $(dirname {dropin}) && echo secret >/run/key")
    service.bed.write(dropin, "[Service]\nLoadCredential=key:/run/key")
    recorded = service.conf().replace('name = "front";', 'name = "front"; record = { mode = "always"; };', 1)
    service.bed.write(beds.CONF, recorded.replace("rtsp = {", f"rtsp = {{ tls_port = {free_port()};", 1))
    try:
        service.bed.check("cd /etc/edged && touch rtsp.users rtsp.tokens onvif.passwords other.credentials && chown edged: rtsp.* onvif.* other.* && "
                          "chmod 600 rtsp.* onvif.* other.* && systemctl daemon-reload && systemctl restart edged")
        service.bed.check("edgectl set --keep cameras.front.views.edges.gain=1.5")
        beds.wait_until("a clip", lambda: service.bed.run("ls /var/lib/edged/clips/*/")[0] == 0)
        yield
    finally:
        service.bed.run(f"systemctl stop edged; rm -f {dropin} /run/key /etc/edged/rtsp.* /etc/edged/*.credentials "
                        "/var/lib/edged/settings.conf; systemctl daemon-reload")


def test_a_camera_process_sees_no_secret_of_edged(service, with_secrets):
    """By its mounts: as on a kernel without landlock, where nothing else would keep it from them."""
    assert visible(service, service.main_pid(), SECRETS) == [*SECRETS]
    assert visible(service, camera_pid(service), SECRETS) == []
    camera = f"nsenter --mount --target {camera_pid(service)}"
    assert service.bed.check(f"{camera} ls -A /etc/edged /var/lib/edged").split() == ["/etc/edged:", "/var/lib/edged:"]


def test_no_camera_process_runs_what_another_has_left_in_their_cache(service):
    """The one folder that all of them may write, with the list of what GStreamer loads."""
    camera = f"nsenter --mount --target {camera_pid(service)}"
    service.bed.check(f"install -m 755 /bin/true /var/cache/edged/left && {camera} test -x /bin/true")
    told = service.bed.run(f"{camera} /var/cache/edged/left")
    service.bed.check("/var/cache/edged/left; rm /var/cache/edged/left")
    assert told[0] != 0 and "Permission denied" in told[1], told


@pytest.fixture
def without_landlock(service):
    """Its first call is refused, so it does not seem to be there."""
    dropins = [f"/run/systemd/system/{unit}.d/no-landlock.conf" for unit in ("edged-camera@.service", "edged-recorder.service")]
    for dropin in dropins:
        service.bed.check(f"mkdir -p $(dirname {dropin})")
        service.bed.write(dropin, "[Service]\nSystemCallFilter=~landlock_create_ruleset")
    service.bed.check("systemctl stop edged edged-recorder; systemctl daemon-reload")
    yield
    service.bed.run(f"systemctl stop edged edged-recorder; rm {' '.join(dropins)}; systemctl daemon-reload")


def test_without_landlock_processes_of_edged_do_not_see_into_one_another(service, without_landlock, with_secrets):
    """The folders and descriptors of a process of the same user are in /proc: another camera's login, clips."""
    recorder = service.bed.check("systemctl show -P MainPID edged-recorder").strip()
    service.bed.check("systemctl restart edged")
    beds.wait_served(service.url("edges"))
    for pid in (service.main_pid(), camera_pid(service), recorder):
        for command in (f"ls /proc/{pid}/root/", f"ls /proc/{pid}/fd/", f"head -c 1 /proc/{pid}/mem"):
            told = service.bed.run(f"{AS_EDGED} {command}")
            assert told[0] != 0 and "Permission denied" in told[1], (pid, told)


def test_the_way_by_the_fronts_proc_is_closed_to_its_user(service):
    """By its mounts and descriptors a process that runs as edged would reach what its own mounts hide."""
    for command in ("ls {}/root/", "ls {}/cwd/", "ls {}/fd/", "head -c 1 {}/environ", "head -c 1 {}/mem"):
        told = service.bed.run(f"{AS_EDGED} {command.format(f'/proc/{service.main_pid()}')}")
        assert told[0] != 0 and "Permission denied" in told[1], told
    begun = "until grep -qx sleep /proc/$!/comm; do sleep 0.1; done"
    other = f"{AS_EDGED} sleep 600 & {begun}; {AS_EDGED} ls /proc/$!/root/ /proc/$!/fd/; status=$?; kill $!; exit $status"
    assert service.bed.run(other)[0] == 0


def test_the_control_socket_refuses_what_is_in_a_cameras_unit(service):
    asked = f"{AS_EDGED} edgectl status"
    service.bed.check(asked)
    groups = f"for line in $(cut -d: -f3 /proc/{camera_pid(service)}/cgroup | grep edged-camera | sort -u); do " \
             "for root in /sys/fs/cgroup /sys/fs/cgroup/systemd /sys/fs/cgroup/unified; do " \
             "test ! -e $root$line/cgroup.procs || echo $$ >$root$line/cgroup.procs; done; done"
    assert service.bed.run(f"{groups}; grep -q edged-camera@ /proc/$$/cgroup || exit 99; {asked}")[0] not in (0, 99)


def units(service):
    return service.bed.check("systemctl list-units --plain --no-legend 'edged-camera@*'").split("\n")[:-1]


def test_stopping_edged_ends_every_camera_unit(service):
    beds.wait_until("a unit", lambda: len(units(service)) == 1)
    service.bed.check("systemctl stop edged")
    assert beds.wait_until("none", lambda: not units(service))
    assert service.bed.run("pgrep -x edged-camera")[0] == 1
    service.bed.check("systemctl start edged")
    service.bed.check(f"kill -STOP {camera_pid(service)}")  # one that does not end by itself
    service.bed.check("systemctl stop edged")
    beds.wait_until("none", lambda: not units(service))


def test_the_kernel_ends_camera_processes_with_an_edged_that_is_killed(service):
    before, camera = service.main_pid(), camera_pid(service)
    service.bed.check(f"kill -STOP {camera}; kill -KILL {before}")
    beds.wait_until("its end", lambda: service.bed.run(f"test -e /proc/{camera}")[0] != 0)
    beds.wait_until("another edged", lambda: service.main_pid() not in (0, before))
    assert camera_pid(service) != camera


def test_a_hung_camera_process_is_traced_and_replaced(service):
    camera = camera_pid(service)
    service.bed.check(f"kill -STOP {camera}")
    beds.wait_until("another", lambda: service.bed.camera("front")["process"]["pid"] not in (0, camera))
    assert f"where process {camera} hangs" in service.bed.journal()
    beds.wait_until("one unit", lambda: len(units(service)) == 1)


def test_a_crash_of_a_camera_process_is_told_with_its_signal(service):
    service.bed.check(f"kill -SEGV {camera_pid(service)}")
    beds.wait_until("its end in the journal", lambda: "was killed by signal 11 (Segmentation fault)" in
                    service.bed.journal())
    assert "crashed by signal 11 (SIGSEGV)" in service.bed.journal()
    beds.wait_until("another", lambda: service.bed.camera("front")["state"] == "live")


def write_mask(bed, white):
    """In place by its name, so that it is another file; `white` of its 10 pixels."""
    bed.check("mkdir -p /etc/edged/masks && cd /etc/edged/masks && { printf 'P5 10 1 255\\n'; "
              f"head -c {white} /dev/zero | tr '\\0' '\\377'; head -c {10 - white} /dev/zero; }} >new && mv new door.pgm")


def test_a_camera_process_gets_its_own_files_and_their_successors(service):
    """Which lie in a folder that its unit hides."""
    write_mask(service.bed, 2)
    service.bed.restart(service.conf().replace(
        "views", 'regions = ( { name = "door"; mask = "masks/door.pgm"; } ); views', 1))
    beds.wait_until("its region", lambda: service.bed.camera("front")["regions"])
    camera = camera_pid(service)
    write_mask(service.bed, 5)
    beds.wait_until("another process", lambda: service.bed.camera("front")["process"]["pid"] not in (0, camera))
    assert "door.pgm was replaced, which only a new process can read" in service.bed.journal()
    beds.wait_until("its region", lambda: service.bed.camera("front")["regions"])
    assert "cannot read its mask" not in service.bed.journal()


def test_a_camera_of_the_network_logs_in_with_its_own_credentials(service):
    """The camera is edged itself."""
    second = f"""{{ name = "second"; source = "rtsp"; url = "rtsp://127.0.0.1:{service.port}/front/edges";
                    credentials = "second.credentials"; views = ( {{ name = "gray"; view = "gray"; }} ); }} );"""
    service.bed.check("cd /etc/edged && echo 'a long password' | edgectl passwd --file rtsp.users vera && "
                      "echo 'vera:a long password' >second.credentials && "
                      "chown root:edged second.credentials && chmod 640 second.credentials")
    try:
        conf = service.conf().rstrip().removesuffix(");") + ", " + second
        service.bed.restart(conf.replace("rtsp = {", 'rtsp = { users = "rtsp.users";', 1))
        beds.wait_until("its login", lambda: service.bed.camera("second")["state"] == "live")
    finally:
        service.bed.run("systemctl stop edged; rm /etc/edged/rtsp.users /etc/edged/second.credentials")


def test_the_recorder_sees_its_clips_and_none_of_edgeds_secrets(service):
    """In its mount namespace, where it is restarted as well; landlock is of its own processes alone."""
    bed = service.bed
    bed.restart(service.conf().replace('name = "front";', 'name = "front"; record = { mode = "always"; };'))
    beds.wait_until("a clip", lambda: bed.run("find /var/lib/edged/clips -name '*.part' | grep .")[0] == 0)
    recorder = bed.check("systemctl show -P MainPID edged-recorder").strip()
    root = f"/proc/{recorder}/root"
    assert bed.check(f"ls -A {root}/var/lib/edged").split() == ["clips"]
    assert bed.check(f"ls -A {root}/etc/edged").split() == []
    assert bed.check(f"find {root}/var/lib/edged/clips -name '*.part'").split()
    assert bed.check("ls -A /etc/edged").split() != []


def test_edgeds_own_user_reloads_it_by_the_control_socket(service):
    """As ExecReload does, in the unit of edged."""
    service.bed.check("systemctl reload edged")
    service.bed.check("setpriv --reuid edged --regid edged --clear-groups edgectl status")


@pytest.mark.parametrize("unit", ["edged.service", "edged-camera@x.service", "edged-recorder.service",
                                  "edged-mqtt.service"])
def test_exposure_is_one_point_eight_at_most(service, unit):
    last = service.bed.check(f"systemd-analyze security --no-pager {unit}").splitlines()[-1]
    assert float(last.split(f"{unit}: ")[1].split()[0]) <= 1.8, last


def test_edged_mqtt_runs_as_its_own_user_who_may_ask_for_what_it_needs_alone(service):
    bed = service.bed
    bed.check("systemctl start edged-mqtt")
    beds.wait_until("its words", lambda: "no broker is configured" in bed.check("journalctl -u edged-mqtt"))
    assert bed.check("ps -o user= -C edged-mqtt").strip() == "edged-mqtt"
    as_broker = "setpriv --reuid edged-mqtt --regid edged-mqtt --groups $(getent group edged | cut -d: -f3) edgectl"
    bed.check(f"{as_broker} status")
    for command in ("reload", "page"):
        assert "edged-mqtt may not ask for that" in bed.check(f"{as_broker} {command} 2>&1 || true")
    bed.check("edgectl reload")
    bed.check("systemctl stop edged-mqtt")


def test_edged_mqtt_starts_where_the_network_never_comes(service):
    units = "/run/systemd/system"
    service.bed.check(
        f"systemctl stop network-online.target; mkdir -p {units}/network-online.target.wants && "
        f"printf '[Unit]\\nBefore=network-online.target\\n[Service]\\nType=oneshot\\nExecStart=sleep infinity\\n'"
        f" >{units}/no-network.service && ln -s ../no-network.service {units}/network-online.target.wants/ && "
        "systemctl daemon-reload")
    try:
        service.bed.check("timeout 30 systemctl start edged-mqtt")
    finally:
        service.bed.check(f"systemctl stop no-network edged-mqtt; rm -r {units}/no-network.service "
                          f"{units}/network-online.target.wants; systemctl daemon-reload")


def test_uninstall_leaves_the_configuration_alone(tmp_path):
    beds.stage(tmp_path)
    for path in ["bin/edgectl", "libexec/edged-camera", "share/man/man8/edged.8",
                 "share/doc/edged/LICENSE", "share/bash-completion/completions/edged"]:
        assert (tmp_path / "usr/local" / path).exists()
    subprocess.run([beds.ROOT / "tests/lint/links", tmp_path / "usr/local/share/doc/edged"], check=True)
    beds.make("uninstall", tmp_path)
    assert [p for p in tmp_path.rglob("*") if not p.is_dir()] == [tmp_path / beds.CONF[1:]]


def test_doctor_tells_a_missing_bus_from_a_missing_systemd(service):
    socket = "/run/dbus/system_bus_socket"
    try:
        service.bed.check(f"mv {socket} {socket}.away")
        assert "systemd runs, but D-Bus does not" in service.bed.run("edgectl doctor")[1]
    finally:
        service.bed.run(f"mv {socket}.away {socket}")
    assert "edged.service is active" in service.bed.run("edgectl doctor")[1]


def test_a_program_runs_for_motion_beside_the_service(service):
    region = 'regions = ( { name = "all"; erode = 0; start = 0.1; end = 0.01; } ); views'
    program = "/etc/edged/on-motion/note"
    service.bed.check("mkdir -p /etc/edged/on-motion")
    service.bed.write(program, '#!/bin/sh\necho "$EDGED_EVENT $EDGED_REGION" >>told')
    service.bed.check(f"chmod 755 {program}")
    service.bed.restart(service.conf().replace("views", region, 1))
    service.bed.check("systemctl enable --now edged-on-motion@note")
    beds.wait_until("the program's note", lambda: "motion_started all" in service.bed.run(
        "cat /var/lib/edged-on-motion/note/told")[1])
    service.bed.check("systemctl stop edged")
    beds.wait_until("the program's end", lambda: service.bed.run(
        "systemctl is-active edged-on-motion@note")[0] != 0)


def test_uninstall_ends_the_service_and_its_programs(service):
    program = "/etc/edged/on-motion/wait"
    service.bed.check("mkdir -p /etc/edged/on-motion")
    service.bed.write(program, "#!/bin/sh\n")
    service.bed.check(f"chmod 755 {program}")
    service.bed.restart(service.conf())
    service.bed.check("systemctl enable --now edged-on-motion@wait")
    # Of `make uninstall` what speaks to systemd: the files are the bed's.
    steps = subprocess.run(["make", "-n", "-C", beds.ROOT, "uninstall", "NVCC="], check=True,
                           capture_output=True, text=True).stdout.replace("\\\n", "")
    service.bed.check(next(line for line in steps.splitlines() if "disable" in line))
    for unit in ("edged", "edged.socket", "edged-on-motion@wait"):
        assert service.bed.run(f"systemctl is-active {unit}")[0] != 0, unit
        assert service.bed.run(f"systemctl is-enabled {unit}")[0] != 0, unit
