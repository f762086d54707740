"""Reads the NO SIGNAL slate in a decoded picture."""

import cv2
import numpy as np

# Drawn by hand, a letter 5 dots wide and a dot apart.
TITLE = """
#...#..###.........####..###...###..#...#..###..#....
#...#.#...#.......#.......#...#...#.#...#.#...#.#....
##..#.#...#.......#.......#...#.....##..#.#...#.#....
#.#.#.#...#........###....#...#.###.#.#.#.#####.#....
#..##.#...#...........#...#...#...#.#..##.#...#.#....
#...#.#...#...........#...#...#...#.#...#.#...#.#....
#...#..###........####...###...####.#...#.#...#.#####
""".split()
TITLE_LUMA_MIN = 170


def shows_no_signal(luma):
    """True when the brightest writing in the picture reads NO SIGNAL."""
    bright = luma > TITLE_LUMA_MIN
    rows, columns = np.flatnonzero(bright.any(axis=1)), np.flatnonzero(bright.any(axis=0))
    if len(rows) < len(TITLE) or len(columns) < len(TITLE[0]):
        return False
    box = bright[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].astype(np.float32)
    dots = cv2.resize(box, (len(TITLE[0]), len(TITLE)), interpolation=cv2.INTER_AREA) > 0.5
    expected = np.array([[dot == "#" for dot in row] for row in TITLE])
    return bool(np.mean(dots == expected) > 0.95)
