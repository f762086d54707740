"""edgectl on a terminal."""

import pathlib
import sys

from daemon import EDGECTL, environment

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from terminal import Terminal  # noqa: E402


def on_terminal(*arguments, **extra):
    """edgectl COMMAND ARGUMENT..., with more environment."""
    return Terminal([EDGECTL, *arguments], environment(**extra))
