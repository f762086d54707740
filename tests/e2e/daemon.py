"""Runs the real edged on a configuration of its own and talks to it as a user would."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

import pattern

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("EDGED_BUILD", ROOT / "build")).resolve()
EDGED = BUILD / "edged"
EDGECTL = BUILD / "edgectl"
# Programs on tests/fakes/cuda, which LD_LIBRARY_PATH has to name.
FAKE_CUDA = BUILD / "tests/fakes/cuda"
# A Jetson's memory for pictures, which LD_LIBRARY_PATH has to name as well.
FAKE_NVMM = BUILD / "tests/fakes/nvmm"
FAKE_V4L2 = BUILD / "tests/fakes/v4l2/fake_v4l2.so"
FAKE_BOARD = BUILD / "tests/fakes/board/fake_board.so"
# Where what edged keeps lies if a test names no place: not where one that this user runs has its own.
STATE = tempfile.TemporaryDirectory(prefix="edged-state-")
# What any event is waited for, however busy the machine is. A promise in time is for tests/soak.
PATIENCE_S = 240
SANITIZER_REPORT = re.compile(
    r"ERROR: (Address|Leak)Sanitizer|runtime error:|SUMMARY: \w*Sanitizer"
)


def libconfig(value):
    """A Python value as libconfig text: dicts are groups, lists of dicts are lists."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, dict):
        return "{ " + " ".join(f"{key} = {libconfig(v)};" for key, v in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        opening, closing = "()" if any(isinstance(v, (dict, list)) for v in value) else "[]"
        return opening + ", ".join(libconfig(v) for v in value) + closing
    return json.dumps(str(value), ensure_ascii=False)


def camera(name="front", source="pattern", views=("edges",), **settings):
    """One camera of a configuration; views are kinds or whole groups.

    A busy machine that keeps an encoder waiting is no reason to leave out frames here."""
    groups = [view if isinstance(view, dict) else {"name": view, "view": view} for view in views]
    for group in groups:
        group.setdefault("governor", "off")
    return {"name": name, "source": source, **settings, "views": groups}


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=PATIENCE_S)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def is_moving(camera):
    """Whether something moves in its first region, which telemetry has to tell of first."""
    return bool(camera["regions"]) and camera["regions"][0]["moving"]


def on_board(tree):
    """The environment of a program that takes the machine for a board of tests/data/boards."""
    return {"LD_PRELOAD": FAKE_BOARD, "EDGED_FAKE_BOARD": ROOT / "tests/data/boards" / tree}


def environment(**extra):
    """The environment of a program under test: nothing of the caller's session leaks in. A plain user
    who tests may look at its descriptors and memory."""
    inherited = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("EDGED_", "NOTIFY_", "JOURNAL_", "RUNTIME_"))
    }
    own = {"XDG_STATE_HOME": STATE.name, "EDGED_DUMPABLE": "1"}
    return {**inherited, **own, **{key: str(value) for key, value in extra.items()}}


def run_edged(*arguments, timeout_s=PATIENCE_S, **extra):
    """Runs edged to its end: for --check and for starts that must fail."""
    result = subprocess.run(
        [EDGED, *arguments], env=environment(**extra), capture_output=True, text=True,
        timeout=timeout_s, check=False,
    )
    assert not SANITIZER_REPORT.search(result.stderr), result.stderr
    assert result.returncode >= 0, f"killed by signal {-result.returncode}: {result.stderr}"
    return result


def process_children(pid):
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    return [int(child) for child in children.read_text().split()]


def process_cpu_s(pid):
    """User and system time of a process."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def process_memory_kib(pid):
    """What it has in memory."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"^VmRSS:\s+(\d+)", status, re.M)[1])


def process_state(pid):
    """As ps has it: "S" for one that waits, "T" for one that is stopped."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


class Notifications:
    """The service manager's end of sd_notify. Always read: a sender blocks when it is full."""

    def __init__(self, path):
        self.path = path
        self.told = ""
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
        self.socket.bind(str(path))
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        while datagram := self.socket.recv(8192):
            self.told += datagram.decode() + "\n"

    def _send(self, datagram):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.connect(str(self.path))
            sender.send(datagram)

    def flush(self):
        """Waits until all that was sent before has been read."""
        before = self.told.count("FLUSH")
        self._send(b"FLUSH")
        wait_for(lambda: self.told.count("FLUSH") > before)

    def close(self):
        """An empty datagram ends the reader."""
        if not self.reader.is_alive():
            return
        self._send(b"")
        self.reader.join()
        self.socket.close()


class Daemon:
    """One running edged. `directory` holds its configuration, its sockets and its log. With `in_units`
    a part of systemd starts its camera processes, as edged-camera.socket does."""

    def __init__(self, directory, cameras, *, port=0, settings=None, program=EDGED, in_units=False, **extra):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.config = self.directory / "edged.conf"
        self.socket = self.directory / "control.sock"
        self.log = self.directory / "stderr"
        self.port = port
        self.program = program
        self.settings = settings or {}
        self.write_config(cameras)
        self.notify = Notifications(self.directory / "notify.sock")
        self.process = None
        self.may_crash = False  # where a test makes it
        self.extra = extra
        self.activator = None
        if in_units:
            self.extra = {**extra, "EDGED_CAMERA_SOCKET": self.directory / "camera.sock"}

    def write_config(self, cameras):
        """With time for clients of a slow machine to play, where the settings say no other."""
        self.cameras = cameras
        rtsp = {"port": self.port, **self.settings.get("rtsp", {})}
        rtsp["limits"] = {"play_within_s": PATIENCE_S, **rtsp.get("limits", {})}
        settings = {
            "http": {"port": 0}, **self.settings, "rtsp": rtsp,
            "control": {"socket": self.socket},
            "cameras": cameras,
        }
        self.config.write_text("".join(f"{k} = {libconfig(v)};\n" for k, v in settings.items()))

    def start(self):
        with self.log.open("ab") as log:
            log.truncate(0)
            if "EDGED_CAMERA_SOCKET" in self.extra and not self.activator:
                self.activate(log)
            self.process = subprocess.Popen(
                [self.program, "--config", self.config], stdin=subprocess.DEVNULL, stderr=log,
                env=environment(NOTIFY_SOCKET=self.notify.path, **self.extra),
            )
        self.wait_notified(r"^READY=1$")
        ready = self.wait_stderr(r"edged [\d.]+ is ready: rtsps?://\S+:(\d+)/\S+")
        self.port = int(ready.group(1))
        return self

    def activate(self, log):
        path = self.extra["EDGED_CAMERA_SOCKET"]
        passed = [f"--setenv={name}={value}" for name, value in environment(**self.extra).items()
                  if not name.startswith(("EDGED_", "GST_"))]
        self.activator = subprocess.Popen(
            ["systemd-socket-activate", "--accept", f"--listen={path}", *passed,
             self.program.with_name("edged-camera")], stdin=subprocess.DEVNULL, stderr=log, env=environment())
        wait_for(lambda: is_listening(path))

    def url(self, path):
        return f"rtsp://127.0.0.1:{self.port}{path}"

    def stderr(self):
        return self.log.read_text(errors="replace")

    def wait_notified(self, expression, begin=0, timeout_s=PATIENCE_S):
        """Waits until lines told to systemd match, of those behind `begin` characters."""

        def look():
            told = re.search(expression, self.notify.told[begin:], re.M)
            assert told or self.process.poll() is None, f"edged ended: {self.stderr()}"
            return told

        return wait_for(look, timeout_s, lambda: f"{self.notify.told}\n{self.stderr()}")

    def wait_stderr(self, expression, timeout_s=PATIENCE_S):
        return wait_for(lambda: re.search(expression, self.stderr()), timeout_s, self.stderr)

    def http_get(self, path):
        connection = UnixConnection(self.socket)
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read().decode()
        connection.close()
        assert response.status == 200, (response.status, body)
        return body

    def status(self):
        return json.loads(self.http_get("/v1/status"))

    def status_by_edgectl(self):
        result = subprocess.run(
            [EDGECTL, "status", "--json", "--config", self.config], capture_output=True, text=True,
            timeout=PATIENCE_S, check=True, env=environment(),
        )
        return json.loads(result.stdout)

    def camera(self, name="front"):
        return next(c for c in self.status()["cameras"] if c["name"] == name)

    def mount(self, path="/front/edges"):
        return next(m for m in self.status()["mounts"] if m["path"] == path)

    def wait_camera(self, name, condition, timeout_s=PATIENCE_S):
        """Waits until status shows a camera that fulfils `condition`, and returns it."""

        def look():
            found = self.camera(name)
            return found if condition(found) else None

        return wait_for(look, timeout_s, self.stderr)

    def wait_mount(self, path, condition, timeout_s=PATIENCE_S):
        def look():
            found = self.mount(path)
            return found if condition(found) else None

        return wait_for(look, timeout_s, self.stderr)

    def wait_still(self, counter, path="/front/edges", frames=30):
        """Waits until a counter of a mount stays while its camera goes on for so many frames."""

        def look():
            before, mount = self.camera(self.mount(path)["camera"]), self.mount(path)
            self.wait_camera(before["name"], lambda camera: camera["frames"] >= before["frames"] + frames)
            return self.mount(path)[counter] == mount[counter]

        wait_for(look, explain=self.stderr)

    def dropped(self):
        """Frames that edged has counted as dropped, by its cameras or before an encoder."""
        return dropped_in(self.status())

    def dropped_until_now(self, name="front"):
        """The same, all until now: a camera tells of its frames once a second."""
        frames = self.camera(name)["frames"]
        self.wait_camera(name, lambda camera: camera["frames"] > frames)
        return self.dropped()

    def assert_accounted(self, viewer, period=1 << pattern.NUMBER_BITS):
        """A viewer lacks no frame but for those that edged says it dropped, as it has to where a
        machine is too busy (tests/soak says that it drops none); each may cost what depends on it.
        Who joins is shown what is there, and goes on with the next key frame."""
        missing, _ = pattern.holes(viewer.frames[pattern.FPS // 2 :], period)
        wait_for(
            lambda: self.dropped() * pattern.FPS >= missing,
            explain=lambda: f"{missing} are missing: {viewer.frames}",
        )

    def signal(self, number):
        self.process.send_signal(number)

    def reload(self, cameras=None, **settings):
        """Has edged read another configuration; returns when it has taken it, or has not.

        The file looks as if it was written a while ago, because one of just now is looked at twice."""
        self.settings = {**self.settings, **settings}
        self.write_config(cameras or self.cameras)
        os.utime(self.config, (1e9, 1e9))
        self.hang_up()

    def hang_up(self):
        """SIGHUP; returns when edged has taken what is in its configuration, or has not."""
        self.notify.flush()  # what was told of a reload before
        before = len(self.notify.told)
        self.signal(signal.SIGHUP)
        self.wait_notified(r"^RELOADING=1$(?s:.*)^READY=1$", before)

    def stop(self, within_s=PATIENCE_S):
        """SIGTERM; asserts a clean end in time. Returns the seconds it took."""
        assert self.process.poll() is None, f"edged ended by itself: {self.stderr()}"
        children = process_children(self.process.pid)
        begin = time.monotonic()
        self.signal(signal.SIGTERM)
        try:
            status = self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"SIGTERM took more than {within_s} s: {self.stderr()}") from None
        took_s = time.monotonic() - begin
        assert status == 0, f"exit status {status}: {self.stderr()}"

        def are_gone():
            return not any(pathlib.Path(f"/proc/{pid}").exists() for pid in children)

        # edged kills one that does not end by itself, and does not wait for it.
        wait_for(are_gone, PATIENCE_S, lambda: f"camera processes of {children} outlived edged")
        return took_s

    def kill(self):
        """Ends what is left, however it came to that."""
        if self.process and self.process.poll() is None:
            for pid in process_children(self.process.pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self.process.kill()
            self.process.wait()
        if self.activator:
            self.activator.terminate()
            self.activator.wait()
        self.notify.close()

    def assert_sane_log(self):
        report = SANITIZER_REPORT.search(self.stderr())
        assert not report, self.stderr()
        assert "CRITICAL" not in self.stderr(), self.stderr()
        assert self.may_crash or "crashed by signal" not in self.stderr(), self.stderr()


def dropped_in(status):
    return sum(x["dropped"] for x in (*status["cameras"], *status["mounts"]))


def more(data):
    """What was read of something that goes on: its end is no reason to read again and again."""
    assert data, "the other end hung up"
    return data


def is_listening(path):
    """Whether a program listens on a Unix socket, which is there a moment before."""
    lines = [line.split() for line in open("/proc/net/unix", errors="replace")]
    return any(line[3] == "00010000" and line[7:] == [str(path)] for line in lines)


def wait_for(look, timeout_s=PATIENCE_S, explain=lambda: ""):
    """Asks `look()` every 20 ms until it answers something true."""
    deadline = time.monotonic() + timeout_s
    while True:
        answer = look()
        if answer:
            return answer
        assert time.monotonic() < deadline, f"waited {timeout_s} s in vain\n{explain()}"
        time.sleep(0.02)
