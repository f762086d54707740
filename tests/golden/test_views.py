"""Gray and edges equal OpenCV bit for bit, on real pictures and on sizes that hurt."""

import cv2
import numpy as np
import pytest

import oracle
from random_cases import random_cases

GAINS = [1.0, 0.5, 0.25, 1.5, 2.0, 0.3333, 3.7, 0.01, 100.0]
SIZES = [(1, 1), (2, 1), (1, 2), (3, 3), (1, 257), (641, 1), (63, 5), (64, 4), (65, 3), (127, 2),
         (129, 7), (321, 241), (1919, 3)]


@pytest.fixture(scope="module", params=oracle.PICTURES)
def picture(request):
    return oracle.picture(request.param)


def compute(process, tmp_path, image, *options):
    """`image` (gray or BGR) through edgectl in the exact formats."""
    source = tmp_path / ("in.pgm" if image.ndim == 2 else "in.ppm")
    assert cv2.imwrite(str(source), image)
    result = process(*options, source, tmp_path / "out.pgm")
    assert result.returncode == 0, result.stderr
    return cv2.imread(str(tmp_path / "out.pgm"), cv2.IMREAD_UNCHANGED)


def assert_equal(got, expected):
    assert got.shape == expected.shape
    wrong = np.argwhere(got != expected)
    assert len(wrong) == 0, f"{len(wrong)} pixels differ, the first at {wrong[0]}"


def test_gray_of_a_colour_picture_is_opencvs(process, tmp_path, picture):
    assert_equal(compute(process, tmp_path, picture, "--view", "gray"), oracle.gray(picture))


@pytest.mark.parametrize("norm", ["l2", "l1"])
def test_edges_of_a_colour_picture_are_opencvs(process, tmp_path, picture, norm):
    got = compute(process, tmp_path, picture, "--view", "edges", "--set", f"norm={norm}")
    assert_equal(got, oracle.edges(oracle.gray(picture), norm))


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("gain", GAINS)
def test_edges_with_a_gain_round_as_numpy_does(process, tmp_path, picture, norm, gain):
    gray = oracle.gray(picture)
    got = compute(process, tmp_path, gray, "--set", f"norm={norm}", "--set", f"gain={gain!r}")
    assert_equal(got, oracle.edges(gray, norm, gain))


@pytest.mark.parametrize("operator", oracle.OPERATORS)
@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("gain", [1.0, 0.0833, 0.25])
def test_every_operator_is_opencvs(process, tmp_path, picture, operator, norm, gain):
    got = compute(process, tmp_path, picture, "--set", f"operator={operator}",
                  "--set", f"norm={norm}", "--set", f"gain={gain!r}")
    assert_equal(got, oracle.edges(oracle.gray(picture), norm, gain, operator))


@pytest.mark.parametrize("blur", [3, 5])
@pytest.mark.parametrize("operator", oracle.OPERATORS)
def test_a_blur_before_the_gradient_is_opencvs(process, tmp_path, picture, operator, blur):
    got = compute(process, tmp_path, picture, "--set", f"blur={blur}",
                  "--set", f"operator={operator}")
    assert_equal(got, oracle.edges(oracle.gray(picture), operator=operator, blur=blur))


@pytest.mark.parametrize("threshold", [1, 25, 80, 254, 255, "otsu"])
def test_binary_is_white_from_the_threshold_on(process, tmp_path, picture, threshold):
    got = compute(process, tmp_path, picture, "--view", "binary", "--set", "operator=scharr",
                  "--set", "blur=3", "--set", "gain=0.25", "--set", f"threshold={threshold}")
    edges = oracle.edges(oracle.gray(picture), "l2", 0.25, "scharr", 3)
    assert_equal(got, oracle.binary(edges, threshold))


@pytest.mark.parametrize("morphology", oracle.MORPHOLOGY)
@pytest.mark.parametrize("times", [1, 2, 8])
def test_morphology_is_opencvs(process, tmp_path, picture, morphology, times):
    got = compute(process, tmp_path, picture, "--view", "binary", "--set", "threshold=90",
                  "--set", f"morphology={morphology}", "--set", f"times={times}")
    assert_equal(got, oracle.binary(oracle.edges(oracle.gray(picture)), 90, morphology, times))


def test_random_binary_pictures_equal_opencv(process, tmp_path):
    for _, chance in random_cases(200):
        height, width = chance.integers(1, 100, 2)
        image = chance.integers(0, chance.integers(2, 257), (height, width)).astype(np.uint8)
        threshold, times = int(chance.integers(1, 256)), int(chance.integers(1, 9))
        threshold = threshold if chance.integers(2) else "otsu"
        morphology = chance.choice(["none", *oracle.MORPHOLOGY])
        got = compute(process, tmp_path, image, "--view", "binary",
                      "--set", f"threshold={threshold}", "--set", f"morphology={morphology}",
                      "--set", f"times={times}")
        assert_equal(got, oracle.binary(oracle.edges(image), threshold, morphology, times))


def test_a_png_is_read_exactly(process, tmp_path):
    name = oracle.DATA / "chelsea.png"
    assert process("--view", "camera", name, tmp_path / "out.ppm").returncode == 0
    assert_equal(cv2.imread(str(tmp_path / "out.ppm")), cv2.imread(str(name)))
    assert process(name, tmp_path / "out.png").returncode == 0
    assert_equal(cv2.imread(str(tmp_path / "out.png"), cv2.IMREAD_UNCHANGED),
                 oracle.edges(oracle.gray(cv2.imread(str(name)))))


@pytest.mark.parametrize("norm", ["l2", "l1"])
@pytest.mark.parametrize("operator, blur", [*((name, 0) for name in oracle.OPERATORS),
                                            ("sobel", 3), ("sobel", 5), ("sobel5", 5)])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: "x".join(map(str, size)))
def test_every_size_replicates_its_border(process, tmp_path, size, operator, blur, norm):
    width, height = size
    noise = np.random.default_rng(width * 10007 + height).integers(0, 256, (height, width, 3))
    image = noise.astype(np.uint8)
    got = compute(process, tmp_path, image, "--set", f"norm={norm}",
                  "--set", f"operator={operator}", "--set", f"blur={blur}")
    assert_equal(got, oracle.edges(oracle.gray(image), norm, 1.0, operator, blur))


def test_random_pictures_equal_opencv(process, tmp_path):
    for _, chance in random_cases(200):
        height, width = chance.integers(1, 300, 2)
        spread = chance.integers(1, 257)
        image = chance.integers(0, spread, (height, width, 3)).astype(np.uint8)
        norm = ["l2", "l1"][chance.integers(2)]
        operator = chance.choice(oracle.OPERATORS)
        blur = int(chance.choice([0, 3, 5]))
        gain = float(chance.choice([1.0, 0.5, 10.0 ** chance.uniform(-2, 1)]))
        got = compute(process, tmp_path, image, "--set", f"operator={operator}",
                      "--set", f"norm={norm}", "--set", f"gain={gain!r}", "--set", f"blur={blur}")
        assert_equal(got, oracle.edges(oracle.gray(image), norm, gain, operator, blur))


def test_gray_in_every_colour_is_opencvs(process, tmp_path):
    """All 2^24 colours."""
    index = np.arange(1 << 24, dtype=np.uint32).reshape(4096, 4096)
    image = np.stack([index & 255, index >> 8 & 255, index >> 16], axis=2).astype(np.uint8)
    assert_equal(compute(process, tmp_path, image, "--view", "gray"), oracle.gray(image))


def test_a_gray_file_stays_gray_in_the_camera_view(process, tmp_path, picture):
    gray = oracle.gray(picture)
    assert_equal(compute(process, tmp_path, gray, "--view", "camera"), gray)
