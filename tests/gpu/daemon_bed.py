"""A running bundle, its viewers and what a viewer should see, for a machine with python3 and numpy
and nothing else. Import it after EDGED_BUILD names the folder of the bundle's programs."""

import os
import pathlib
import re
import subprocess
import sys
import threading
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))

import daemon  # noqa: E402
import pattern  # noqa: E402

FPS = pattern.FPS
SIZE = (1280, 720)
CLIP = ROOT / "tests/data/street.mp4"
LOG_LOOK_S = 0.005
TRIGGER_LOOK_S = 0.001
DUMP_EVERY = 30  # frames


def expected_edges(number):
    """What a viewer of edges sees of frame `number`: exact Sobel L2 of the pattern, by numpy."""
    luma = pattern.frame(number, *SIZE)[0]
    p = np.pad(luma.astype(np.int32), 1, mode="edge")
    columns = p[:-2] + 2 * p[1:-1] + p[2:]
    rows = p[:, :-2] + 2 * p[:, 1:-1] + p[:, 2:]
    gx, gy = columns[:, 2:] - columns[:, :-2], rows[2:] - rows[:-2]
    length = np.floor(np.sqrt((gx * gx + gy * gy).astype(np.float64)) + 0.5)
    return pattern.limited_range(np.minimum(255, length).astype(np.uint8))


def read_pgm(path):
    magic, size, _, data = path.read_bytes().split(b"\n", 3)
    assert magic == b"P5", path
    width, height = (int(side) for side in size.split())
    return np.frombuffer(data, np.uint8).reshape(height, width)


class Server(daemon.Daemon):
    """edged of the bundle; `lines` holds its log with the times (CLOCK_MONOTONIC) of the lines."""

    def __init__(self, directory, cameras, settings, **extra):
        super().__init__(directory, cameras, settings=settings, **extra)
        self.lines = []
        self.stop_within_s = daemon.PATIENCE_S
        self.over = threading.Event()
        self.reader = threading.Thread(target=self._stamp_lines, daemon=True)

    def __enter__(self):
        self.log.touch()
        self.reader.start()
        try:
            return self.start()
        except BaseException:
            self.kill()
            raise

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                self.stop(self.stop_within_s)
        finally:
            self.over.set()
            self.reader.join()
            self.kill()

    def _stamp_lines(self):
        with self.log.open(errors="replace") as log:
            while not self.over.wait(LOG_LOOK_S):
                while line := log.readline():
                    self.lines.append((time.monotonic(), line.rstrip()))

    def accounts_for(self, client):
        """Whether a client lacks no frame but for those that edged says it dropped."""
        try:
            self.assert_accounted(client)
        except AssertionError:
            return False
        return True

    def backend(self):
        """What computes the camera's views, as status has it: "CPU" or "CUDA sm_NN"."""
        status = self.status()
        return status["cameras"][0].get("backend") or status["backend"].upper()

    def wait_live(self, backend, timeout_s=daemon.PATIENCE_S):
        """Waits until the camera's frames come from `backend`; True if they do."""

        def look():
            live = self.camera()["state"] == "live" and self.camera()["frames"] > 0
            return live and self.backend().startswith(backend)

        try:
            return daemon.wait_for(look, timeout_s)
        except AssertionError:
            return False


class Client:
    """One viewer in its own process; `frames` grows while it watches."""

    def __init__(self, url, view="edges", dump=None, dump_count=0):
        self.frames = []  # (number or None, arrival in s of CLOCK_MONOTONIC)
        self.total = {}  # what it says at its end
        self.disconnected = ""
        command = [daemon.BUILD / "daemon_client", "--view", view]
        if dump:
            dump.mkdir(parents=True)
            command += ["--dump", dump, "--dump-count", str(dump_count)]
        self.dump = dump
        self.process = subprocess.Popen(
            [*command, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            kind, *words = line.split()
            if kind == "frame":
                number = None if words[0] == "-" else int(words[0])
                self.frames.append((number, float(words[1])))
            elif kind == "total":
                self.total = dict(zip(words[::2], (float(word) for word in words[1::2])))
            elif kind == "disconnected":
                self.disconnected = line.strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None and not self.process.stdin.closed:
            self.process.stdin.close()
            try:
                self.process.wait(daemon.PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()

    @property
    def watching(self):
        return self.process.poll() is None and not self.disconnected

    def wait_numbered(self, count=1, timeout_s=daemon.PATIENCE_S):
        """Waits for so many pictures with a number; True if they came."""
        try:
            return daemon.wait_for(
                lambda: not self.watching
                or sum(number is not None for number, _ in self.frames[:]) >= count,
                timeout_s,
            ) and self.watching
        except AssertionError:
            return False

    def unreadable(self):
        """Pictures without a number after the first that had one."""
        numbers = [number for number, _ in self.frames]
        begin = next((i for i, n in enumerate(numbers) if n is not None), len(numbers))
        return numbers[begin:].count(None)

    def losses(self):
        """Each hole in the numbers: the first picture after it, and when that came."""
        seen = [(number, at) for number, at in self.frames if number is not None]
        return [later for before, later in zip(seen, seen[1:]) if later[0] > before[0] + 1]

    def restart_after(self, moment):
        """When the first picture after `moment` came at which the numbers began anew, or None."""
        seen = [(number, at) for number, at in self.frames[:] if number is not None]
        return next((at for (before, _), (number, at) in zip(seen, seen[1:])
                     if number < before and at > moment), None)

    def numbered_after(self, moment):
        """When the first numbered picture after `moment` came, or None."""
        return next((at for number, at in self.frames[:] if number is not None and at > moment),
                    None)

    def psnrs_db(self):
        """PSNR of the kept pictures against the oracle; of each with its right number only."""
        found = []
        for path in sorted(self.dump.glob("*.pgm")):
            number, picture = int(path.stem), read_pgm(path)
            right = pattern.psnr_db(picture, expected_edges(number))
            beside = pattern.psnr_db(picture, expected_edges(number + 1))
            found.append(right if right > beside else 0.0)
        return found


def host_driver():
    """Path of this machine's libcuda.so.1, or None."""
    source = (
        "import ctypes, re; ctypes.CDLL('libcuda.so.1');"
        "print(re.search(r'/\\S*libcuda\\.so\\S*', open('/proc/self/maps').read())[0])"
    )
    result = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=False
    )
    found = result.stdout.strip() or "/usr/local/nvidia/lib64/libcuda.so.1"
    return found if os.path.exists(found) else None


def needed_glibc(library):
    """The newest version of the C library that a library asks for."""
    found = re.findall(rb"GLIBC_2\.(\d+)\0", pathlib.Path(library).read_bytes())
    return f"2.{max(map(int, found))}" if found else "none"


def describe_gpu():
    """What nvidia-smi says of the GPU. Without persistence mode, opening it takes longer."""
    command = ["nvidia-smi", "--format=csv,noheader"]
    command += ["--query-gpu=name,driver_version,persistence_mode"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "no nvidia-smi"


def provoke(trigger, text, timeout_s=daemon.PATIENCE_S):
    """Leaves a fault for the driver in front of the real one, which removes the file `trigger` when
    it takes it. Returns the moment until which the file was there; None: it still is."""
    partial = trigger.with_suffix(".partial")
    partial.write_text(text)
    os.rename(partial, trigger)
    seen = time.monotonic()
    end = seen + timeout_s
    while (moment := time.monotonic()) < end:
        if not trigger.exists():
            return seen
        seen = moment
        time.sleep(TRIGGER_LOOK_S)
    return None
