"""Ports for tests that have to name one.

Test programs run side by side, and a port is named a while before it is bound. Each program claims a block of
ports for as long as it lives, by a name of the abstract kind: those belong to a network namespace, as ports do.
"""

import itertools
import random
import socket

# Below those that systems give to programs that name none, of which many are taken and left all the time.
FIRST, BLOCKS, BLOCK_SIZE = 20000, 120, 100


def claim_block():
    """A socket that holds the claim, and the first port of the block."""
    for block in random.sample(range(BLOCKS), BLOCKS):
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            claim.bind(f"\0edged-tests-ports-{block}")
            return claim, FIRST + block * BLOCK_SIZE
        except OSError:
            claim.close()
    raise RuntimeError("all blocks of ports are claimed by other test programs")


claim, first = claim_block()
ports = itertools.cycle(range(first, first + BLOCK_SIZE))


def free_port():
    for port in ports:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
