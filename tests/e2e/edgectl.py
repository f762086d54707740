"""edgectl on a terminal."""

from daemon import EDGECTL, environment
from terminal import Terminal


def on_terminal(*arguments, **extra):
    """edgectl COMMAND ARGUMENT..., with more environment."""
    return Terminal([EDGECTL, *arguments], environment(**extra))
