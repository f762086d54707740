#!/usr/bin/python3
"""Fails unless a stream shows the edges of tests/data/street.mp4.

usage: tests/fresh/edges_of_street.py URL

FFmpeg pulls one frame over TCP and one over UDP; each must be like the Sobel magnitude, by OpenCV,
of some frame of the clip. A black picture, the NO SIGNAL slate and the clip itself are like none.
"""
import pathlib
import subprocess
import sys

import cv2
import numpy as np

CLIP = pathlib.Path(__file__).parents[1] / "data/street.mp4"
# An encoded frame correlates with its own magnitude by 0.99, the picture itself by 0.04.
ALIKE = 0.9


def magnitudes():
    clip = cv2.VideoCapture(str(CLIP))
    while (frame := clip.read())[0]:
        gray = cv2.cvtColor(frame[1], cv2.COLOR_BGR2GRAY).astype(np.float32)
        yield cv2.magnitude(cv2.Sobel(gray, -1, 1, 0), cv2.Sobel(gray, -1, 0, 1)).clip(0, 255)


def pull(url, transport, shape):
    picture = subprocess.run(
        ["ffmpeg", "-nostdin", "-v", "error", "-rtsp_transport", transport, "-i", url,
         "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "gray", "-"],
        stdout=subprocess.PIPE, check=True, timeout=120).stdout
    return np.frombuffer(picture, np.uint8).reshape(shape)


def likeness(picture, magnitude):
    return np.corrcoef(picture.ravel(), magnitude.ravel())[0, 1] if picture.std() > 0 else 0.0


expected = list(magnitudes())
for transport in ("tcp", "udp"):
    picture = pull(sys.argv[1], transport, expected[0].shape)
    best = max(likeness(picture, magnitude) for magnitude in expected)
    print(f"{transport}: a frame like the street's edges by {best:.3f}")
    if best < ALIKE:
        sys.exit(f"{transport}: the frame is none of the street's edges")
