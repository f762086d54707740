"""Raw samples of every depth, order and packing become OpenCV's bilinear demosaic of them, and gray
of it, borders and sizes that hurt included."""

import subprocess

import cv2
import numpy as np
import pytest

import mosaics
import oracle
import programs
from mosaics import PLAIN

SIZES = [(1, 1), (2, 2), (2, 9), (9, 2), (3, 3), (4, 3), (5, 7), (16, 16), (17, 33), (64, 48),
         (101, 64), (130, 67), (641, 3)]


def run(fourcc, output, width, height, data, development, *threads):
    command = [programs.DEMOSAIC_RAW, fourcc, str(width), str(height), output,
               *map(str, development), *threads]
    out = subprocess.run(command, input=data, stdout=subprocess.PIPE, check=True, timeout=300).stdout
    return np.frombuffer(out, np.uint8).reshape((height, width, 3)[:3 if output == "RGB3" else 2])


def draw(rng, bits, width, height):
    return rng.integers(0, 1 << bits, (height, width), dtype=np.uint32)


def test_eight_bits_as_they_are_equal_opencvs_of_a_real_picture():
    picture = oracle.picture(oracle.PICTURES[0])
    for order, fourcc in zip(mosaics.CODES, mosaics.FOURCCS[8, False]):
        samples = mosaics.of_picture(picture, 8, order).astype(np.uint8)
        height, width = samples.shape
        got = run(fourcc, "RGB3", width, height, samples.tobytes(), PLAIN)
        assert np.array_equal(got, cv2.cvtColor(samples, mosaics.CODES[order])), order


@pytest.mark.parametrize("output", ["RGB3", "GREY"])
@pytest.mark.parametrize("kind", mosaics.FOURCCS)
@pytest.mark.parametrize("order", mosaics.CODES)
def test_every_format_equals_opencvs(kind, order, output):
    bits, packed = kind
    fourcc = mosaics.FOURCCS[kind][list(mosaics.CODES).index(order)]
    rng = np.random.default_rng(11)
    for width, height in SIZES:
        samples = draw(rng, bits, width, height)
        for development in (PLAIN, (1 << bits - 4, 1.9, 1.25, 1.6)):
            rgb = mosaics.demosaiced(samples, bits, order, development)
            got = run(fourcc, output, width, height, mosaics.pack(samples, bits, packed), development)
            expected = rgb if output == "RGB3" else cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY)
            assert np.array_equal(got, expected), (width, height, development)


@pytest.mark.parametrize("bits", [8, 10, 12, 16])
def test_extreme_levels_are_those_of_the_formula(bits):
    """Every sample there is, or many of 16 bits, gained far beyond white and hardly at all."""
    fourcc = mosaics.FOURCCS[bits, False][0]
    samples = np.arange(0, 1 << bits, 1 if bits < 16 else 13).repeat(4)[:16384]
    samples = samples.reshape(-1, 64).astype(np.uint32)
    height, width = samples.shape
    white = (1 << bits) - 1
    for development in (PLAIN, (white - 1, 64 * 16, 1, 0.01), (white // 2, 0.1, 16, 64),
                        (3, 1e-6, 1e9, 1)):
        rgb = mosaics.demosaiced(samples, bits, "RGGB", development)
        got = run(fourcc, "RGB3", width, height, mosaics.pack(samples, bits, False), development)
        assert np.array_equal(got, rgb), development


@pytest.mark.parametrize("threads", ["2", "5"])
def test_threads_share_the_rows(threads):
    samples = draw(np.random.default_rng(12), 10, 322, 481)
    rgb = mosaics.demosaiced(samples, 10, "GBRG")
    got = run("pGAA", "RGB3", 322, 481, mosaics.pack(samples, 10, True), PLAIN, threads)
    assert np.array_equal(got, rgb)
