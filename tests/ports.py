"""Ports for tests that have to name one."""

import random
import socket

# Below those that systems give to whoever names none, of which many are taken and left all the time.
FIRST, LAST = 20000, 31999


def free_port():
    while True:
        port = random.randint(FIRST, LAST)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
