"""Scenes for motion events, drawn: somebody who walks, and what is no motion. 640x360, gray, the same every time.

A scene is a function of the time in seconds; frames(scene, fps) samples it, so that every rate sees the same. Figures
enter at ENTER_S. The pictures behind them are out of tests/data.
"""

import pathlib
import subprocess

import cv2
import numpy as np

WIDTH, HEIGHT, ENTER_S = 640, 360, 2.0
DATA = pathlib.Path(__file__).resolve().parent / "data"
Y, X = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)


def ground(name):
    """A photograph, or the street clip's first frame, in gray."""
    if name == "street":
        clip = cv2.VideoCapture(str(DATA / "street.mp4"))
        picture = clip.read()[1]
    else:
        picture = cv2.imread(str(DATA / f"{name}.png"))
    return cv2.resize(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY), (WIDTH, HEIGHT),
                      interpolation=cv2.INTER_AREA).astype(np.float32)


def chance_at(time_s):
    return np.random.default_rng(round(time_s * 1000))


def noise(time_s, sigma):
    return chance_at(time_s).normal(0, sigma, (HEIGHT, WIDTH)).astype(np.float32)


def walker(behind, width, height, speed, level=40, sigma=3.0):
    """A figure in two shades with cloth, `speed` pixels a second."""
    cloth = np.random.default_rng(width).normal(0, 10, (height, width)).astype(np.float32)
    y, x = np.mgrid[0:height, 0:width] + 0.5
    shape = ((x / width - 0.5) ** 2 + (y / height - 0.5) ** 2 <= 0.25)
    shades = np.where(y < height / 2, level, level * 0.6 + 10).astype(np.float32) + cloth
    top = min(HEIGHT - height - 5, 190)

    def scene(time_s):
        picture = behind.copy()
        left = round(100 + speed * (time_s - ENTER_S))
        if time_s >= ENTER_S and left + width <= WIDTH:
            picture[top:top + height, left:left + width][shape] = shades[shape]
        return picture + noise(time_s, sigma)
    return scene


def still(behind, light, sigma=3.0):
    """The picture in a light: light(time, picture)."""
    return lambda time_s: light(time_s, behind) + noise(time_s, sigma)


def leaves(behind, pixels):
    """The right half sways by so many pixels."""
    def light(time_s, picture):
        x = pixels * np.sin(2 * np.pi * 1.3 * time_s + Y / 9 + X / 13)
        y = pixels / 2 * np.sin(2 * np.pi * 0.9 * time_s + X / 11)
        swayed = cv2.remap(picture, (X + x).astype(np.float32), (Y + y).astype(np.float32),
                           cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        return np.where(X < WIDTH / 2, picture, swayed)
    return still(behind, light)


def tube(behind, mains_hz, depth):
    """Bands of a tube on mains of 50 or 60 Hz that roll over a sensor which reads its rows in 30 ms."""
    return still(behind, lambda t, picture: picture * (
        1 + depth * np.sin(2 * np.pi * 2 * mains_hz * (t * 1.003 + Y / HEIGHT * 0.03))))


def infrared(time_s, picture):
    """Colours become brightness of another kind, and the exposure settles."""
    if time_s < 3:
        return picture
    other = 0.5 * picture + 0.25 * cv2.GaussianBlur(255 - picture, (0, 0), 3) + 20
    return other * (1.2 + 0.3 * max(0, 1 - (time_s - 3) / 0.8))


def lamp(strength, sigma=35):
    glow = np.exp(-((X - 560) ** 2 + (Y - 60) ** 2) / (2 * sigma ** 2))
    return lambda t, picture: picture * 0.6 * (1 + strength * glow * (int(t / 2) % 2))


QUIET = {
    "noise": lambda b: still(b, lambda t, p: p, sigma=8),
    "light 10 % more": lambda b: still(b, lambda t, p: p * (1.1 if t >= 3 else 1)),
    "light 30 % more": lambda b: still(b, lambda t, p: p * (1.3 if t >= 3 else 1)),
    "light 50 % less": lambda b: still(b, lambda t, p: p * (0.5 if t >= 3 else 1)),
    "tube, 50 Hz": lambda b: tube(b, 50, 0.1),
    "tube, 60 Hz": lambda b: tube(b, 60, 0.1),
    "dusk": lambda b: still(b, lambda t, p: p * (1 - 0.09 * t)),
    "infrared": lambda b: still(b, infrared),
    "reconnect": lambda b: still(b, lambda t, p: p * (0 if 2 <= t < 4 else
                                                      min(1, 0.4 + (t - 4) * 0.8) if t >= 4 else 1)),
    "leaves by 1 pixel": lambda b: leaves(b, 1),
    "leaves by 2 pixels": lambda b: leaves(b, 2),
    "a cloud": lambda b: still(b, lambda t, p: p * (1 - 0.4 / (1 + np.exp((X + 100 - t * 90) / 40)))),
    "a lamp": lambda b: still(b, lamp(0.6)),
}


def frames(scene, fps, seconds):
    for number in range(round(fps * seconds)):
        picture = scene(number / fps)
        yield np.clip(np.rint(picture), 0, 255).astype(np.uint8)


def write(path, pictures, fps):
    """A YUV4MPEG2 file."""
    chroma = bytes([128]) * (WIDTH * HEIGHT // 2)
    with open(path, "wb") as file:
        file.write(f"YUV4MPEG2 W{WIDTH} H{HEIGHT} F{fps}:1 Ip A1:1 C420jpeg\n".encode())
        for picture in pictures:
            file.write(b"FRAME\n" + picture.tobytes() + chroma)


def encode(path, pictures, fps, *options):
    """The same by x264, with FFmpeg's options."""
    encoder = subprocess.Popen(
        ["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "gray", "-s", f"{WIDTH}x{HEIGHT}",
         "-r", str(fps), "-i", "-", "-pix_fmt", "yuv420p", "-c:v", "libx264", "-preset", "ultrafast",
         "-g", str(2 * fps), *options, str(path)], stdin=subprocess.PIPE)
    for picture in pictures:
        encoder.stdin.write(picture.tobytes())
    encoder.stdin.close()
    assert encoder.wait() == 0
