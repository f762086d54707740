"""Clips whose pixels are not square, whose pictures are to be turned, and that change their size: as
FFmpeg shows them."""

import struct
import subprocess

import cv2
import numpy as np
import pytest


def ffmpeg(*words):
    subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", *map(str, words)], check=True)


def pattern(path, size, *options):
    ffmpeg("-f", "lavfi", "-i", f"testsrc2=s={size}:r=10:d=1", "-c:v", "libx264", "-pix_fmt", "yuv420p",
           *options, path)


def frames(path):
    clip = cv2.VideoCapture(str(path))
    found = []
    while True:
        more, image = clip.read()
        if not more:
            return found
        found.append(image)


def assert_alike(got, expected):
    assert got.shape == expected.shape
    assert np.abs(got.astype(int) - expected).mean() < 6


def test_pixels_that_are_not_square_are_made_so(process, tmp_path):
    pattern(tmp_path / "in.mp4", "352x288", "-vf", "setsar=16/11")
    result = process("--view", "camera", "--frame", "5", tmp_path / "in.mp4", tmp_path / "out.ppm")
    assert result.returncode == 0, result.stderr
    got = cv2.imread(str(tmp_path / "out.ppm"))
    assert_alike(got, cv2.resize(frames(tmp_path / "in.mp4")[5], (512, 288)))


# The matrix of the track's header (ISO 14496-12, section 8.3.2) of a turn clockwise, its picture, and
# how OpenCV makes it.
TURNS = {
    90: ((0, 1, -1, 0), cv2.ROTATE_90_CLOCKWISE),
    180: ((-1, 0, 0, -1), cv2.ROTATE_180),
    270: ((0, -1, 1, 0), cv2.ROTATE_90_COUNTERCLOCKWISE),
}


def turned(clip, matrix):
    data = bytearray(clip)
    at = data.index(b"tkhd") + 4 + 40  # of version 0
    a, b, c, d = (value * 0x10000 for value in matrix)
    data[at : at + 36] = struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 0x40000000)
    return bytes(data)


@pytest.mark.parametrize("turn", TURNS)
def test_a_turned_clip_is_shown_upright(process, tmp_path, turn):
    matrix, rotation = TURNS[turn]
    pattern(tmp_path / "flat.mp4", "320x240")
    (tmp_path / "in.mp4").write_bytes(turned((tmp_path / "flat.mp4").read_bytes(), matrix))
    result = process("--view", "camera", tmp_path / "in.mp4", tmp_path / "out.mp4")
    assert result.returncode == 0, result.stderr
    got, expected = frames(tmp_path / "out.mp4"), frames(tmp_path / "flat.mp4")
    assert len(got) == len(expected)
    assert_alike(got[5], cv2.rotate(expected[5], rotation))


def test_a_clip_that_changes_its_size_keeps_all_of_its_pictures(process, tmp_path):
    pattern(tmp_path / "1.ts", "320x240", "-f", "mpegts")
    pattern(tmp_path / "2.ts", "640x480", "-output_ts_offset", "1", "-f", "mpegts")
    # Not one file behind the other: their packets are counted.
    ffmpeg("-i", f"concat:{tmp_path}/1.ts|{tmp_path}/2.ts", "-c", "copy", tmp_path / "in.ts")
    result = process("--view", "camera", tmp_path / "in.ts", tmp_path / "out.mp4")
    assert result.returncode == 0, result.stderr
    got = frames(tmp_path / "out.mp4")
    assert len(got) == 20
    assert_alike(got[15], cv2.resize(frames(tmp_path / "2.ts")[5], (320, 240)))


@pytest.mark.parametrize("kind", ["mp4", "mov"])
def test_a_clip_whose_sound_is_longer_is_whole(process, tmp_path, kind):
    pattern(tmp_path / "silent.mp4", "320x240")
    ffmpeg("-i", tmp_path / "silent.mp4", "-f", "lavfi", "-i", "sine=d=3", "-c:v", "copy", "-c:a", "aac",
           tmp_path / f"in.{kind}")
    result = process("--view", "camera", tmp_path / f"in.{kind}", tmp_path / "out.mp4")
    assert result.returncode == 0, result.stderr
    assert len(frames(tmp_path / "out.mp4")) == 10
