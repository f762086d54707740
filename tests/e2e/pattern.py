"""The moving pattern, drawn and read a second time.

An independent twin of the definition in capture/pattern/pattern.h, made from its text and not from its
code, together with what OpenCV says the views of a frame look like. Tests compare decoded
pictures with these.
"""

import functools

import numpy as np

CELL = 40  # pixels
STEP = 2  # pixels the scene moves left from frame to frame
BLOCKS = 20
NUMBER_BITS = 16
FPS = 30
# Mean luma of a block above which it is striped, by the view the picture went through. "cvsobel"
# is the stock filter, whose stripes are white in one column of four. Canny's detector finds nothing
# in stripes, whose gradients are all alike, and a white line under blocks without: there it is the
# share of columns with a white pixel below which a block is striped.
THRESHOLDS = {
    "camera": 77, "gray": 77, "edges": 125, "binary": 125, "canny": 0.75, "cvsobel": 42
}
CANNY = {"low": 10.0, "high": 30.0}  # so low that the darkest cell has that line above it


def _cells(width, height):
    """Luma, Cb and Cr of every scene cell; arrays of shape (rows, columns)."""
    i = np.arange(-(-width // CELL), dtype=np.uint64)[None, :]
    j = np.arange(-(-height // CELL), dtype=np.uint64)[:, None]
    mask = np.uint64(0xFFFFFFFF)
    mixed = ((73856093 * i) & mask) ^ ((19349663 * j) & mask)
    h = ((mixed & mask) * np.uint64(2654435761)) & mask
    luma = 40 + ((160 * (h >> np.uint64(24))) >> np.uint64(8))
    cb = 96 + ((h >> np.uint64(16)) & np.uint64(63))
    cr = 96 + ((h >> np.uint64(8)) & np.uint64(63))
    return tuple(plane.astype(np.uint8) for plane in (luma, cb, cr))


@functools.lru_cache(maxsize=4)
def _scene(width, height):
    """The scene twice side by side at full resolution, so that a frame is one slice of it."""
    planes = []
    for cells in _cells(width, height):
        picture = np.kron(cells, np.ones((CELL, CELL), np.uint8))[:height]
        planes.append(np.hstack([picture, picture]))
    return planes


def block_size(width):
    return max(4, width // BLOCKS // 4 * 4)


def check_nibble(number):
    n = number & 0xFFFF
    return (n ^ n >> 4 ^ n >> 8 ^ n >> 12 ^ 10) & 15


def frame(number, width, height):
    """Luma (height x width), Cb and Cr (4:2:0, rounded up) of frame `number`."""
    period = CELL * -(-width // CELL)
    shift = STEP * number % period
    luma, cb, cr = (plane[:, shift : shift + width].copy() for plane in _scene(width, height))
    size = block_size(width)
    bits = (number & 0xFFFF) | check_nibble(number) << NUMBER_BITS
    stripes = np.where(np.arange(size) % 4 < 2, 220, 30).astype(np.uint8)
    row = np.concatenate(
        [stripes if bits >> k & 1 else np.full(size, 30, np.uint8) for k in range(BLOCKS)]
    )[:width]
    luma[:size, : len(row)] = row
    for chroma in (cb, cr):
        chroma[:size, : len(row)] = 128
    return luma, cb[::2, ::2], cr[::2, ::2]


def _read_bits(luma, view):
    size = block_size(luma.shape[1])
    inset = size // 4
    rows = slice(size - 3, size + 3) if view == "canny" else slice(inset, size - inset)
    blocks = luma[rows, : size * BLOCKS].reshape(-1, BLOCKS, size)[:, :, inset : size - inset]
    if view == "canny":
        return (blocks.max(axis=0) > 125).mean(axis=1) < THRESHOLDS[view]
    return blocks.mean(axis=(0, 2)) > THRESHOLDS[view]


def read_number(luma, view):
    """The number in a picture's luma plane, or None when its check nibble does not match."""
    bits = _read_bits(luma, view)
    value = int(sum(1 << k for k in range(BLOCKS) if bits[k]))
    number = value & 0xFFFF
    return number if value >> NUMBER_BITS == check_nibble(number) else None


def holes(frames, period=1 << NUMBER_BITS):
    """Of (number or None, moment) in order: how many numbers are missing, how many pictures have
    none."""
    numbers = [number for number, _ in frames if number is not None]
    steps = [(after - before) % period for before, after in zip(numbers, numbers[1:])]
    return sum((step - 1) % period for step in steps), len(frames) - len(numbers)


def limited_range(magnitude):
    """The luma in which a computed gray picture goes out."""
    return (16 + (219 * magnitude.astype(np.uint32) + 127) // 255).astype(np.uint8)


def sobel_magnitude(luma, gain=1.0, norm="l2"):
    import cv2  # tests/gpu/daemon_bed.py does without

    gx = cv2.Sobel(luma, cv2.CV_16S, 1, 0, ksize=3, borderType=cv2.BORDER_REPLICATE)
    gy = cv2.Sobel(luma, cv2.CV_16S, 0, 1, ksize=3, borderType=cv2.BORDER_REPLICATE)
    gx, gy = gx.astype(np.float64), gy.astype(np.float64)
    length = np.sqrt(gx * gx + gy * gy) if norm == "l2" else np.abs(gx) + np.abs(gy)
    return np.minimum(255, np.floor(gain * length + 0.5)).astype(np.uint8)


def expected_luma(view, number, width, height):
    """What a viewer of `view` sees of frame `number`, before coding: camera, gray, edges, binary, or
    canny with the keys in CANNY.

    Gray is the camera's own luma and keeps its range; only what is computed is mapped.
    """
    import cv2  # as above

    luma = frame(number, width, height)[0]
    if view == "canny":
        return limited_range(cv2.Canny(luma, CANNY["low"], CANNY["high"], L2gradient=True))
    if view == "binary":
        return np.where(sobel_magnitude(luma) >= 80, 235, 16).astype(np.uint8)
    return limited_range(sobel_magnitude(luma)) if view == "edges" else luma


def psnr_db(picture, expected):
    difference = picture.astype(np.float64) - expected.astype(np.float64)
    mean_square = np.mean(difference * difference)
    return float("inf") if mean_square == 0 else 10 * np.log10(255 * 255 / mean_square)
