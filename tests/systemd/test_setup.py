"""A newcomer's way: a fresh system, `edgectl setup`, and a viewer on another machine."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

import beds
from container import ENVIRONMENT, Container
from terminal import Terminal

# 198.51.100.0/24 is nobody's (RFC 5737).
DEVICE, VIEWER = "198.51.100.2", "198.51.100.1"
PASSWORD = "correct-horse"


class Machine:
    """Another machine: a network of its own, with a cable to the container's."""

    def __init__(self, container):
        self.process = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        beds.wait_until("its network", lambda: os.readlink(f"/proc/{self.process.pid}/ns/net") !=
                        os.readlink("/proc/self/ns/net"))
        cable = f"edged{os.getpid()}"
        ip("link", "add", cable, "netns", str(self.process.pid), "type", "veth", "peer", "name",
           "eth0", "netns", str(container.leader))
        for target, device, address in ((self.process.pid, cable, VIEWER),
                                        (container.leader, "eth0", DEVICE)):
            ip("address", "add", f"{address}/24", "dev", device, target=target)
            ip("link", "set", device, "up", target=target)
        ip("route", "add", "default", "via", VIEWER, target=container.leader)

    def play(self, url, transport):
        """ffmpeg's exit status, the hash of each picture it decoded, and what it complained of."""
        done = subprocess.run(
            ["nsenter", "--target", str(self.process.pid), "--net", "ffmpeg", "-v", "error",
             "-rtsp_transport", transport, "-i", url, "-frames:v", "5", "-f", "framehash", "-"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=beds.PATIENCE_S)
        pictures = [line for line in done.stdout.splitlines() if not line.startswith("#")]
        return done.returncode, {line.split(",")[-1] for line in pictures}, done.stderr

    def close(self):
        self.process.kill()
        self.process.wait()


def ip(*arguments, target=None):
    network = ["nsenter", "--target", str(target), "--net"] if target else []
    subprocess.run([*network, "ip", *arguments], check=True)


@pytest.fixture(scope="module")
def device():
    bed = Container("--private-network")
    bed.check("systemctl stop systemd-networkd.socket systemd-networkd")  # the cable is ours
    yield bed
    bed.close()


@pytest.fixture(scope="module")
def machine(device):
    other = Machine(device)
    yield other
    other.close()


@pytest.fixture(scope="module")
def shown(device, machine):
    """What a newcomer sees who answers nothing but the password's questions."""
    device.check("mkdir -p /etc/avahi/services")  # as avahi-daemon has it
    terminal = Terminal(device.inside("edgectl", "setup"), ENVIRONMENT)
    terminal.answer((b"[auto]: ", b""), (b"[front]: ", b""), (b"[edges]: ", b""), (b"[viewer]: ", b"anna"),
                    (b"[0.0.0.0]: ", b""), (b"rtsps [no]: ", b""), (b"inside TLS [yes]: ", b""), (b"[off]: ", b""),
                    (b"of its own [no]: ", b""), (b"finds the cameras [none]: ", b""),
                    (b"Password of anna", PASSWORD.encode()),
                    (b"again: ", PASSWORD.encode()), (b"Write that", b""), (b"Start edged", b""))
    assert terminal.wait() == 0, terminal.shown.decode()
    return terminal.shown.decode()


def test_the_url_is_the_one_for_other_machines(device, shown):
    assert f"  rtsp://{DEVICE}:8554/edges\r\n" in shown
    assert PASSWORD not in shown
    assert "No camera was found: viewers see a moving pattern until you plug one in." in shown
    assert f"  https://{DEVICE}:9854\r\n" in shown
    assert device.property("ActiveState") == "active"
    assert device.check("systemctl is-enabled edged").strip() == "enabled"


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_another_machine_plays_it(machine, shown, transport):
    url = f"rtsp://anna:{PASSWORD}@{DEVICE}:8554/edges"
    beds.wait_until("five pictures", lambda: len(machine.play(url, transport)[1]) == 5)


@pytest.mark.parametrize("login", ["", "anna:correct-hors@", f"otto:{PASSWORD}@"])
def test_nobody_else_does(machine, shown, login):
    status, pictures, complaints = machine.play(f"rtsp://{login}{DEVICE}:8554/edges", "tcp")
    assert status != 0 and not pictures
    assert "401" in complaints


def test_the_password_stands_nowhere(device, machine, shown):
    machine.play(f"rtsp://anna:{PASSWORD}@{DEVICE}:8554/edges", "tcp")
    machine.play(f"rtsp://anna:wrong@{DEVICE}:8554/edges", "tcp")
    users = device.check("cat /etc/edged/rtsp.users")
    secrets = [PASSWORD, *re.findall("[0-9a-f]{32,}", users)]
    assert len(secrets) == 3
    places = {
        "the journal": device.check("journalctl --no-pager -o export -a"),
        "status": device.check("edgectl status --json; edgectl status; systemctl status edged"),
        "the doctor": device.check("edgectl doctor --json || true"),
        "processes": device.check("cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null |"
                                  " tr '\\0' '\\n'"),
        "the configuration": device.check("cat /etc/edged/edged.conf"),
    }
    for place, text in places.items():
        for secret in secrets:
            assert secret not in text, place
    assert device.check("stat -c '%U %a' /etc/edged/rtsp.users").strip() == "edged 600"


def test_an_address_of_another_machine_leaves_the_service_as_it_was(device, shown):
    before = device.property("MainPID"), device.check("cat /etc/edged/edged.conf")
    told = device.check("edgectl setup --address 192.0.2.9 --force </dev/null 2>&1 || true")
    assert "this machine does not have the address 192.0.2.9, allowed: 0.0.0.0" in told
    assert (device.property("MainPID"), device.check("cat /etc/edged/edged.conf")) == before
    assert device.property("ActiveState") == "active"


def test_a_clip_in_the_folder_that_setup_names_goes_on_over_a_restart_of_edged(device, shown):
    assert device.run("systemctl is-active edged-recorder.service")[1].strip() == "inactive"
    device.check("edgectl setup --storage /srv/clips --force </dev/null 2>&1")
    assert device.check("stat -c '%U %G %a' /srv/clips").strip() == "edged edged 750"
    device.check("edgectl set --keep cameras.front.record.mode=always")

    def recorder():
        return int(device.check("systemctl show -P MainPID edged-recorder.service"))

    def clip(suffix):
        return beds.wait_until(device.journal(), lambda: device.check(f"find /srv/clips -name '*{suffix}'").split())

    growing, = clip(".mp4.part")
    before = recorder()
    device.check("systemctl restart edged")
    beds.wait_until(device.journal(), lambda: re.search(r"goes on; \d+\.\d s are missing",
                                                        device.check("edgectl clips")))
    assert clip(".mp4.part") == [growing]
    assert recorder() == before != 0
    device.check("edgectl set --keep cameras.front.record.mode=off")
    whole, = clip(".mp4")
    assert whole == growing.removesuffix(".part")
    assert device.check(f"stat -c '%U %G %a' {whole}").strip() == "edged edged 640"
    assert device.run(f"setpriv --reuid=nobody --regid=edged --clear-groups cat {whole} >/dev/null")[0] == 0


def test_setup_says_why_nothing_is_recorded(device, shown):
    device.check("cp -p /etc/edged/edged.conf /srv/before.conf")
    device.check("mkdir -p /srv/small; mount -t tmpfs -o size=64M none /srv/small")
    device.check("edgectl set --keep cameras.front.record.mode=off")
    setup = "edgectl setup --record always --storage /srv/small/clips --force </dev/null 2>&1"
    told = device.check(setup)
    assert re.search(r'^These count over the file, until `edgectl unset KEY`:\n\n'
                     r'kept: cameras.front.record.mode = "off", over "always" \(/etc/edged/edged.conf:\d+\)$', told, re.M)
    device.check("edgectl unset cameras.front.record.mode")
    told = device.check(setup)
    assert re.search(r"^Nothing is recorded yet: only .* are free in /srv/small/clips, .* too few \(storage.min_free\)", told, re.M)
    assert "over the file" not in told
    device.check("cp -p /srv/before.conf /etc/edged/edged.conf; systemctl restart edged; umount --lazy /srv/small")


# A recorder on the other machine: it looks for cameras, logs in, and asks for profiles and motion.
RECORDER = """
import re, socket, sys
sys.path[:0] = sys.argv[4:]
import onvif_client as onvif
looker = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
looker.bind((sys.argv[1], 0))
looker.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(sys.argv[1]))
looker.settimeout(20)
looker.sendto(f'<s:Envelope xmlns:s="{onvif.SOAP}"><s:Header><MessageID>1</MessageID></s:Header><s:Body>'
              '<Probe xmlns="http://schemas.xmlsoap.org/ws/2005/04/discovery"/></s:Body></s:Envelope>'.encode(),
              ("239.255.255.250", 3702))
print(re.search("XAddrs>([^<]*)<", looker.recv(8192).decode())[1])
client = onvif.Client(9854, "onvif", sys.argv[3], host=sys.argv[2])
print(*client.ask(onvif.MEDIA, "GetProfiles").attributes("Profiles", "token"))
print(client.pull(client.create())[0][:2])
"""


def test_a_recorder_finds_it_and_logs_in_by_onvif(device, machine, shown):
    told = device.check("edgectl setup --onvif --force </dev/null")
    password = re.search(r"user onvif, password (\S+)", told)[1]
    assert device.check("stat -c '%U %a' /etc/edged/onvif.passwords").strip() == "edged 600"
    here = pathlib.Path(__file__).parents[1]
    done = subprocess.run(
        ["nsenter", "--target", str(machine.process.pid), "--net", sys.executable, "-B", "-c", RECORDER, VIEWER, DEVICE,
         password, str(here), str(here / "e2e")], capture_output=True, text=True, timeout=beds.PATIENCE_S, check=False)
    assert done.stdout.splitlines() == [f"http://{DEVICE}:9854/onvif/device_service", "front/edges",
                                        "('MotionAlarm', 'front')"], done


def test_avahi_announces_what_is_open_to_the_network_and_nothing_else(device, shown):
    announced = device.check("cat /etc/avahi/services/edged.service")
    assert re.findall("<type>(.*)</type>\\s*<port>(.*)</port>", announced) == [
        ("_rtsp._tcp", "8554"), ("_https._tcp", "9854")]
    device.check("edgectl set --keep http.address=127.0.0.1")
    device.check("edgectl setup --address 127.0.0.1 --force </dev/null")
    device.check("test ! -e /etc/avahi/services/edged.service")
    device.check("echo '<service-group/>' >/etc/avahi/services/edged.service")
    told = device.check("edgectl setup --address 127.0.0.1 --force </dev/null 2>&1")
    assert "/etc/avahi/services/edged.service is not setup's and stays" in told
    assert device.check("cat /etc/avahi/services/edged.service").strip() == "<service-group/>"
