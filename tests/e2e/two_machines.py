"""edged and another machine, each with a network of its own and a cable between them."""

import os
import subprocess

import pytest

import daemon
import onvif_client

OWN, OTHER, ELSEWHERE = "10.98.0.1", "10.98.0.2", "10.97.0.2"


class Network:
    """Two namespaces: edged's, and that of a client, which has the address ELSEWHERE as well. Takes root."""

    def __init__(self, folder):
        self.holders = [subprocess.Popen(["unshare", "--net", "sleep", "infinity"]) for _ in range(2)]
        daemon.wait_for(lambda: all(self.is_apart(holder) for holder in self.holders))
        for holder in self.holders:
            self.inside(holder, "ip", "link", "set", "lo", "up")
        self.plug_in(OWN, OTHER)
        self.client("ip", "address", "add", f"{ELSEWHERE}/24", "dev", "cable")
        self.program = folder / "edged-there"
        self.program.write_text(f'#!/bin/sh\nexec nsenter --target {self.holders[0].pid} --net {daemon.EDGED} "$@"\n')
        self.program.chmod(0o755)

    def plug_in(self, own, other):
        """A cable, with the addresses of its ends."""
        self.server("ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns",
                    str(self.holders[1].pid))
        for holder, address in zip(self.holders, (own, other)):
            self.inside(holder, "ip", "address", "add", f"{address}/24", "dev", "cable")
            self.inside(holder, "ip", "link", "set", "cable", "up")
        self.client("ip", "route", "add", "224.0.0.0/4", "dev", "cable", "src", other)

    def pull_out(self):
        self.server("ip", "link", "delete", "cable")

    @staticmethod
    def is_apart(holder):
        return os.readlink(f"/proc/{holder.pid}/ns/net") != os.readlink("/proc/self/ns/net")

    @staticmethod
    def inside(holder, *command, **options):
        done = subprocess.run(["nsenter", "--target", str(holder.pid), "--net", *command], capture_output=True,
                              text=True, check=False, timeout=daemon.PATIENCE_S, **options)
        assert done.returncode == 0, (command, done)
        return done.stdout

    def server(self, *command):
        self.inside(self.holders[0], *command)

    def client(self, *command, **options):
        return self.inside(self.holders[1], *command, **options)

    def close(self):
        for holder in self.holders:
            holder.kill()
            holder.wait()


@pytest.fixture
def network(tmp_path):
    if subprocess.run(["unshare", "--net", "true"], check=False, capture_output=True).returncode:
        pytest.skip("network namespaces are refused here; they take root")
    one = Network(tmp_path)
    yield one
    one.close()


@pytest.fixture
def there(edged, network, tmp_path):
    """An edged on its own machine, open to the other one."""
    (tmp_path / "edged-0").mkdir()
    users = tmp_path / "edged-0/rtsp.users"
    password = onvif_client.add_user(users)
    settings = onvif_client.settings(users, discovery=True)
    settings["http"]["address"] = settings["rtsp"]["address"] = "0.0.0.0"
    server = edged([daemon.camera(width=320, height=240)], settings=settings, program=network.program)
    server.password, server.api = password, settings["http"]["port"]
    server.wait_mount("/front/edges", lambda mount: mount["width"] == 320)
    return server
