"""The measure of motion in time as kernels/events/meter.h defines it, in numpy and OpenCV."""

import cv2
import numpy as np

LOOK_MS, GAP_MS, FOLLOW_MS, UNREST_UP_MS, UNREST_DOWN_MS = 100, 5000, 2000, 12000, 20000
WHITE, RIM = 200, 4


def side_of(width, height):
    across, down = (160, 90) if width >= height else (90, 160)
    return max(-(-width // across), -(-height // down))


def means(gray):
    """The rounded means of squares of pixels."""
    height, width = gray.shape
    side = side_of(width, height)
    ys, xs = np.arange(0, height, side), np.arange(0, width, side)
    sums = np.add.reduceat(np.add.reduceat(gray.astype(np.int64), ys, 0), xs, 1)
    count = np.minimum(side, height - ys)[:, None] * np.minimum(side, width - xs)[None, :]
    return (sums + count // 2) // count


def middles(size, side):
    """The pixels in the middle of the cells along a row or a column."""
    first = np.arange(0, size, side)
    return first + np.minimum(side, size - first) // 2


def structured(now, before, limit):
    """The cells with a step to a neighbour that is another one than before, in any light."""
    found = np.zeros(now.shape, bool)
    for dy, dx in ((0, 1), (0, -1), (1, 0), (-1, 0)):
        to = np.index_exp[max(0, dy):now.shape[0] + min(0, dy), max(0, dx):now.shape[1] + min(0, dx)]
        of = np.index_exp[max(0, -dy):now.shape[0] + min(0, -dy),
                          max(0, -dx):now.shape[1] + min(0, -dx)]
        step, step_before = now[to] - now[of], before[to] - before[of]
        light = step_before * (now[to] + now[of]).astype(float) / (before[to] + before[of] + 1)
        steady, lit = step - step_before, step - np.trunc(light).astype(np.int64)
        # Light cuts off at white: the darker of two cells now, or the brighter before.
        cut_now, cut_before = (now > WHITE * 256) & (now >= before), (before > WHITE * 256) & (before >= now)
        found[of] |= (steady > limit) & (lit > limit) & ~(cut_now[of] | cut_before[to])
        found[of] |= (steady < -limit) & (lit < -limit) & ~(cut_now[to] | cut_before[of])
    return found


class Meter:
    def __init__(self, shape):
        self.shape, self.side = shape, side_of(shape[1], shape[0])
        self.reference, self.due, self.at, self.whole_before = None, 0, 0, False

    def moving(self, now, threshold, erode):
        limit, before = threshold * 256, self.reference
        over = np.maximum(abs(now - before) - limit, 0)
        changed = (over // 2 > self.unrest) | (over > limit)
        kernel = np.ones((3, 3), np.uint8)
        levels = before.astype(np.float32)
        certain = changed & ((now > cv2.dilate(levels, kernel) + limit) |
                             (now < cv2.erode(levels, kernel) - limit))
        count, labels = cv2.connectedComponents(changed.astype(np.uint8), connectivity=8)
        sizes, sure, outlines = (np.bincount(labels[mask], minlength=count) for mask in (
            changed, certain, changed & structured(now, before, limit // 2)))
        kept = (sure >= (2 * erode + 1) ** 2 - 1) & (outlines * (outlines + 1) >= 2 * sizes)
        kept[0] = False
        return kept[labels]

    def read(self, moving, region):
        """The share and the box of a region; `region` is a mask of pixels."""
        height, width = self.shape
        cells = region[np.ix_(middles(height, self.side), middles(width, self.side))]
        own = moving & cells
        near = cv2.dilate(own.astype(np.uint8), np.ones((2 * RIM + 1,) * 2, np.uint8)) > 0
        x, y, w, h = cv2.boundingRect(own.astype(np.uint8))
        right, bottom = min((x + w) * self.side, width), min((y + h) * self.side, height)
        x, y = x * self.side, y * self.side
        box = dict(x=x, y=y, width=right - x, height=bottom - y) if own.any() else dict(
            x=0, y=0, width=0, height=0)
        return np.count_nonzero(near & cells) / max(1, np.count_nonzero(cells)), box

    def look(self, gray, ms, regions):
        """A reading for each (mask, threshold, erode); None where the look tells nothing."""
        if self.reference is not None and self.at < ms < self.due:
            return None
        now, passed, self.at = means(gray) * 256, ms - self.at, ms
        follows = self.reference is not None and 0 < passed < GAP_MS
        self.due = self.due + LOOK_MS if follows and ms < self.due + LOOK_MS else ms + LOOK_MS
        if self.reference is None:
            self.unrest = np.zeros(now.shape, np.int64)
        if not follows:
            self.reference = now
            return None
        half = min(threshold for _, threshold, _ in regions) * 256 // 2
        whole = 5 * np.count_nonzero(abs(now - self.reference) > half) > 2 * now.size
        before, self.whole_before = self.whole_before, whole and 8 * np.count_nonzero(
            structured(now, self.reference, half)) >= now.size
        if whole and not (self.whole_before and before):
            self.reference = now
            return None
        readings = [self.read(self.moving(now, threshold, erode), mask)
                    for mask, threshold, erode in regions]
        if whole:
            self.reference = now
            return readings
        off = now - self.reference
        more = abs(off) - self.unrest
        up, down = passed * 65536 // UNREST_UP_MS, passed * 65536 // UNREST_DOWN_MS
        self.unrest = self.unrest + (more * np.where(more > 0, up, down) >> 16)
        weight = min(256, (passed * 256 + FOLLOW_MS // 2) // FOLLOW_MS)
        self.reference = self.reference + (off * weight >> 8)
        return readings
