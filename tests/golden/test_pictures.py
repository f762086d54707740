"""PNG and JPEG of every kind are read as cv2.imread() reads them, to the bit."""

import ctypes
import ctypes.util
import struct
import subprocess

import cv2
import numpy as np
import pytest

import oracle
from ffmpeg import complaints

TJPF_CMYK, TJSAMP_444, TJSAMP_420 = 11, 0, 2


def exif(orientation, big_endian=False):
    """An APP1 segment that tells the orientation, behind a tag that does not matter."""
    order = ">" if big_endian else "<"
    entries = struct.pack(order + "HHIHH", 0x0100, 3, 1, 640, 0)
    entries += struct.pack(order + "HHIHH", 0x0112, 3, 1, orientation, 0)
    tiff = (b"MM" if big_endian else b"II") + struct.pack(order + "HI", 42, 8)
    body = b"Exif\0\0" + tiff + struct.pack(order + "H", 2) + entries + bytes(4)
    return b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body


def jpeg(image, *options):
    return cv2.imencode(".jpg", image, list(options))[1].tobytes()


def turned(image, orientation, big_endian=False):
    data = jpeg(image)
    return data[:2] + exif(orientation, big_endian) + data[2:]


def odd(image, marker, at, value):
    """With another byte in a marker's segment, counted from the marker: libjpeg warns of it."""
    data = bytearray(jpeg(image))
    data[data.index(marker) + at] = value
    return bytes(data)


def adobe(image):
    body = b"Adobe" + struct.pack(">HHHB", 100, 0, 0, 9)  # a transform that no version of Photoshop has
    data = jpeg(image)
    jfif_end = 4 + data[5]
    return data[:2] + b"\xff\xee" + struct.pack(">H", len(body) + 2) + body + data[jfif_end:]


def cmyk(image, subsampling):
    """By TurboJPEG, because neither OpenCV nor FFmpeg writes it."""
    turbojpeg = ctypes.CDLL(ctypes.util.find_library("turbojpeg"))
    turbojpeg.tjInitCompress.restype = ctypes.c_void_p
    handle = ctypes.c_void_p(turbojpeg.tjInitCompress())
    height, width = image.shape[:2]
    inks = np.dstack([image, image[:, :, :1] // 2 + 100])
    inks = np.ascontiguousarray(inks)
    data, size = ctypes.c_void_p(), ctypes.c_ulong()
    assert turbojpeg.tjCompress2(
        handle, inks.ctypes.data_as(ctypes.c_void_p), width, 0, height, TJPF_CMYK,
        ctypes.byref(data), ctypes.byref(size), subsampling, 90, 0) == 0  # fmt: skip
    return ctypes.string_at(data, size.value)


def by_ffmpeg(image, suffix, pixel_format):
    height, width = image.shape[:2]
    return subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", "bgr24", "-s", f"{width}x{height}", "-i", "-",
         "-frames:v", "1", "-c:v", suffix, "-pix_fmt", pixel_format, "-f", "image2pipe", "-"],
        input=image.tobytes(), stdout=subprocess.PIPE, check=True).stdout  # fmt: skip


def png(image, *options):
    return cv2.imencode(".png", image, list(options))[1].tobytes()


def sixteen(image):
    """Samples whose lower bytes matter where somebody rounds."""
    rng = np.random.default_rng(3)
    return image.astype(np.uint16) * 256 + rng.integers(0, 256, image.shape, dtype=np.uint16)


def alpha(image):
    return np.dstack([image, image[:, :, 1]])


KINDS = {
    "jpeg": jpeg,
    "jpeg q30": lambda image: jpeg(image, cv2.IMWRITE_JPEG_QUALITY, 30),
    "jpeg progressive": lambda image: jpeg(image, cv2.IMWRITE_JPEG_PROGRESSIVE, 1),
    "jpeg gray": lambda image: jpeg(oracle.gray(image)),
    "jpeg 4:2:2": lambda image: by_ffmpeg(image, "mjpeg", "yuvj422p"),
    "jpeg 4:4:4": lambda image: by_ffmpeg(image, "mjpeg", "yuvj444p"),
    "jpeg cmyk": lambda image: cmyk(image, TJSAMP_444),
    "jpeg cmyk 4:2:0": lambda image: cmyk(image, TJSAMP_420),
    "jpeg scan of 0 coefficients": lambda image: odd(image, b"\xff\xda", 12, 0),
    "jpeg of JFIF 5": lambda image: odd(image, b"JFIF\0", 5, 5),
    "jpeg of an unknown Adobe transform": adobe,
    "jpeg restarts": lambda image: jpeg(image, cv2.IMWRITE_JPEG_RST_INTERVAL, 4),
    "jpeg big-endian exif": lambda image: turned(image, 6, True),
    **{f"jpeg exif {n}": lambda image, n=n: turned(image, n) for n in range(1, 10)},
    "png": png,
    "png gray": lambda image: png(oracle.gray(image)),
    "png alpha": lambda image: png(alpha(image)),
    "png 16 bits": lambda image: png(sixteen(image)),
    "png 16 bits gray": lambda image: png(sixteen(oracle.gray(image))),
    "png 16 bits alpha": lambda image: png(sixteen(alpha(image))),
    "png 1 bit": lambda image: by_ffmpeg(image, "png", "monob"),
    "png gray alpha": lambda image: by_ffmpeg(image, "png", "ya8"),
    "png palette": lambda image: by_ffmpeg(image, "png", "pal8"),
}


@pytest.mark.parametrize("size", [(640, 480), (321, 241), (7, 5)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_picture_of_every_kind_is_read_as_opencv_reads_it(process, tmp_path, kind, size):
    image = cv2.resize(oracle.picture("coffee.png"), size, interpolation=cv2.INTER_AREA)
    source = tmp_path / ("in.jpg" if kind.startswith("jpeg") else "in.png")
    source.write_bytes(KINDS[kind](image))
    result = process("--view", "camera", source, tmp_path / "out.ppm")
    assert result.returncode == 0, result.stderr
    expected = cv2.imread(str(source), cv2.IMREAD_COLOR)
    got = cv2.imread(str(tmp_path / "out.ppm"))
    assert got.shape == expected.shape
    assert np.array_equal(got, expected), np.argwhere(got != expected)[0]


def test_red_of_16_bits_is_red(process, tmp_path):
    process("--view", "camera", oracle.DATA / "pictures/red16.png", tmp_path / "out.ppm")
    assert (cv2.imread(str(tmp_path / "out.ppm")) == (0, 0, 255)).all()


def test_canny_of_a_cameras_jpeg_is_opencvs(process, tmp_path):
    source = oracle.DATA / "pictures/camera-q95.jpg"
    process("--view", "canny", "--set", "low=50", "--set", "high=150", source, tmp_path / "out.pgm")
    expected = oracle.canny(oracle.gray(cv2.imread(str(source))), 50, 150)
    assert np.array_equal(cv2.imread(str(tmp_path / "out.pgm"), cv2.IMREAD_UNCHANGED), expected)


def test_gray_of_a_clip_of_jpegs_is_opencvs(process, tmp_path):
    picture = jpeg(cv2.resize(oracle.picture("coffee.png"), (640, 480)))
    (tmp_path / "in.jpg").write_bytes(picture)
    clip = tmp_path / "in.avi"
    subprocess.run(["ffmpeg", "-v", "error", "-framerate", "10", "-loop", "1", "-i", tmp_path / "in.jpg",
                    "-frames:v", "3", "-c:v", "copy", clip], check=True)  # fmt: skip
    result = process("--view", "gray", "--frame", "1", clip, tmp_path / "out.pgm")
    assert result.returncode == 0, result.stderr
    luma = cv2.imdecode(np.frombuffer(picture, np.uint8), cv2.IMREAD_GRAYSCALE)
    assert np.array_equal(cv2.imread(str(tmp_path / "out.pgm"), cv2.IMREAD_UNCHANGED), luma)


# What is wrong with it, and what is said.
DAMAGED = {
    "cut.png": (lambda data: data[: len(data) // 2], "a damaged PNG: "),
    "flipped.png": (lambda data: data[:2000] + bytes([data[2000] ^ 255]) + data[2001:], "a damaged PNG: "),
    "cut.jpg": (lambda data: data[: len(data) // 2], "truncated, the JPEG has no end marker"),
    "head.jpg": (lambda data: data[:200] + b"\xff\xd9", "a damaged JPEG: "),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_picture_is_an_error(process, tmp_path, name):
    damage, message = DAMAGED[name]
    whole = (png if name.endswith("png") else jpeg)(oracle.picture("coffee.png"))
    (tmp_path / name).write_bytes(damage(whole))
    result = process("--view", "camera", tmp_path / name, tmp_path / "out.ppm")
    assert result.returncode == 1 and message in result.stderr and len(complaints(result.stderr)) == 1
    assert not (tmp_path / "out.ppm").exists()
