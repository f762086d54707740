"""Users of the installed service: a file that root makes, and one that systemd hands over."""
import subprocess

import pytest

import beds
from ports import free_port

USERS = "/etc/edged/rtsp.users"


class Service:
    """edged in the container with users, asked by curl inside: over HTTP and by Digest."""

    def __init__(self, container):
        self.bed = container
        self.port, self.http_port = free_port(), free_port()

    def conf(self, users):
        return f"""
            rtsp = {{ port = {self.port}; users = "{users}"; }};
            http = {{ port = {self.http_port}; }};
            cameras = ( {{ name = "front"; source = "pattern"; width = 640; height = 360; }} );
        """

    def passwd(self, *arguments, password="a long password"):
        self.bed.check(f"echo '{password}' | edgectl passwd {' '.join(arguments)}")

    def code(self, user, password="a long password"):
        result = subprocess.run(
            ["curl", "--silent", "--digest", "--user", f"{user}:{password}",
             "--output", "/dev/null", "--write-out", "%{http_code}",
             f"http://127.0.0.1:{self.http_port}/v1/status"],
            capture_output=True, text=True, timeout=beds.PATIENCE_S, check=False)
        return int(result.stdout)


@pytest.fixture
def service(container):
    yield Service(container)
    container.run(f"systemctl stop edged; systemctl reset-failed edged; rm -f {USERS}; "
                  "rm -rf /run/systemd/system/edged.service.d; systemctl daemon-reload")


def test_the_service_reads_what_root_wrote_and_reloads_it(service):
    service.bed.run("systemctl stop edged")
    service.bed.write(beds.CONF, service.conf("rtsp.users"))
    service.passwd("vera", "--config", beds.CONF)
    assert service.bed.check(f"stat -c '%U %G %a' {USERS}").strip() == "edged edged 600"
    service.bed.restart(service.conf("rtsp.users"))
    url = f"rtsp://vera:a%20long%20password@127.0.0.1:{service.port}/front/edges"
    assert beds.decode_gray(url, 3).shape == (3, 360, 640)
    assert service.code("vera") == 200
    assert service.code("otto") == 401
    service.passwd("otto")
    service.bed.check("systemctl reload edged")
    assert service.code("otto") == 200
    service.bed.check(f"chmod 644 {USERS}")
    status, output = service.bed.run("systemctl reload edged")
    assert status != 0
    assert f"`chmod 600 {USERS}`" in service.bed.journal()
    assert service.code("otto") == 200


def test_systemd_hands_over_a_file_of_roots(service):
    dropin = "/run/systemd/system/edged.service.d/users.conf"
    service.passwd("vera")
    service.bed.check(f"chown root:root {USERS}; mkdir -p $(dirname {dropin})")
    service.bed.write(dropin, f"[Service]\nLoadCredential=rtsp.users:{USERS}")
    service.bed.check("systemctl daemon-reload")
    service.bed.restart(service.conf(""))
    assert service.code("vera") == 200
    assert service.code("vera", "another password") == 401


def test_a_core_and_the_journal_have_no_password(service):
    service.passwd("vera")
    service.bed.restart(service.conf(USERS))
    assert service.code("vera", "another password") == 401
    pid = service.bed.property("MainPID")
    core = service.bed.check(f"grep 'core file' /proc/{pid}/limits")
    assert core.split()[4:6] == ["0", "0"]
    hashes = service.bed.check(f"grep -v '^#' {USERS}").strip().split(":")[2:]
    journal = service.bed.check("journalctl --no-pager -o export")
    for secret in ("a long password", "another password", *hashes):
        assert secret not in journal
