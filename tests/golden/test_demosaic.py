"""Raw samples of every depth, order and packing become OpenCV's bilinear demosaic of them, and gray
of it, borders and sizes that hurt included."""

import subprocess

import cv2
import numpy as np
import pytest

import oracle
import programs

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
SIZES = [(1, 1), (2, 2), (2, 9), (9, 2), (3, 3), (4, 3), (5, 7), (16, 16), (17, 33), (64, 48),
         (101, 64), (130, 67), (641, 3)]
PLAIN = (0, 1, 1, 1)


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


def run(fourcc, output, width, height, data, development, *threads):
    command = [programs.DEMOSAIC_RAW, fourcc, str(width), str(height), output,
               *map(str, development), *threads]
    out = subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True, timeout=60).stdout
    return np.frombuffer(out, np.uint8).reshape((height, width, 3)[:3 if output == "RGB3" else 2])


def draw(rng, bits, width, height):
    return rng.integers(0, 1 << bits, (height, width), dtype=np.uint32)


def test_eight_bits_as_they_are_equal_opencvs_of_a_real_picture():
    picture = oracle.picture(oracle.PICTURES[0])
    for order, fourcc in zip(CODES, FOURCCS[8, False]):
        mosaic = np.empty(picture.shape[:2], np.uint8)
        for i, colour in enumerate(order):
            mosaic[i // 2::2, i % 2::2] = picture[i // 2::2, i % 2::2, "BGR".index(colour)]
        height, width = mosaic.shape
        got = run(fourcc, "RGB3", width, height, mosaic.tobytes(), PLAIN)
        assert np.array_equal(got, cv2.cvtColor(mosaic, CODES[order])), order


@pytest.mark.parametrize("output", ["RGB3", "GREY"])
@pytest.mark.parametrize("bits, packed, order, fourcc", CASES)
def test_every_format_equals_opencvs(bits, packed, order, fourcc, output):
    rng = np.random.default_rng(11)
    for width, height in SIZES:
        samples = draw(rng, bits, width, height)
        for development in (PLAIN, (1 << bits - 4, 1.9, 1.25, 1.6)):
            rgb = cv2.cvtColor(level(samples, bits, order, development), CODES[order])
            got = run(fourcc, output, width, height, pack(samples, bits, packed), development)
            expected = rgb if output == "RGB3" else cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)
            assert np.array_equal(got, expected), (width, height, development)


@pytest.mark.parametrize("bits", [8, 10, 12, 16])
def test_extreme_levels_are_those_of_the_formula(bits):
    """Every sample there is, or many of 16 bits, gained far beyond white and hardly at all."""
    fourcc = FOURCCS[bits, False][0]
    samples = np.arange(0, 1 << bits, 1 if bits < 16 else 13).repeat(4)[:16384]
    samples = samples.reshape(-1, 64).astype(np.uint32)
    height, width = samples.shape
    white = (1 << bits) - 1
    for development in (PLAIN, (white - 1, 64 * 16, 1, 0.01), (white // 2, 0.1, 16, 64),
                        (3, 1e-6, 1e9, 1)):
        rgb = cv2.cvtColor(level(samples, bits, "RGGB", development), cv2.COLOR_BayerBG2RGB)
        got = run(fourcc, "RGB3", width, height, pack(samples, bits, False), development)
        assert np.array_equal(got, rgb), development


@pytest.mark.parametrize("threads", ["2", "5"])
def test_threads_share_the_rows(threads):
    samples = draw(np.random.default_rng(12), 10, 322, 481)
    rgb = cv2.cvtColor(level(samples, 10, "GBRG", PLAIN), CODES["GBRG"])
    got = run("pGAA", "RGB3", 322, 481, pack(samples, 10, True), PLAIN, threads)
    assert np.array_equal(got, rgb)
