"""A front that feeds the real edged-recorder over a link, faster than any camera: units have times of their
own, which only must not be ahead of the clock. The messages are those of daemon/link/record.h."""

import ctypes
import json
import os
import pathlib
import re
import select
import socket
import struct
import subprocess
import time

import ffmpeg
from daemon import BUILD, PATIENCE_S, ROOT
from fake_recorder import STRUCTS

FPS = 25
GROUP = 25  # pictures from one key frame to the next
FRAME_NS = 10**9 // FPS
RECORDER = BUILD / "edged-recorder"
FAKE_DISK = BUILD / "tests/fakes/disk/fake_disk.so"
VERSION = re.search(r"^VERSION := (.*)$", (ROOT / "Makefile").read_text(), re.M)[1].encode()
EVENTS, ALWAYS = 0, 1
START, STOP, KEEP, UNKEEP, DELETE = range(5)
H264, H265 = 0, 1
HEADER = struct.Struct("@III")
CLIP_SIZE = ctypes.sizeof(STRUCTS["clip"])
STATE = struct.Struct("@IIQQQQQQQQQQqQQQqq256s")
STATE_FIELDS = ("state open_clips clips kept_clips clip_bytes free_bytes total_bytes written_bytes written_clips "
                "deleted_clips lost_units waiting_bytes write_max_ns kept_bytes lost_clips syncs running_ns "
                "oldest_wall_ns sentence").split()
DONE = struct.Struct("@IiQQQ256s")
DONE_FIELDS = "request error id clips bytes sentence".split()
BYTES = struct.Struct("@IiQII")
CLIPS = struct.Struct("@IHH")


def message_types():
    """Names and numbers of the link's messages."""
    text = (ROOT / "daemon/link/messages.h").read_text()
    body = re.search(r"enum link_type \{(.*?)\};", text, re.S)[1]
    names = re.findall(r"^\s*(\w+)(?: = 1)?,", re.sub(r"//.*", "", body), re.M)
    return {name: number for number, name in enumerate(names, 1)}


TYPES = message_types()
NAMES = {number: name for name, number in TYPES.items()}


def with_disk(**settings):
    """The environment of a recorder whose disk is tests/fakes/disk."""
    return {**os.environ, "LD_PRELOAD": str(FAKE_DISK),
            **{f"EDGED_DISK_{name.upper()}": str(value) for name, value in settings.items()}}


def text(field):
    return field.split(b"\0")[0].decode()


def fields(layout, names, payload):
    return {name: text(value) if isinstance(value, bytes) else value
            for name, value in zip(names, layout.unpack(payload))}


def read_clip(payload):
    clip = STRUCTS["clip"].from_buffer_copy(payload)
    facts = {name: getattr(clip, name) for name, _ in clip._fields_}
    facts = {name: value.decode() if isinstance(value, bytes) else value for name, value in facts.items()}
    return {**facts, "regions": facts["regions"].split("/") if facts["regions"] else []}


class Video:
    """An encoded stream by its access units, the first of each GROUP a key frame; and what FFmpeg
    decodes of them."""

    def __init__(self, folder, frames, codec="h264", size="320x240", bitrate="500k"):
        self.path = pathlib.Path(folder, f"{codec}-{size}-{frames}")
        self.codec = H265 if codec == "h265" else H264
        encoder = ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params",
                   f"aud=1:bframes=0:keyint={GROUP}:min-keyint={GROUP}:scenecut=0:log-level=1"] \
            if codec == "h265" else ["-c:v", "libx264", "-preset", "ultrafast", "-bf", "0", "-g", str(GROUP),
                                     "-x264-params", "aud=1:scenecut=0:force-cfr=1"]
        subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-y", "-f", "lavfi", "-i",
                        f"testsrc2=s={size}:r={FPS}", "-frames:v", str(frames), "-pix_fmt", "yuv420p",
                        *encoder, "-b:v", bitrate, "-f", "hevc" if codec == "h265" else codec, self.path],
                       check=True)
        data = self.path.read_bytes()
        delimiter = b"\0\0\0\1\x46\1" if codec == "h265" else b"\0\0\0\1\x09"
        starts = [found.start() for found in re.finditer(re.escape(delimiter), data)] + [len(data)]
        self.units = [data[begin:end] for begin, end in zip(starts, starts[1:])]
        assert len(self.units) == frames
        self.hashes = picture_hashes(self.path)
        self.frame_of = {value: number for number, value in enumerate(self.hashes)}
        assert len(self.frame_of) == frames

    def frames_in(self, path):
        """The numbers of the pictures that a file has."""
        return [self.frame_of[value] for value in picture_hashes(path)]


def picture_hashes(path):
    """A hash of each picture of a file, which must decode without a complaint."""
    result = subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-i", path, "-f", "framemd5", "-"],
                            capture_output=True, text=True)
    assert result.returncode == 0 and not ffmpeg.complaints(result.stderr), result.stderr
    return [line.split(",")[5].strip() for line in result.stdout.splitlines() if line[0] != "#"]


def gstreamer_frames(path):
    """How many pictures GStreamer takes out of a file."""
    result = subprocess.run(
        ["gst-launch-1.0", "-v", "filesrc", f"location={path}", "!", "qtdemux", "!", "h264parse", "!",
         "fakesink", "silent=false"], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout.count("chain   *******")


def write_clips(folder, count, days=1, size=0, picture=b""):
    """A folder of clips of so many zeros, their pictures, and their index, without a recorder."""
    lines = [json.dumps({"folder": "0" * 36, "next_id": count + 1}, separators=(",", ":"))]
    for i in range(count):
        start = 1_790_000_000 + i * days * 86400 // count
        day = folder / f"camera{i % 8}" / "plain" / time.strftime("%Y-%m-%d", time.gmtime(start))
        day.mkdir(parents=True, exist_ok=True)
        video = day / time.strftime(f"%H%M%S.000Z-event-{i + 1}.mp4", time.gmtime(start))
        video.write_bytes(bytes(size))
        if picture:
            video.with_suffix(".jpg").write_bytes(picture)
        lines.append(json.dumps({
            "id": i + 1, "camera": f"camera{i % 8}", "view": "plain", "always": False, "triggered": False,
            "dated": True, "event": i + 1, "start_ns": start * 10**9, "end_ns": (start + 10) * 10**9,
            "asked_ns": start * 10**9, "bytes": size, "gap_ns": 0, "peak": 0.5, "regions": ["door"]},
            separators=(",", ":")))
    (folder / "index.jsonl").write_text("\n".join(lines) + "\n")


class Front:
    """Starts the recorder with a connected socket, or connects to one that listens at `socket_path`."""

    def __init__(self, folder, socket_path=None, environment=None, **storage):
        self.folder = pathlib.Path(folder)
        self.request = 0
        self.clips = {}  # by id, as the recorder told of them last
        self.state = None
        self.answers = []
        self.wanted = {}  # by view, the last event of each region
        self.numbers = 0
        self.process = None
        if socket_path:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.connect(str(socket_path))
        else:
            self.socket, other = socket.socketpair()
            self.process = subprocess.Popen([RECORDER, "--fd", str(other.fileno())],
                                            pass_fds=[other.fileno()], env=environment,
                                            stderr=subprocess.PIPE, text=True)
            other.close()
        self.buffer = b""
        self.send("RECORD_HELLO", VERSION)
        self.set_storage(**storage)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        """Hangs up; the recorder that was started for this front ends. Returns what it said."""
        self.socket.close()
        if self.process:
            said = self.process.communicate(timeout=PATIENCE_S)[1]
            status = self.process.returncode
            self.process = None
            assert status == 0, (status, said)
            return said
        return ""

    def kill(self):
        self.process.kill()
        self.process.communicate()
        self.process = None
        self.socket.close()

    def send(self, name, payload=b"", view=0):
        self.socket.sendall(HEADER.pack(TYPES[name], view, len(payload)) + payload)

    def set_storage(self, max_bytes=0, min_free_bytes=0, max_age_ns=0):
        self.send("RECORD_STORAGE", self.storage(max_bytes, min_free_bytes, max_age_ns))

    def storage(self, max_bytes=0, min_free_bytes=0, max_age_ns=0):
        return struct.pack("@QQq1024s", max_bytes, min_free_bytes, max_age_ns, str(self.folder).encode())

    def track(self, number, camera="front", view="plain", mode=EVENTS, codec=H264, before_s=5, after_s=5,
              max_clip_s=300):
        self.send("RECORD_TRACK", struct.pack("@40s40sIIqqq", camera.encode(), view.encode(), mode, codec,
                                              int(before_s * 1e9), int(after_s * 1e9), int(max_clip_s * 1e9)),
                  number)

    def unit(self, view, number, captured_ns, unit, key_frame=False, slate=False):
        self.send("RECORD_UNIT", struct.pack("@qQBB6x", captured_ns, number, key_frame, slate) + unit, view)

    def play(self, view, video, first, last, base_ns):
        """Feeds pictures `first` to `last` - 1, the first of the video at base_ns."""
        for i in range(first, last):
            self.unit(view, i + 1, base_ns + i * FRAME_NS, video.units[i % len(video.units)],
                      i % GROUP == 0)

    def event(self, view, started_ns, at_ns, ended=False, region="door", number=1, peak=0.25):
        motion = struct.pack("@40sQqqfI", region.encode(), number, started_ns, at_ns if ended else 0, peak, 0)
        self.wanted.setdefault(view, {})[region] = motion
        self.want(view)

    def want(self, view, asked_until_ns=0, asked_by=0):
        """Says all that is to be recorded of a view."""
        self.numbers += 1
        regions = list(self.wanted.get(view, {}).values())
        self.send("RECORD_WANTED", struct.pack("@QqII", self.numbers, asked_until_ns, asked_by, len(regions))
                  + b"".join(regions).ljust(8 * 72, b"\0"), view)

    def picture(self, view, captured_ns, jpeg, share=0.5):
        self.send("RECORD_PICTURE", struct.pack("@qfI", captured_ns, share, 0) + jpeg, view)

    def ask(self, name, layout, *values, view=0):
        """Asks, and returns the number of the question."""
        self.request += 1
        self.send(name, struct.pack(layout, self.request, *values), view)
        return self.request

    def trigger(self, view, action, duration_s=0, waited_s=0):
        asked = time.monotonic_ns() - int(waited_s * 1e9)
        return self.done(self.ask("RECORD_TRIGGER", "@IIqq", action, asked, int(duration_s * 1e9), view=view))

    def change(self, clip, action):
        return self.done(self.ask("RECORD_CHANGE", "@IIQ", action, clip))

    def trial(self, **limits):
        self.request += 1
        self.send("RECORD_TRIAL", struct.pack("@II", self.request, 0) + self.storage(**limits))
        return self.done(self.request)

    def list(self, from_ns=0, to_ns=0, count=0, before=0, after=0, **names):
        """`names` are those of a camera, a view and a region."""
        request = self.ask("RECORD_LIST", "@IIqqQQ40s40s40s", count, from_ns, to_ns, before, after,
                           *(names.get(kind, "").encode() for kind in ("camera", "view", "region")))
        return self.clips_of(request)

    def find(self, clip):
        return self.clips_of(self.ask("RECORD_FIND", "@IIQ", 0, clip))

    def read(self, clip, offset=0, size=256 << 10, still=False):
        """Bytes, and how many there are in all; or a negative error."""
        request = self.ask("RECORD_READ", "@IIQQII", still, clip, offset, size, 0)
        payload = self.wait(lambda: self.answer("RECORD_BYTES", request), "bytes")
        _, error, total, size, _ = BYTES.unpack(payload[:BYTES.size])
        return error if error else (payload[BYTES.size:], total)

    def clips_of(self, request):
        found = []
        while True:
            payload = self.wait(lambda: self.answer("RECORD_CLIPS", request), "a list")
            _, count, more = CLIPS.unpack(payload[:CLIPS.size])
            body = payload[CLIPS.size:]
            found += [read_clip(body[i * CLIP_SIZE:(i + 1) * CLIP_SIZE]) for i in range(count)]
            if not more:
                return found

    def done(self, request):
        return fields(DONE, DONE_FIELDS, self.wait(lambda: self.answer("RECORD_DONE", request), "an answer"))

    def answer(self, name, request):
        for i, (kind, payload) in enumerate(self.answers):
            if kind == name and struct.unpack("@I", payload[:4])[0] == request:
                del self.answers[i]
                return payload
        return None

    def wait(self, condition, what, patience_s=PATIENCE_S):
        """Reads until condition() is true, and returns what it is."""
        end = time.monotonic() + patience_s
        while not (found := condition()):
            if not select.select([self.socket], [], [], max(0, end - time.monotonic()))[0]:
                raise AssertionError(f"the recorder has not sent {what} within {patience_s} s: {self.state}")
            self.receive()
        return found

    def receive(self):
        data = self.socket.recv(1 << 20)
        if not data:
            raise EOFError("the recorder has hung up")
        self.buffer += data
        while len(self.buffer) >= HEADER.size:
            kind, _, size = HEADER.unpack(self.buffer[:HEADER.size])
            if len(self.buffer) < HEADER.size + size:
                return
            self.take(NAMES[kind], self.buffer[HEADER.size:HEADER.size + size])
            self.buffer = self.buffer[HEADER.size + size:]

    def take(self, name, payload):
        if name == "RECORD_STATE":
            self.state = fields(STATE, STATE_FIELDS, payload)
        elif name == "RECORD_CLIP":
            clip = read_clip(payload)
            self.clips[clip["id"]] = clip
        else:
            self.answers.append((name, payload))

    def wait_ready(self):
        self.wait(lambda: self.state and self.state["state"] == 1, "that it is ready")

    def wait_closed(self, count):
        """Until so many clips are closed; returns them by id."""
        def closed():
            found = [clip for clip in self.clips.values() if not clip["is_open"]]
            return sorted(found, key=lambda clip: clip["id"]) if len(found) >= count else None
        return self.wait(closed, f"{count} closed clips")

    def files(self, pattern="*.mp4"):
        return sorted(self.folder.rglob(pattern))
