"""ONVIF on a network: who finds edged from another machine, and a client of ONVIF that Debian has."""

import shutil
import sys

import pytest

import daemon
from test_onvif_discovery import probe
from two_machines import ELSEWHERE, OTHER, OWN, network, there  # noqa: F401

ASK_FROM = """
import socket, sys
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.bind((sys.argv[1], 0))
one.settimeout(float(sys.argv[4]))
one.sendto(sys.argv[2].encode(), (sys.argv[3], 3702))
try:
    print(len(one.recv(8192)))
except TimeoutError:
    print("nothing")
"""


def is_answered(network, source, to, within_s=10):  # noqa: F811
    said = network.client(sys.executable, "-c", ASK_FROM, source, probe(), to, str(within_s)).strip()
    return said != "nothing"


def test_another_machine_finds_it_and_only_its_own_network_is_answered(network, there):  # noqa: F811
    network.client("ip", "route", "add", "default", "via", OWN)
    network.server("ip", "route", "add", "default", "via", OTHER)  # so that an answer would come
    for to in ("239.255.255.250", OWN):
        assert is_answered(network, OTHER, to)
        assert not is_answered(network, ELSEWHERE, to, within_s=1)
    network.pull_out()
    network.plug_in("10.96.0.1", "10.96.0.2")
    # It joins the group there once it has heard of the new network.
    daemon.wait_for(lambda: is_answered(network, "10.96.0.2", "239.255.255.250", within_s=1))


def test_onvif_util_finds_it_and_reads_all_that_it_knows(network, there):  # noqa: F811
    if not shutil.which("onvif-util"):
        pytest.skip("onvif-util is not installed: scripts/setup --with players")
    assert OWN in network.client("onvif-util", "-a")
    told = network.client("onvif-util", "-u", "hass", "-p", there.password, OWN, input="\n".join((
        "get time", "get profiles", "get video", "get video options", "get rtsp", "get capabilities", "quit")))
    assert f"rtsp://{OWN}:{there.port}/front/edges" in told, told
    assert "320 x 240" in told and "error" not in told.lower(), told
