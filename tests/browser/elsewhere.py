"""A network of its own on this machine, a cable away: an edged in it is seen as one on another machine."""

import contextlib
import os
import subprocess

# A network of four addresses for each test program: several may run on one machine.
NUMBER = os.getpid() % 2**14 * 4
HERE, THERE = (f"10.231.{(NUMBER + i) >> 8}.{(NUMBER + i) & 255}" for i in (1, 2))


def ip(command):
    subprocess.run(["ip", *command.split()], check=True)


@contextlib.contextmanager
def network(folder, program):
    """Yields the program as it runs there, and a function that pulls the cable out and puts it in again."""
    name = f"edged-{os.getpid()}"
    cable = name[:15]
    wrapped = folder / "edged-elsewhere"
    wrapped.write_text(f'#!/bin/sh\nexec ip netns exec {name} {program} "$@"\n')
    wrapped.chmod(0o755)
    ip(f"netns add {name}")
    try:
        ip(f"link add {cable} type veth peer name eth0 netns {name}")
        ip(f"address add {HERE}/30 dev {cable}")
        ip(f"link set {cable} up")
        ip(f"-n {name} address add {THERE}/30 dev eth0")
        ip(f"-n {name} link set eth0 up")
        ip(f"-n {name} link set lo up")
        yield wrapped, lambda up: ip(f"-n {name} link set eth0 {'up' if up else 'down'}")
    finally:
        ip(f"netns del {name}")
