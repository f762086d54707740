"""Raw samples of a sensor, one colour a pixel, and what OpenCV makes of them."""

import cv2
import numpy as np

# The orders as V4L2 names them, with OpenCV's code, which is named after other pixels.
CODES = {"RGGB": cv2.COLOR_BayerBG2RGB, "GRBG": cv2.COLOR_BayerGB2RGB,
         "GBRG": cv2.COLOR_BayerGR2RGB, "BGGR": cv2.COLOR_BayerRG2RGB}
FOURCCS = {
    (8, False): ("RGGB", "GRBG", "GBRG", "BA81"),
    (10, False): ("RG10", "BA10", "GB10", "BG10"),
    (10, True): ("pRAA", "pgAA", "pGAA", "pBAA"),
    (12, False): ("RG12", "BA12", "GB12", "BG12"),
    (12, True): ("pRCC", "pgCC", "pGCC", "pBCC"),
    (16, False): ("RG16", "GR16", "GB16", "BYR2"),
}
CASES = [(bits, packed, order, fourcc) for (bits, packed), fourccs in FOURCCS.items()
         for order, fourcc in zip(CODES, fourccs)]
PLAIN = (0, 1, 1, 1)  # black, and the factors of red, green and blue


def of_picture(bgr, bits, order):
    """The samples that a sensor without noise has of a picture."""
    samples = np.empty(bgr.shape[:2], np.uint32)
    for i, colour in enumerate(order):
        samples[i // 2::2, i % 2::2] = bgr[i // 2::2, i % 2::2, "BGR".index(colour)]
    return samples * 257 >> 16 - bits


def pack(samples, bits, packed):
    """The bytes of rows of samples, the last group of a row filled up."""
    if bits == 8:
        return samples.astype(np.uint8).tobytes()
    if not packed:
        return samples.astype("<u2").tobytes()
    group, low = (4, 2) if bits == 10 else (2, 4)
    padded = np.pad(samples, ((0, 0), (0, -samples.shape[1] % group)))
    groups = padded.reshape(len(samples), -1, group)
    rest = sum((groups[:, :, i] & (1 << low) - 1) << low * i for i in range(group))
    return np.concatenate([groups >> low, rest[:, :, None]], axis=2).astype(np.uint8).tobytes()


def level(samples, bits, order, development):
    """8 bit samples by the formula of demosaic.h, in whole numbers of any size."""
    black, *wanted = development
    shift = 8 + bits
    factors = [min(1 << 24, max(1, int(f * 255 * 2**shift / (2**bits - 1 - black) + 0.5)))
               for f in wanted]
    factor = np.empty(samples.shape, object)
    for i, colour in enumerate(order):
        factor[i // 2::2, i % 2::2] = factors["RGB".index(colour)]
    above = np.maximum(samples.astype(object) - black, 0)
    return np.minimum((above * factor + 2**(shift - 1)) // 2**shift, 255).astype(np.uint8)


def demosaiced(samples, bits, order, development=PLAIN):
    """RGB."""
    return cv2.cvtColor(level(samples, bits, order, development), CODES[order])
