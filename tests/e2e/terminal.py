"""A terminal with edgectl on it, and what that shows there."""

import os
import pathlib
import pty
import select
import time

from daemon import EDGECTL, PATIENCE_S, environment


class Terminal:
    """edgectl COMMAND ARGUMENT... on a terminal, with more environment."""

    def __init__(self, *arguments, **extra):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(EDGECTL, [str(EDGECTL), *map(str, arguments)], environment(**extra))
        self.shown = b""

    def wait_shown(self, text):
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.shown:
            assert select.select([self.fd], [], [], deadline - time.monotonic())[0], self.shown
            self.shown += os.read(self.fd, 4096)

    def type(self, text):
        os.write(self.fd, text)

    def process(self, name):
        return pathlib.Path(f"/proc/{self.pid}/{name}").read_bytes()

    def wait(self):
        """The exit status, and all that was shown."""
        try:
            while part := os.read(self.fd, 4096):
                self.shown += part
        except OSError:  # the other end is closed
            pass
        os.close(self.fd)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
