"""Real clients of RTSP, and of HTTP by ffmpeg, that tell which frames of the pattern they see.

Run as a program, this is one client in its own process: GStreamer or ffmpeg decodes, and one line
a decoded frame goes to stdout, `frame NUMBER ARRIVAL_NS` (CLOCK_MONOTONIC; `-` for a picture
without a valid number). It ends when its stdin closes. `Viewer` is the other end of that pipe.
"""

import argparse
import pathlib
import subprocess
import sys
import threading
import time

import numpy as np

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

import ffmpeg  # noqa: E402
import pattern  # noqa: E402
from daemon import PATIENCE_S, wait_for  # noqa: E402

UNREADABLE_KEPT = 100


class Reporter:
    """Prints a line a frame and keeps the luma planes that were asked for."""

    def __init__(self, view, keep_every, keep_dir):
        self.view = view
        self.keep_every = keep_every
        self.keep_dir = keep_dir
        self.reported = self.unreadable = 0

    def report(self, luma, arrival_ns):
        number = pattern.read_number(luma, self.view)
        self.unreadable += number is None
        if self.keep_every and (self.unreadable <= UNREADABLE_KEPT if number is None
                                else number % self.keep_every == 0):
            np.save(self.keep_dir / f"{self.reported}.npy", luma)
        self.reported += 1
        print("frame", "-" if number is None else number, arrival_ns, flush=True)


def run_gstreamer(url, transport, reporter):
    import gi

    gi.require_version("Gst", "1.0")
    gi.require_version("GstVideo", "1.0")
    from gi.repository import GLib, Gst, GstVideo

    Gst.init(None)
    # Datagrams change places when their sender changes CPUs. In order they are not held up.
    latency_ms = 0 if transport == "tcp" else 200
    protocols = "udp-mcast multicast-iface=lo" if transport == "multicast" else transport
    pipeline = Gst.parse_launch(
        f"rtspsrc location={url} latency={latency_ms} protocols={protocols}"
        " tls-validation-flags=0"  # of certificates that nobody has signed
        " timeout=0"  # within which the first datagram would have to come
        " ! rtph264depay ! h264parse"
        " ! avdec_h264 max-threads=1"
        " ! appsink name=sink sync=false emit-signals=true max-buffers=4"
    )
    loop = GLib.MainLoop()
    failures = []

    def on_sample(sink):
        arrival_ns = time.monotonic_ns()
        sample = sink.emit("pull-sample")
        buffer = sample.get_buffer()
        structure = sample.get_caps().get_structure(0)
        width, height = structure.get_value("width"), structure.get_value("height")
        meta = GstVideo.buffer_get_video_meta(buffer)
        stride, offset = (meta.stride[0], meta.offset[0]) if meta else ((width + 3) & ~3, 0)
        mapped, data = buffer.map(Gst.MapFlags.READ)
        assert mapped
        rows = np.frombuffer(data.data, np.uint8, stride * height, offset)
        reporter.report(rows.reshape(height, stride)[:, :width], arrival_ns)
        buffer.unmap(data)
        return Gst.FlowReturn.OK

    def on_message(_bus, message):
        if message.type == Gst.MessageType.ERROR:
            error, details = message.parse_error()
            failures.append(f"{error.message} ({details})")
            loop.quit()
        elif message.type == Gst.MessageType.EOS:
            failures.append("end of stream")
            loop.quit()

    def on_stdin(_fd, _condition):
        loop.quit()
        return False

    pipeline.get_by_name("sink").connect("new-sample", on_sample)
    pipeline.get_bus().add_signal_watch()
    pipeline.get_bus().connect("message", on_message)
    GLib.io_add_watch(0, GLib.PRIORITY_DEFAULT, GLib.IOCondition.IN | GLib.IOCondition.HUP, on_stdin)
    pipeline.set_state(Gst.State.PLAYING)
    loop.run()
    pipeline.set_state(Gst.State.NULL)
    return failures


def run_ffmpeg(url, transport, width, height, reporter):
    transport = "udp_multicast" if transport == "multicast" else transport
    command = ["ffmpeg", "-nostdin", "-loglevel", "error"]
    command += ["-rtsp_transport", transport] if url.startswith("rtsp") else []
    # In RTP's ticks: in those of the frame rate two frames of a slow machine may have one time.
    command += ["-i", url, "-vsync", "passthrough", "-enc_time_base", "1/90000"]
    command += ["-f", "rawvideo", "-"]
    size = width * height * 3 // 2
    stopping = threading.Event()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as ffmpeg:

        def stop_with_stdin():
            sys.stdin.buffer.read()
            stopping.set()
            ffmpeg.kill()

        threading.Thread(target=stop_with_stdin, daemon=True).start()
        while len(picture := ffmpeg.stdout.read(size)) == size:
            luma = np.frombuffer(picture, np.uint8, width * height).reshape(height, width)
            reporter.report(luma, time.monotonic_ns())
    return [] if stopping.is_set() else [f"ffmpeg ended with {ffmpeg.returncode}"]


class Viewer:
    """A client process that watches `url`; frames arrive in `frames` while it runs."""

    def __init__(
        self, url, *, program="gstreamer", transport="tcp", view="edges", size=(1280, 720),
        keep_every=0, keep_dir=None,
    ):
        self.frames = []  # (number or None, arrival_ns); guarded by changed
        self.taken = 0  # of them, by next_frames()
        self.changed = threading.Condition()
        self.keep_every = keep_every
        self.keep_dir = pathlib.Path(keep_dir) if keep_dir else None
        self.ended = False
        command = [sys.executable, __file__, program, url, "--view", view]
        command += ["--transport", transport, "--size", f"{size[0]}x{size[1]}"]
        command += ["--keep-every", str(keep_every)]
        command += ["--keep-dir", str(keep_dir)] if keep_dir else []
        if self.keep_dir:
            self.keep_dir.mkdir(parents=True, exist_ok=True)
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )
        self.messages = []
        self.threads = [
            threading.Thread(target=self._read_frames, daemon=True),
            threading.Thread(target=self._read_messages, daemon=True),
        ]
        for thread in self.threads:
            thread.start()

    def _read_frames(self):
        for line in self.process.stdout:
            _, number, arrival_ns = line.split()
            with self.changed:
                self.frames.append((None if number == "-" else int(number), int(arrival_ns)))
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def _read_messages(self):
        self.messages.extend(line for line in self.process.stderr if ffmpeg.complaints(line))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def wait_until(self, condition, timeout_s=PATIENCE_S):
        """Waits for `condition(frames)`; fails when the client ends or the time is over."""
        with self.changed:
            self.changed.wait_for(lambda: self.ended or condition(self.frames), timeout_s)
            if condition(self.frames):
                return self.frames[:]
        raise AssertionError(
            f"viewer {'ended' if self.ended else 'waited in vain'} after {len(self.frames)} frames:"
            f" {''.join(self.messages)[-2000:]}"
        )

    def wait_frames(self, count, timeout_s=PATIENCE_S):
        """Waits for `count` pictures, readable or not."""
        return self.wait_until(lambda frames: len(frames) >= count, timeout_s)

    def wait_numbers(self, count, timeout_s=PATIENCE_S):
        """Waits until `count` pictures carried a number."""
        return self.wait_until(
            lambda frames: sum(number is not None for number, _ in frames) >= count, timeout_s
        )

    def wait_kept(self, count):
        """Waits until `count` pictures with a number were kept."""
        return self.wait_until(
            lambda frames: sum(n is not None and n % self.keep_every == 0 for n, _ in frames)
            >= count
        )

    def wait_after(self, moment_ns, count=1, timeout_s=PATIENCE_S):
        """Waits for `count` numbered pictures that arrive after `moment_ns`."""
        frames = self.wait_until(
            lambda frames: sum(n is not None and t > moment_ns for n, t in frames) >= count,
            timeout_s,
        )
        return [(n, t) for n, t in frames if n is not None and t > moment_ns]

    def wait_restart(self, moment_ns, count=1):
        """Waits for `count` pictures of a camera process that began after `moment_ns`: it counts
        from 0. Returns when the first came."""
        before = max(n for n, t in self.wait_numbers(1) if n is not None and t <= moment_ns)

        def new(seen):
            since = [(n, t) for n, t in seen if n is not None and t > moment_ns]
            first = next((i for i, (n, _) in enumerate(since) if n < before), len(since))
            return [t for _, t in since[first:]]

        return new(self.wait_until(lambda seen: len(new(seen)) >= count))[0]

    def numbers(self):
        with self.changed:
            return [number for number, _ in self.frames]

    def next_frames(self, count, timeout_s=PATIENCE_S):
        """Waits for the `count` pictures that follow those this returned before."""
        begin, end = self.taken, self.taken + count
        frames = self.wait_frames(end, timeout_s)
        self.taken = end
        return frames[begin:end]

    def new_frames(self):
        """The pictures up to now, after those that this or next_frames() returned before."""
        with self.changed:
            begin, self.taken = self.taken, len(self.frames)
            return self.frames[begin:]

    def skip_unreadable(self, most):
        """Leaves out what comes before the first picture with a number: at most `most`."""
        numbers = [number is not None for number, _ in self.wait_numbers(1)]
        self.taken = numbers.index(True)
        assert self.taken <= most

    @property
    def watching(self):
        return not self.ended and self.process.poll() is None

    def kept(self):
        """(number or None, luma plane) of the pictures that were kept, in the order in which they came."""
        paths = [(number, self.keep_dir / f"{i}.npy") for i, number in enumerate(self.numbers())]
        return [(number, np.load(path)) for number, path in paths if path.exists()]

    def newest(self):
        """(number, luma plane) of the last picture with a number, where all are kept."""
        index, number = [(i, n) for i, n in enumerate(self.numbers()) if n is not None][-1]
        return number, np.load(self.keep_dir / f"{index}.npy")

    def pictures(self):
        """Kept luma planes by frame number."""
        by_number = {number: picture for number, picture in self.kept() if number is not None}
        return {number: by_number[number] for number in sorted(by_number)}

    def unreadable_pictures(self):
        """In the order in which they came."""
        return [picture for number, picture in self.kept() if number is None]

    def camera_pictures(self, count):
        """What was kept and is no slate, when it is so many pictures; hangs up then."""
        from slate import shows_no_signal  # with OpenCV, which a client does without

        def shown():
            return [picture for _, picture in self.kept() if not shows_no_signal(picture)]

        wait_for(lambda: len(shown()) >= count)
        assert self.stop()
        return shown()

    def stop(self):
        """Hangs up. True when the client had been watching up to now."""
        was_watching = self.watching
        if self.process.stdin.closed:
            return was_watching
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for thread in self.threads:
            thread.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return was_watching


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", choices=["gstreamer", "ffmpeg"])
    parser.add_argument("url")
    parser.add_argument("--transport", choices=["udp", "tcp", "multicast"], default="tcp")
    parser.add_argument("--size", default="1280x720", help="pixels, for ffmpeg")
    parser.add_argument("--view", choices=pattern.THRESHOLDS, default="edges")
    parser.add_argument("--keep-every", type=int, default=0, metavar="N")
    parser.add_argument("--keep-dir", type=pathlib.Path)
    arguments = parser.parse_args()
    reporter = Reporter(arguments.view, arguments.keep_every, arguments.keep_dir)
    if arguments.program == "gstreamer":
        failures = run_gstreamer(arguments.url, arguments.transport, reporter)
    else:
        width, height = (int(side) for side in arguments.size.split("x"))
        failures = run_ffmpeg(arguments.url, arguments.transport, width, height, reporter)
    for failure in failures:
        print(failure, file=sys.stderr)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
