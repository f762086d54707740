"""edged as a service of a real systemd: started, watched, reloaded and stopped by systemctl."""
import json
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
        """Journal entries with that MESSAGE_ID of edged as the fixture started it."""
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
    # Nothing of it stays behind.
    assert service.bed.run("pgrep -u edged")[0] == 1
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
    states = beds.wait_until("a camera's state",
                             lambda: service.messages(MESSAGE_CAMERA_STATE))
    assert states[0]["EDGED_CAMERA"] == "front"
    assert states[0]["EDGED_STATE"]
    assert states[0]["_SYSTEMD_UNIT"] == "edged.service"


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
    beds.wait_served(service.url("edges"))
    assert "seccomp" not in service.bed.journal()
    camera = service.bed.camera("front")["process"]["pid"]
    filters = service.bed.check(f"grep Seccomp_filters: /proc/{camera}/status").split()[1]
    front = service.bed.check(
        f"grep Seccomp_filters: /proc/{service.main_pid()}/status").split()[1]
    assert int(filters) == int(front) + 1


def test_exposure_is_one_point_eight_at_most(service):
    last = service.bed.check("systemd-analyze security --no-pager edged").splitlines()[-1]
    assert float(last.split("edged.service: ")[1].split()[0]) <= 1.8, last


def test_uninstall_leaves_the_configuration_alone(tmp_path):
    beds.stage(tmp_path)
    for path in ["bin/edgectl", "libexec/edged-camera", "share/man/man8/edged.8",
                 "share/doc/edged/LICENSE", "share/bash-completion/completions/edged"]:
        assert (tmp_path / "usr/local" / path).exists()
    subprocess.run([beds.ROOT / "tests/lint/links", tmp_path / "usr/local/share/doc/edged"], check=True)
    beds.make("uninstall", tmp_path)
    assert [p for p in tmp_path.rglob("*") if not p.is_dir()] == [tmp_path / beds.CONF[1:]]


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
