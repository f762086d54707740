"""What edged must compute, by OpenCV and numpy on float64."""

from pathlib import Path

import cv2
import numpy as np

DATA = Path(__file__).resolve().parents[1] / "data"
PAIRS = [("street.mp4:0", "street.mp4:1"), ("street.mp4:100", "street.mp4:103"),
         ("astronaut.png", "coffee.png")]
PICTURES = ["astronaut.png", "chelsea.png", "coffee.png", "street.mp4:0", "street.mp4:33",
            "street.mp4:66", "street.mp4:100", "street.mp4:118"]


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


def street():
    """Every frame of the street clip, BGR."""
    clip = cv2.VideoCapture(str(DATA / "street.mp4"))
    while True:
        more, image = clip.read()
        if not more:
            return
        yield image


def gray(bgr):
    return cv2.cvtColor(bgr, cv2.COLOR_BGR2GRAY)


def canny(gray, low, high):
    return cv2.Canny(gray, low, high, apertureSize=3, L2gradient=True)


def canny_by_median(gray):
    """auto_canny() with sigma = 0.33, but exact: numbers with halves, hundredths rounded down."""
    twice = int(2 * np.median(gray))
    return canny(gray, 67 * twice // 200, min(255, 133 * twice // 200))


OPERATORS = ["sobel", "sobel5", "scharr", "prewitt"]


def derivative(gray, operator, dx, dy):
    border = {"borderType": cv2.BORDER_REPLICATE}
    if operator == "scharr":
        return cv2.Scharr(gray, cv2.CV_16S, dx, dy, **border)
    if operator == "prewitt":
        derive, smooth = np.array([-1.0, 0, 1]), np.array([1.0, 1, 1])
        across, down = (derive, smooth) if dx else (smooth, derive)
        return cv2.sepFilter2D(gray, cv2.CV_16S, across, down, **border)
    size = 5 if operator == "sobel5" else 3
    return cv2.Sobel(gray, cv2.CV_16S, dx, dy, ksize=size, **border)


def blurred(gray, side):
    if side == 0:
        return gray
    return cv2.GaussianBlur(gray, (side, side), 0, borderType=cv2.BORDER_REPLICATE)


def edges(gray, norm="l2", gain=1.0, operator="sobel", blur=0):
    gray = blurred(gray, blur)
    gx, gy = derivative(gray, operator, 1, 0), derivative(gray, operator, 0, 1)
    gx, gy = gx.astype(np.float64), gy.astype(np.float64)
    magnitude = np.sqrt(gx * gx + gy * gy) if norm == "l2" else np.abs(gx) + np.abs(gy)
    return np.minimum(255, np.rint(gain * magnitude)).astype(np.uint8)


MORPHOLOGY = {"erode": cv2.MORPH_ERODE, "dilate": cv2.MORPH_DILATE,
              "open": cv2.MORPH_OPEN, "close": cv2.MORPH_CLOSE}


def binary(gray, threshold, morphology="none", times=1):
    if threshold == "otsu":
        white = cv2.threshold(gray, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)[1]
    else:
        white = cv2.threshold(gray, threshold - 1, 255, cv2.THRESH_BINARY)[1]
    if morphology == "none":
        return white
    return cv2.morphologyEx(white, MORPHOLOGY[morphology], np.ones((3, 3), np.uint8),
                            iterations=times)


def marked(picture, mask, mark):
    """BGR or gray; the picture as BGR, marked where the mask is 255."""
    out = picture.copy() if picture.ndim == 3 else cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR)
    out[:, :, 2] = np.maximum(out[:, :, 2], mask)
    if mark == "tint":
        out[mask == 255, :2] //= 2
    return out


def motion(previous, bgr, threshold, erode, limit=None, mark="tint"):
    """Both BGR or both gray; the picture, BGR, with what moved, where `limit` is set, marked."""
    gray_of = gray if bgr.ndim == 3 else np.asarray
    difference = cv2.absdiff(gray_of(bgr), gray_of(previous))
    if threshold == "otsu":
        mask = binary(difference, threshold)
    else:
        mask = cv2.threshold(difference, threshold, 255, cv2.THRESH_BINARY)[1]
    mask = cv2.erode(mask, np.ones((3, 3), np.uint8), iterations=erode)
    return marked(bgr, mask if limit is None else limited(mask, limit), mark)


def stretched(mask, width, height):
    """A mask picture over one of another size: 255 where what lies under a centre is white."""
    rows = (2 * np.arange(height) + 1) * mask.shape[0] // (2 * height)
    columns = (2 * np.arange(width) + 1) * mask.shape[1] // (2 * width)
    return np.where(mask[np.ix_(rows, columns)] >= 128, 255, 0).astype(np.uint8)


def enclosed(corners, width, height):
    """255 at the centres that a polygon, in shares of the picture, encloses an odd number of times."""
    x, y = np.meshgrid(np.arange(width) + 0.5, np.arange(height) + 0.5)
    inside = np.zeros((height, width), bool)
    for (ax, ay), (bx, by) in zip(corners, corners[1:] + corners[:1]):
        ax, ay, bx, by = ax * width, ay * height, bx * width, by * height
        crosses = (ay <= y) != (by <= y)
        with np.errstate(divide="ignore", invalid="ignore"):
            inside ^= crosses & (x >= ax + (bx - ax) * (y - ay) / (by - ay))
    return np.where(inside, 255, 0).astype(np.uint8)


def limited(gray, mask):
    return cv2.bitwise_and(gray, gray, mask=mask)


def overlay(bgr, threshold, colour, limit=None, **options):
    """BGR or gray; the picture with its strong edges, where `limit` is set, in `colour`, (R, G, B),
    as BGR."""
    is_gray = bgr.ndim == 2
    strong = binary(edges(bgr if is_gray else gray(bgr), **options), threshold) > 0
    strong &= True if limit is None else limit > 0
    out = cv2.cvtColor(bgr, cv2.COLOR_GRAY2BGR) if is_gray else bgr.copy()
    out[strong] = colour[::-1]
    return out


def hue(gx, gy):
    """The hue of a direction, 0..1535: the side of a square in 126ths, then the exact angle."""
    total = np.maximum(np.abs(gx) + np.abs(gy), 1)
    step = (252 * gy + total) // (2 * total)
    rest = 126 - np.abs(step)
    angle = np.arctan2(step, np.where(gx < 0, -rest, rest))
    return np.rint(1536 * angle / (2 * np.pi)).astype(int) % 1536


def direction(gray, **options):
    """The gradient's direction as the hue and its magnitude as the value of HSV, BGR."""
    operator, smooth = options.get("operator", "sobel"), blurred(gray, options.get("blur", 0))
    gx, gy = (derivative(smooth, operator, *axis).astype(int) for axis in ((1, 0), (0, 1)))
    angle, magnitude = hue(gx, gy), edges(gray, **options).astype(int)
    full = [256 - abs(angle - 1024) + 256, 256 - abs(angle - 512) + 256, abs(angle - 768) - 256]
    return np.dstack([magnitude * np.clip(channel, 0, 256) + 128 >> 8
                      for channel in full]).astype(np.uint8)
