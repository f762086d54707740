"""Holds threads of other processes, by ptrace, as drivers and locks do."""

import contextlib
import ctypes
import os

PTRACE_DETACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 17, 0x4206, 0x4207
PTRACE_O_TRACEEXIT = 0x40
WALL = 0x40000000
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


@contextlib.contextmanager
def stopped(thread):
    """A thread stands still, and no other of its process, which may be killed meanwhile."""
    _ptrace(PTRACE_SEIZE, thread)
    _ptrace(PTRACE_INTERRUPT, thread)
    os.waitpid(thread, WALL)
    try:
        yield
    finally:
        try:
            _ptrace(PTRACE_DETACH, thread)
        except ProcessLookupError:
            os.waitpid(thread, WALL)
