"""What random tests draw: the same each time, or what `make check-random` has drawn."""

import os

import numpy as np

SEED = int(os.environ.get("EDGED_SEED", 1))
MOST = int(os.environ.get("EDGED_RANDOM_CASES", 1000))


def random_cases(count):
    """The number of each case, and what to draw it from."""
    print(f"EDGED_SEED={SEED}")  # shown when the test fails
    chance = np.random.default_rng(SEED)
    for number in range(min(count, MOST)):
        yield number, chance
