"""A recorder of the tests' own at the socket that $EDGED_RECORDER names: it has clips that are made
up, and is as slow or as broken as told. It speaks the messages of daemon/link/record.h."""

import ctypes
import errno
import re
import socket
import threading

import daemon

LINK = daemon.ROOT / "daemon/link"
TYPES = re.findall(r"^    ((?:LINK|RECORD)_\w+)", (LINK / "messages.h").read_text(), re.M)
TYPE = {name: number for number, name in enumerate(TYPES[:TYPES.index("RECORD_DONE") + 1], 1)}
KEEP, UNKEEP, DELETE = 2, 3, 4  # enum record_action
READY = 1  # enum record_state
DAY_NS = 86400 * 10**9


def read_structs(text):
    """What record.h declares, by the names without "record_", and its numbers. A clip has the facts of clip_facts.h."""
    rows = re.findall(r"(?:VALUE|TEXT)\([\\\s]*(\w+), (\w+), [A-Z]", (LINK / "clip_facts.h").read_text())
    facts = "".join(f"char {member}[{form}];" if form.isupper() else f"{form} {member};" for form, member in rows)
    text = re.sub(r"CLIP_FACTS\(.*\)", facts, text)
    numbers = {name: int(value) << int(shift or 0)
               for name, value, shift in re.findall(r"^#define (\w+) \(?(\d+)u?(?: << (\d+)\))?", text, re.M)}
    structs = {"float": ctypes.c_float, "char": ctypes.c_char}
    structs.update((f"{kind}_t", getattr(ctypes, f"c_{kind}"))
                   for kind in ("int32", "int64", "uint8", "uint16", "uint32", "uint64"))
    for name, body in re.findall(r"^struct record_(\w+) {\n(.*?)^};", re.sub("//.*", "", text), re.M | re.S):
        fields = []
        for kind, members in re.findall(r"(?:struct record_)?(\w+)\s+([^;]+);", body):
            for member in members.split(","):
                field = structs[kind]
                for size in reversed(re.findall(r"\[(\w+)\]", member)):
                    field *= int(size) if size.isdigit() else numbers[size]
                fields.append((re.match(r"\s*(\w+)", member)[1], field))
        structs[name] = type(name, (ctypes.Structure,), {"_fields_": fields})
    return structs, numbers


STRUCTS, NUMBERS = read_structs((LINK / "record.h").read_text())


class Header(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("type", "view", "size")]


class Recorder:
    """`files` has the bytes of each clip's video and picture: {id: (bytes, bytes)}."""

    def __init__(self, path):
        self.path = path
        self.clips, self.files = {}, {}
        self.asked = []  # what it was asked, (name, struct)
        self.wanted = []  # what it was told that is to be recorded
        self.trigger_error = 0  # the errno that a trigger is answered with
        self.read_error = None  # gives the errno that a read is answered with; None: none
        self.is_open = True  # the clips' folder
        self.running = threading.Event()  # while it is not set nothing is answered
        self.running.set()
        self.sending = threading.Lock()
        self.connected = threading.Event()
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(str(path))
        self.listening.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self):
        self.listening.shutdown(socket.SHUT_RDWR)  # else its thread would accept for whoever has the descriptor next
        self.listening.close()
        self.running.set()

    def add(self, number, video=b"", picture=b"", regions=(), **fields):
        self.clips[number] = STRUCTS["clip"](id=number, bytes=len(video), picture_bytes=len(picture),
                                             regions="/".join(regions).encode(), **fields)
        self.files[number] = (video, picture)

    def _serve(self):
        while True:
            try:
                connection = self.listening.accept()[0]
            except OSError:
                return
            with connection:
                self.connection = connection
                self.connected.set()
                over = threading.Event()
                threading.Thread(target=self._report, args=(connection, over), daemon=True).start()
                try:
                    self._talk()
                except OSError:
                    over.set()  # edged has hung up
                    self.connected.clear()

    def _report(self, connection, over):
        """The state each second, without which edged hangs up after 10 s."""
        while not over.wait(1):
            if self.running.is_set():
                try:
                    self._send("RECORD_STATE", STRUCTS["state_report"](state=READY), to=connection)
                except OSError:
                    return

    def _receive(self, size):
        told = b""
        while len(told) < size:
            piece = self.connection.recv(size - len(told))
            if not piece:
                raise ConnectionResetError
            told += piece
        return told

    def _send(self, name, *pieces, to=None):
        payload = b"".join(map(bytes, pieces))
        with self.sending:
            (to or self.connection).sendall(bytes(Header(TYPE[name], 0, len(payload))) + payload)

    def tell(self, name, *pieces):
        """Whether edged was told, which may hang up on a busy machine and ask for the recorder again."""
        try:
            return self.connected.is_set() and not self._send(name, *pieces)
        except OSError:
            return False

    def _talk(self):
        while True:
            header = Header.from_buffer_copy(self._receive(ctypes.sizeof(Header)))
            payload = self._receive(header.size)
            name = TYPES[header.type - 1]
            self.running.wait()
            if name == "RECORD_HELLO":
                self._send("RECORD_HELLO", payload)
                self._send("RECORD_STATE", STRUCTS["state_report"](state=READY))
            elif not self.is_open and (kind := name[len("RECORD_"):].lower()) in STRUCTS:
                self._refuse(kind, payload)
            elif answer := getattr(self, "_" + name.lower(), None):
                answer(payload)

    def _refuse(self, kind, payload):
        request = getattr(STRUCTS[kind].from_buffer_copy(payload), "request", 0)
        self._send("RECORD_DONE", STRUCTS["done"](request, -errno.EAGAIN))

    def _note(self, kind, payload):
        question = STRUCTS[kind].from_buffer_copy(payload)
        self.asked.append(question)
        return question

    def _record_list(self, payload):
        question = self._note("list", payload)
        found = [clip for _, clip in sorted(self.clips.items(), reverse=not question.after_id)
                 if (not question.before_id or question.after_id or clip.id < question.before_id)
                 and clip.id > question.after_id and question.view in (b"", clip.view)
                 and question.region in (b"", *clip.regions.split(b"/"))
                 and (not question.from_wall_ns or clip.end_wall_ns >= question.from_wall_ns)
                 and (not question.to_wall_ns or clip.start_wall_ns <= question.to_wall_ns)
                 and question.camera in (b"", clip.camera)][:question.count or None]
        most = NUMBERS["RECORD_CLIPS_MAX"]
        parts = [found[i:i + most] for i in range(0, len(found), most)] or [[]]
        for i, part in enumerate(parts):
            self._send("RECORD_CLIPS", STRUCTS["clips"](question.request, len(part), i + 1 < len(parts)), *part)

    def _record_timeline(self, payload):
        question = self._note("timeline", payload)
        all_clips = list(self.clips.values())  # the test may take some away meanwhile
        spans = [(question.from_wall_ns + i * question.step_ns, question.step_ns) for i in range(question.steps)]
        spans += [(question.first_day_wall_ns + i * DAY_NS, DAY_NS) for i in range(question.days)]
        views = sorted({(clip.camera, clip.view) for clip in all_clips})
        for i, (camera, view) in enumerate(views):
            clips = [clip for clip in all_clips if (clip.camera, clip.view) == (camera, view)]
            steps = [max((1 + bool(clip.regions) for clip in clips
                          if clip.start_wall_ns < begin + length and clip.end_wall_ns > begin), default=0)
                     for begin, length in spans]
            self._send("RECORD_LANE", STRUCTS["lane"](question.request, i + 1 < len(views), camera, view), bytes(steps))
        if not views:
            self._send("RECORD_LANE", STRUCTS["lane"](question.request, 0))

    def _record_find(self, payload):
        question = self._note("find", payload)
        found = [clip for clip in [self.clips.get(question.id)] if clip]
        self._send("RECORD_CLIPS", STRUCTS["clips"](question.request, len(found), 0), *found)

    def _record_read(self, payload):
        question = self._note("read", payload)
        error = self.read_error() if self.read_error else 0
        content = self.files.get(question.id, (b"", b""))[question.part]
        if error or not content:
            self._send("RECORD_BYTES", STRUCTS["bytes"](question.request, -(error or errno.ENOENT)))
            return
        part = content[question.offset:question.offset + question.size]
        self._send("RECORD_BYTES", STRUCTS["bytes"](question.request, 0, len(content), len(part)), part)

    def _record_wanted(self, payload):
        self.wanted.append(STRUCTS["wanted"].from_buffer_copy(payload))

    def _record_trigger(self, payload):
        question = self._note("trigger", payload)
        self._send("RECORD_DONE", STRUCTS["done"](question.request, -self.trigger_error, 1))

    def _record_change(self, payload):
        question = self._note("change", payload)
        clip = self.clips.get(question.id)
        if not clip:
            return self._send("RECORD_DONE", STRUCTS["done"](question.request, -errno.ENOENT))
        if question.action == DELETE and clip.is_open:
            return self._send("RECORD_DONE", STRUCTS["done"](question.request, -errno.EBUSY))
        if question.action == DELETE:
            del self.clips[question.id], self.files[question.id]
        else:
            clip.is_kept = question.action == KEEP
        self._send("RECORD_DONE", STRUCTS["done"](question.request))
