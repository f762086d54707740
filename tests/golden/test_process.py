"""Every wrong use of `edgectl process` gets a sentence, its status, and leaves no file behind."""

import contextlib
import os
import pty
import resource
import shutil
import signal
import subprocess
import wave

import cv2
import numpy as np
import pytest

import oracle
import programs
from ffmpeg import complaints


@pytest.fixture
def process(edgectl_process):
    """Each run is one of the program itself."""
    return edgectl_process


@pytest.fixture
def files(tmp_path):
    """A folder with good and bad inputs."""
    image = cv2.imread(str(oracle.DATA / "coffee.png"))
    assert cv2.imwrite(str(tmp_path / "good.pgm"), oracle.gray(image))
    assert cv2.imwrite(str(tmp_path / "good.ppm"), image)
    assert cv2.imwrite(str(tmp_path / "good.jpg"), image)
    with wave.open(str(tmp_path / "sound.wav"), "wb") as sound:
        sound.setparams((1, 2, 8000, 0, "NONE", ""))
        sound.writeframes(bytes(16000))
    clip = (oracle.DATA / "street.mp4").read_bytes()
    bad = {
        "empty.pgm": b"",
        "short.pgm": (tmp_path / "good.pgm").read_bytes()[:1000],
        "short.png": (oracle.DATA / "coffee.png").read_bytes()[:20000],
        "short.jpg": (tmp_path / "good.jpg").read_bytes()[:20000],
        "short.mp4": clip[:300000],
        "plain.pgm": b"P2\n1 1\n255\n0\n",
        "deep.pgm": b"P5\n1 1\n65535\n\0\0",
        "zero.pgm": b"P5\n0 5\n255\n",
        "huge.pgm": b"P5\n99999999999999999999 5\n255\n",
        "header.ppm": b"P6\n12",
        "text.png": b"This is no picture. " * 100,
        "text.mp4": b"This is no clip. " * 100,
        "text.odd": b"This is neither. " * 100,
    }
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder.pgm").mkdir()
    return tmp_path


WRONG = [
    ("missing.pgm", "out.pgm", "missing.pgm: No such file"),
    ("empty.pgm", "out.pgm", "the file is empty"),
    ("short.pgm", "out.pgm", "truncated, row 2 of 400"),
    ("short.png", "out.pgm", "short.png: "),
    ("short.jpg", "out.pgm", "truncated, the JPEG has no end marker"),
    ("short.mp4", "out.mp4", "truncated, the video ends after"),
    ("plain.pgm", "out.pgm", "neither P5 nor P6"),
    ("deep.pgm", "out.pgm", "allowed is 0..255"),
    ("zero.pgm", "out.pgm", "allowed are 1x1 to 32768x32768"),
    ("huge.pgm", "out.pgm", "allowed are 1x1 to 32768x32768"),
    ("header.ppm", "out.ppm", "broken header"),
    ("text.png", "out.pgm", "text.png: "),
    ("text.mp4", "out.mp4", "text.mp4: "),
    ("sound.wav", "out.mp4", "sound.wav: no video in it"),
    ("sound.wav", "out.pgm", "sound.wav: no video in it"),
    ("folder.pgm", "out.pgm", "no regular file"),
    ("good.pgm", "folder.pgm", "no regular file"),
    ("good.pgm", "nowhere/out.pgm", "cannot write there: No such file or directory"),
    ("good.pgm", "good.pgm", "input and output are the same file"),
    ("good.pgm", "./good.pgm", "input and output are the same file"),
    ("good.pgm", "out.mp4", "a picture makes no clip, allowed outputs are .pgm"),
    ("good.pgm", "out.gif", "allowed are .pgm .ppm .png"),
    ("good.pgm", "out.avi", "cannot write this kind of file"),
    ("text.odd", "out.pgm", "text.odd: "),
    ("text.odd", "out.mp4", "text.odd: "),
    ("good.pgm", "out", "cannot write this kind of file"),
]


@pytest.mark.parametrize("source, target, message", WRONG)
def test_wrong_files_are_named_and_nothing_is_left(process, files, source, target, message):
    before = sorted(os.listdir(files))
    result = process(f"{files}/{source}", f"{files}/{target}")
    assert result.returncode == 1
    assert message in result.stderr and len(complaints(result.stderr)) == 1
    assert sorted(os.listdir(files)) == before


USAGE = [
    ([], 2, "Usage: edgectl process"),
    (["good.pgm"], 2, "Usage: edgectl process"),
    (["--colour", "good.pgm", "out.pgm"], 2, "Usage: edgectl process"),
    (["--view", "edgse", "good.pgm", "out.pgm"], 2, '"edges"'),
    (["--set", "gian=2", "good.pgm", "out.pgm"], 2, 'did you mean "gain"'),
    (["--set", "gain=x", "good.pgm", "out.pgm"], 2, "allowed: a number from"),
    (["--set", "gain", "good.pgm", "out.pgm"], 2, "expected KEY=VALUE"),
    (["--backend", "gpu", "good.pgm", "out.pgm"], 2, "allowed are auto, cpu, cuda"),
    (["--backend", "cuda", "good.pgm", "out.pgm"], 1, "--backend cuda: "),
    (["--threads", "0", "good.pgm", "out.pgm"], 2, "--threads 0: allowed are 1 to 16"),
    (["--threads", "17", "good.pgm", "out.pgm"], 2, "--threads 17: allowed are 1 to 16"),
    (["--previous", "good.ppm", "good.pgm", "out.pgm"], 2, "looks at one picture only"),
    (["--view", "camera", "good.ppm", "out.pgm"], 1, "does not fit a .pgm"),
    (["--frame", "x", "good.pgm", "out.pgm"], 2, "--frame x: allowed are 0 to 10000000"),
    (["--frame", "2", "good.pgm", "out.pgm"], 1, "for a clip that makes a picture"),
    (["--frame", "120", oracle.DATA / "street.mp4", "out.pgm"], 1, "allowed are 0 to 119"),
]


@pytest.mark.parametrize("words, status, message", USAGE)
def test_wrong_words_say_what_is_allowed(process, files, monkeypatch, words, status, message):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    result = process(*[files / word if "." in str(word) else word for word in words])
    assert result.returncode == status
    assert message in result.stderr
    assert not (files / "out.pgm").exists()


def test_a_failure_leaves_the_old_output_as_it_was(process, files):
    (files / "out.pgm").write_bytes(b"precious")
    assert process(files / "short.pgm", files / "out.pgm").returncode == 1
    assert (files / "out.pgm").read_bytes() == b"precious"


def test_comments_in_a_header_are_skipped(process, tmp_path):
    (tmp_path / "in.pgm").write_bytes(b"P5 # one\n# two\n2 #three\n 1\n255\n\x10\x20")
    assert process("--view", "gray", tmp_path / "in.pgm", tmp_path / "out.pgm").returncode == 0
    assert (tmp_path / "out.pgm").read_bytes() == b"P5\n2 1\n255\n\x10\x20"


@pytest.mark.parametrize("view", ["edges", "binary", "canny"])
def test_threads_make_the_same_picture(process, tmp_path, view):
    picture = np.random.default_rng(7).integers(0, 256, (333, 257), dtype=np.uint8)
    cv2.imwrite(str(tmp_path / "in.pgm"), cv2.GaussianBlur(picture, (9, 9), 0))
    for threads in (1, 2, 5):
        made = process("--view", view, "--threads", threads, tmp_path / "in.pgm",
                       tmp_path / f"{threads}.pgm")
        assert made.returncode == 0, made.stderr
    one = (tmp_path / "1.pgm").read_bytes()
    assert (tmp_path / "2.pgm").read_bytes() == one
    assert (tmp_path / "5.pgm").read_bytes() == one


@pytest.mark.parametrize("suffix", ["png", "bmp", "tiff", "webp"])
def test_a_picture_is_known_by_its_content(process, tmp_path, suffix):
    lossless = [cv2.IMWRITE_WEBP_QUALITY, 101] if suffix == "webp" else []
    cv2.imwrite(str(tmp_path / f"in.{suffix}"), oracle.picture("chelsea.png"), lossless)
    shutil.move(tmp_path / f"in.{suffix}", tmp_path / "picture.odd")
    result = process(tmp_path / "picture.odd", tmp_path / "out.pgm")
    assert result.returncode == 0, result.stderr
    expected = oracle.edges(oracle.gray(oracle.picture("chelsea.png")))
    assert (cv2.imread(str(tmp_path / "out.pgm"), cv2.IMREAD_UNCHANGED) == expected).all()


# One whose demuxer never says that it is over, one without time stamps (frames in its own order),
# odd sizes, and another container.
@pytest.mark.parametrize("name, encode, size", [
    ("clip.gif", [], (160, 120)), ("clip.avi", ["-c:v", "mpeg4", "-bf", "2"], (160, 120)),
    ("clip.mkv", ["-c:v", "ffv1", "-pix_fmt", "yuv444p"], (161, 121)),
    ("clip.ogv", ["-c:v", "libtheora"], (160, 112)),
])
def test_a_clip_of_any_kind_becomes_another(process, tmp_path, name, encode, size):
    subprocess.run(["ffmpeg", "-v", "error", "-i", oracle.DATA / "street.mp4", "-frames:v", "20",
                    "-vf", f"scale={size[0]}:{size[1]}", *encode, tmp_path / name], check=True)
    result = process(tmp_path / name, tmp_path / "out.mp4")
    assert result.returncode == 0, result.stderr
    assert ("even sizes only" in result.stderr) == (size[0] % 2 == 1)
    clip = cv2.VideoCapture(str(tmp_path / "out.mp4"))
    pictures = [clip.read()[1] for _ in range(21)]
    assert pictures[20] is None
    assert pictures[19].shape == (size[1] & ~1, size[0] & ~1, 3)


def luma(clip, number):
    """The luma of a frame, as FFmpeg decodes it."""
    command = ["ffmpeg", "-v", "error", "-i", clip, "-vf",
               f"select=eq(n\\,{number}),extractplanes=y", "-frames:v", "1", "-f", "rawvideo", "-"]
    made = subprocess.run(command, check=True, capture_output=True).stdout
    return np.frombuffer(made, np.uint8).reshape(576, 768)


def test_a_frame_of_a_clip_becomes_a_picture(process, tmp_path):
    source, target = oracle.DATA / "street.mp4", tmp_path / "out.pgm"
    for words, number in [([], 0), (["--frame", "40"], 40)]:
        assert process(*words, source, target).returncode == 0
        assert (cv2.imread(str(target), 0) == oracle.edges(luma(source, number))).all()
    # Views with a memory have seen the frame before, and those with colours are in colour.
    assert process("--set", "stages=difference", "--frame", "40", source, target).returncode == 0
    moved = cv2.absdiff(luma(source, 40), luma(source, 39)) > 25
    assert (cv2.imread(str(target), 0) == 255 * moved).all()
    assert process("--view", "overlay", source, tmp_path / "out.ppm").returncode == 0


def test_a_pipe_carries_pictures_and_clips(tmp_path):
    def pipe(data, *words, output=subprocess.PIPE):
        return subprocess.run([programs.EDGECTL, "process", *words], input=data, stdout=output,
                              stderr=subprocess.PIPE, timeout=300)

    picture = (oracle.DATA / "coffee.png").read_bytes()
    expected = oracle.edges(oracle.gray(oracle.picture("coffee.png")))
    gray = pipe(picture, "--view", "gray", "-", "-").stdout
    assert gray.startswith(b"P5\n600 400\n255\n")
    assert pipe(gray, "-", "-").stdout == b"P5\n600 400\n255\n" + expected.tobytes()
    assert pipe(picture, "--view", "camera", "-", "-").stdout.startswith(b"P6\n600 400\n")
    clip = (oracle.DATA / "street.mp4").read_bytes()
    assert pipe(clip, "--frame", "1", "-", "-").stdout.startswith(b"P5\n768 576\n")
    assert pipe(clip, "-", tmp_path / "out.mkv").returncode == 0
    for data, words, message in [(b"", ("-", "-"), b"standard input is empty"),
                                 (gray, ("-", "out.mp4"), b"a picture makes no clip"),
                                 (b"text" * 999, ("-", "-"), b"standard input: ")]:
        result = pipe(data, *words)
        assert result.returncode == 1 and message in result.stderr and not result.stdout
    with open("/dev/full", "wb") as full:
        assert b"standard output: No space" in pipe(gray, "-", "-", output=full).stderr


def test_a_terminal_sees_how_far_a_clip_is(tmp_path):
    command = [str(programs.EDGECTL), "process", str(oracle.DATA / "street.mp4"),
               str(tmp_path / "out.mp4")]
    terminal, end = pty.openpty()
    work = subprocess.Popen(command, stderr=end)
    os.close(end)
    shown = b""
    with contextlib.suppress(OSError):  # the terminal's end
        while more := os.read(terminal, 4096):
            shown += more
    assert work.wait(timeout=300) == 0
    percents = [int(part.split()[-1]) for part in shown.split(b"%")[:-1]]
    assert len(percents) > 20 and percents == sorted(percents) and percents[-1] >= 99
    assert shown.endswith(b"\r\x1b[K")


@pytest.mark.parametrize("suffix", ["mp4", "mkv"])
def test_a_clip_becomes_its_edges_frame_by_frame(process, tmp_path, suffix):
    source, target = oracle.DATA / "street.mp4", tmp_path / f"out.{suffix}"
    result = process("--set", "bitrate_kbps=20000", source, target)
    assert result.returncode == 0, result.stderr
    before, after = cv2.VideoCapture(str(source)), cv2.VideoCapture(str(target))
    assert after.get(cv2.CAP_PROP_FPS) == pytest.approx(before.get(cv2.CAP_PROP_FPS), rel=0.01)
    count = 0
    while True:
        more, image = before.read()
        decoded, got = after.read()
        assert decoded == more
        if not more:
            break
        if count % 40 == 0:
            expected = oracle.edges(oracle.gray(image))
            assert cv2.PSNR(oracle.gray(got), expected) > 25, f"frame {count}"
        count += 1
    assert count > 100


def start_and_send(tmp_path, number, **settings):
    """Sends a signal to a clip in the making, and returns the exit status."""
    command = [str(programs.EDGECTL), "process", str(oracle.DATA / "street.mp4"),
               str(tmp_path / "out.mp4")]
    work = subprocess.Popen(command, **settings)
    while not os.listdir(tmp_path):
        assert work.poll() is None
    work.send_signal(number)
    return work.wait(timeout=300)


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_no_file(tmp_path, number):
    # Whatever the tests themselves were started with.
    status = start_and_send(tmp_path, number,
                            preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
    assert status in (128 + number, -number)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT])
def test_an_ignored_interrupt_leaves_a_whole_file(tmp_path, number):
    # As nohup does, or a script's shell.
    status = start_and_send(tmp_path, number,
                            preexec_fn=lambda: signal.signal(number, signal.SIG_IGN))
    assert status == 0
    assert os.listdir(tmp_path) == ["out.mp4"]


# A limit on the size of files is a full disk that needs no mount.
def process_on_a_full_disk(*words):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    command = [str(programs.EDGECTL), "process", "--view", "gray", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, preexec_fn=limit)


def test_a_clip_that_cannot_be_written_ends(tmp_path):
    for _ in range(5):  # frames are on their way from one thread to another, or not
        result = process_on_a_full_disk(oracle.DATA / "street.mp4", tmp_path / "out.mkv")
        assert result.returncode == 1
        assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("source, target", [
    ("good.pgm", "out.pgm"), ("good.ppm", "out.png"), ("good.ppm", "out.jpg"),
    (oracle.DATA / "street.mp4", "out.mp4"), (oracle.DATA / "street.mp4", "out.mkv"),
])
def test_an_output_that_does_not_fit_is_named(files, source, target):
    before = sorted(os.listdir(files))
    result = process_on_a_full_disk(files / source, files / target)
    assert result.returncode == 1
    assert complaints(result.stderr)[0].startswith(f"edgectl: {files}/{target}: "), result.stderr
    assert len(complaints(result.stderr)) == 1
    assert sorted(os.listdir(files)) == before
