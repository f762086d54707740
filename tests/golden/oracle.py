"""What edged must compute, by OpenCV and numpy on float64."""

from pathlib import Path

import cv2
import numpy as np

DATA = Path(__file__).resolve().parents[1] / "data"
PICTURES = ["astronaut.png", "chelsea.png", "coffee.png", "street.mp4:0", "street.mp4:100"]


def picture(name):
    """One real picture, BGR: a file, or FILE:N for frame N of a clip."""
    file, _, number = name.partition(":")
    if not number:
        image = cv2.imread(str(DATA / file), cv2.IMREAD_COLOR)
    else:
        clip = cv2.VideoCapture(str(DATA / file))
        for _ in range(int(number) + 1):
            _, image = clip.read()
    assert image is not None and image.std() > 10
    return image


def gray(bgr):
    return cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY)


def canny(gray, low, high):
    return cv2.Canny(gray, low, high, apertureSize=3, L2gradient=True)


def edges(gray, norm="l2", gain=1.0):
    gx = cv2.Sobel(gray, cv2.CV_16S, 1, 0, ksize=3, borderType=cv2.BORDER_REPLICATE)
    gy = cv2.Sobel(gray, cv2.CV_16S, 0, 1, ksize=3, borderType=cv2.BORDER_REPLICATE)
    gx, gy = gx.astype(np.float64), gy.astype(np.float64)
    magnitude = np.sqrt(gx * gx + gy * gy) if norm == "l2" else np.abs(gx) + np.abs(gy)
    return np.minimum(255, np.rint(gain * magnitude)).astype(np.uint8)
