"""Holds threads of other processes, by ptrace, as drivers and locks do."""

import contextlib
import ctypes
import os
import platform
import time

PTRACE_CONT, PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 7, 17, 0x4206, 0x4207
PTRACE_O_TRACEEXIT = 0x40
WALL = 0x40000000
# The numbers of calls that wait for an event or a time: futex, then poll, epoll and sleep.
FUTEX, *SLEEPS = {"x86_64": (202, 7, 35, 230, 232, 271, 281), "aarch64": (98, 22, 73, 101, 115)}[platform.machine()]
FUTEX_WAIT_BITSET, FUTEX_COMMAND = 9, 0x7f
_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long] * 4


def _ptrace(request, thread, data=0):
    if _libc.ptrace(request, thread, 0, data) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace({request:#x})")


@contextlib.contextmanager
def unkillable(process):
    """A process that a signal kills stays, on the threshold of its end, like one in state D."""
    _ptrace(PTRACE_SEIZE, process, PTRACE_O_TRACEEXIT)
    try:
        yield
    finally:
        os.waitpid(process, WALL)  # it was killed
        _ptrace(PTRACE_DETACH, process)


def _waits_without_lock(thread):
    """Whether a stopped thread waits for a time or a condition: one that runs, or waits for a lock, may hold locks."""
    with open(f"/proc/{thread}/syscall", encoding="ascii") as file:
        number, *arguments = (int(text, 0) for text in file.read().split())
    if number != FUTEX:
        return number in SLEEPS
    command, timeout = arguments[1], arguments[3]
    return command & FUTEX_COMMAND == FUTEX_WAIT_BITSET or timeout != 0


@contextlib.contextmanager
def stopped(thread):
    """
    A thread stands still where it holds no lock, and no other of its process, which may be killed
    meanwhile.
    """
    _ptrace(PTRACE_SEIZE, thread)
    deadline = time.monotonic() + 60
    while True:
        _ptrace(PTRACE_INTERRUPT, thread)
        os.waitpid(thread, WALL)
        if _waits_without_lock(thread):
            break
        assert time.monotonic() < deadline, f"thread {thread} never waits without a lock"
        _ptrace(PTRACE_CONT, thread)
        time.sleep(0.003)
    try:
        yield
    finally:
        try:
            _ptrace(PTRACE_DETACH, thread)
        except ProcessLookupError:
            os.waitpid(thread, WALL)
