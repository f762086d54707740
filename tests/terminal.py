"""A terminal with a program on it, and what that shows there."""

import os
import pathlib
import pty
import select
import time

import beds


class Terminal:
    def __init__(self, command, environment):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], list(map(str, command)), environment)
        self.shown = b""
        self.seen = 0  # how much of it was waited for

    def read(self, deadline):
        """What is shown next; it has to come by then."""
        assert select.select([self.fd], [], [], max(0, deadline - time.monotonic()))[0], self.shown
        part = os.read(self.fd, 4096)
        self.shown += part
        return part

    def wait_shown(self, text):
        """Until it is shown, after what was waited for before."""
        deadline = time.monotonic() + beds.PATIENCE_S
        while text not in self.shown[self.seen:]:
            self.read(deadline)
        self.seen = self.shown.index(text, self.seen) + len(text)

    def type(self, text):
        os.write(self.fd, text)

    def answer(self, *pairs):
        """Types what belongs to each question, once it is shown."""
        for question, text in pairs:
            self.wait_shown(question)
            self.type(text + b"\n")

    def process(self, name):
        return pathlib.Path(f"/proc/{self.pid}/{name}").read_bytes()

    def wait(self):
        """The exit status, once the program has ended, with all that it shows until then."""
        deadline = time.monotonic() + beds.PATIENCE_S
        try:
            while self.read(deadline):
                pass
        except OSError:  # the other end is closed
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
