"""Claims that no frame is lost, made in a window in which the machine lets edged run.

A loss is edged's own fault, and fails the claim at once, unless edged has counted every frame that
is missing as dropped, and its threads have waited for a CPU for as long as those frames last, or
unless a receiver on this machine did not come to read its datagrams. Then the claim is put to the
next window; a fault that comes with what a window does fails all of them.
"""

import contextlib
import os
import pathlib

import daemon
import pattern

WINDOWS = 12
NUMBERS = 1 << pattern.NUMBER_BITS
TELEMETRY_S = 3  # comes once a second


def _dropped(server):
    """Frames that edged has counted as dropped, by its cameras or before an encoder."""
    status = server.status()
    return sum(x["dropped"] for x in (*status["cameras"], *status["mounts"]))


def _waited_for_cpu_s(server):
    """How long the threads of edged and its cameras stood in a queue for a CPU, in all."""
    waited_ns = 0
    for pid in (server.process.pid, *daemon.process_children(server.process.pid)):
        for task in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError):  # the thread ended
                waited_ns += int(task.read_text().split()[1])
    return waited_ns / 1e9


def _stolen_s():
    """How long the CPUs of this machine, if it is a virtual one, ran others."""
    ticks = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()
    return int(ticks[8]) / os.sysconf("SC_CLK_TCK")


class Disturbance:
    """What the machine keeps from a server, from its start on: a window's frames may have come
    before anybody looks at them."""

    def __init__(self, server):
        self.server = server
        self.dropped = 0  # frames that are excused already
        self.stolen_s = _stolen_s()

    def waited_s(self):
        return _waited_for_cpu_s(self.server) + _stolen_s() - self.stolen_s

    def excuses(self, missing):
        """Whether edged has dropped so many frames, and waited for CPUs as long as those last."""
        with contextlib.suppress(AssertionError):
            daemon.wait_for(lambda: _dropped(self.server) >= self.dropped + missing, TELEMETRY_S)
            return self.waited_s() >= missing / pattern.FPS
        return False

    def excuse_dropped(self):
        self.dropped = _dropped(self.server)


def _udp_overflows():
    """Datagrams lost because their receiver did not come to read them, on the whole machine."""
    lines = [x.split() for x in pathlib.Path("/proc/net/snmp").read_text().splitlines()]
    names, values = (line for line in lines if line[0] == "Udp:")
    return int(values[names.index("RcvbufErrors")])


def watch_all(server, look, period=NUMBERS):
    """Every frame in order, none missing, all of them readable, in what `look()` returns: a list of
    frames for each viewer. Returns that of the first window that the machine did not disturb."""
    told, missing = [], 0
    disturbance, overflows = Disturbance(server), _udp_overflows()
    for _ in range(WINDOWS):
        seen = look()
        found = [pattern.holes(frames, period) for frames in seen]
        if not any(map(any, found)):
            return seen
        waited_s = disturbance.waited_s()
        told.append(f"(missing, unreadable) of each viewer: {found}, waited for CPUs: {waited_s} s")
        if _udp_overflows() > overflows:
            overflows, missing = _udp_overflows(), 0
            disturbance.excuse_dropped()
            continue
        missing += max(gone for gone, _ in found)
        assert missing and disturbance.excuses(missing), told
    raise AssertionError(f"the machine disturbed each window: {told}")
