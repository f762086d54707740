"""A recorder of the tests' own at the socket that $EDGED_RECORDER names: it has clips that are made
up, and is as slow or as broken as told. It speaks the messages of daemon/link/record.h."""

import ctypes
import errno
import re
import socket
import threading

import daemon

NAME = ctypes.c_char * 40
TYPES = re.findall(r"^    ((?:LINK|RECORD)_\w+)", (daemon.ROOT / "daemon/link/messages.h").read_text(), re.M)
TYPE = {name: number for number, name in enumerate(TYPES[:TYPES.index("RECORD_DONE") + 1], 1)}
KEEP, UNKEEP, DELETE = 2, 3, 4  # enum record_action
READY = 1  # enum record_state
CLIPS_MAX = 64


class Header(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint32) for name in ("type", "view", "size")]


class List(ctypes.Structure):
    _fields_ = [("request", ctypes.c_uint32), ("count", ctypes.c_uint32), ("from_ns", ctypes.c_int64),
                ("to_ns", ctypes.c_int64), ("before", ctypes.c_uint64), ("camera", NAME)]


class Find(ctypes.Structure):
    _fields_ = [("request", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("id", ctypes.c_uint64)]


class Read(ctypes.Structure):
    _fields_ = [("request", ctypes.c_uint32), ("part", ctypes.c_uint32), ("id", ctypes.c_uint64),
                ("offset", ctypes.c_uint64), ("size", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class Change(ctypes.Structure):
    _fields_ = [("request", ctypes.c_uint32), ("action", ctypes.c_uint32), ("id", ctypes.c_uint64)]


class Clip(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint64), ("event", ctypes.c_uint64), ("start", ctypes.c_int64),
                ("end", ctypes.c_int64), ("asked", ctypes.c_int64), ("bytes", ctypes.c_uint64),
                ("gap", ctypes.c_uint64), ("peak", ctypes.c_float), ("is_open", ctypes.c_uint8),
                ("is_kept", ctypes.c_uint8), ("is_always", ctypes.c_uint8), ("has_picture", ctypes.c_uint8),
                ("region_count", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("camera", NAME),
                ("view", NAME), ("regions", NAME * 8)]


class Clips(ctypes.Structure):
    _fields_ = [("request", ctypes.c_uint32), ("count", ctypes.c_uint16), ("more", ctypes.c_uint16)]


class Bytes(ctypes.Structure):
    _fields_ = [("request", ctypes.c_uint32), ("error", ctypes.c_int32), ("total", ctypes.c_uint64),
                ("size", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class Done(ctypes.Structure):
    _fields_ = [("request", ctypes.c_uint32), ("error", ctypes.c_int32), ("id", ctypes.c_uint64),
                ("clips", ctypes.c_uint64), ("bytes", ctypes.c_uint64), ("sentence", ctypes.c_char * 256)]


class State(ctypes.Structure):
    _fields_ = [("state", ctypes.c_uint32), ("open_clips", ctypes.c_uint32),
                ("numbers", ctypes.c_uint64 * 9), ("write_max_ns", ctypes.c_int64),
                ("sentence", ctypes.c_char * 256)]


class Recorder:
    """`files` has the bytes of each clip's video and picture: {id: (bytes, bytes)}."""

    def __init__(self, path):
        self.path = path
        self.clips, self.files = {}, {}
        self.asked = []  # what it was asked, (name, struct)
        self.read_error = None  # gives the errno that a read is answered with; None: none
        self.running = threading.Event()  # while it is not set nothing is answered
        self.running.set()
        self.sending = threading.Lock()
        self.listening = socket.socket(socket.AF_UNIX)
        self.listening.bind(str(path))
        self.listening.listen()
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self):
        self.listening.close()
        self.running.set()

    def add(self, number, video=b"", picture=b"", regions=(), **fields):
        clip = Clip(id=number, bytes=len(video), has_picture=bool(picture), region_count=len(regions), **fields)
        for i, region in enumerate(regions):
            clip.regions[i].value = region.encode()
        self.clips[number] = clip
        self.files[number] = (video, picture)

    def _serve(self):
        while True:
            try:
                connection = self.listening.accept()[0]
            except OSError:
                return
            with connection:
                self.connection = connection
                over = threading.Event()
                threading.Thread(target=self._report, args=(over,), daemon=True).start()
                try:
                    self._talk()
                except OSError:
                    over.set()  # edged has hung up

    def _report(self, over):
        """The state each second, without which edged hangs up after 10 s."""
        while not over.wait(1):
            if self.running.is_set():
                try:
                    self._send("RECORD_STATE", State(state=READY))
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

    def _send(self, name, *pieces):
        payload = b"".join(map(bytes, pieces))
        with self.sending:
            self.connection.sendall(bytes(Header(TYPE[name], 0, len(payload))) + payload)

    def _talk(self):
        while True:
            header = Header.from_buffer_copy(self._receive(ctypes.sizeof(Header)))
            payload = self._receive(header.size)
            name = TYPES[header.type - 1]
            self.running.wait()
            if name == "RECORD_HELLO":
                self._send("RECORD_HELLO", payload)
                self._send("RECORD_STATE", State(state=READY))
            elif answer := getattr(self, "_" + name.lower(), None):
                answer(payload)

    def _note(self, kind, payload):
        question = kind.from_buffer_copy(payload)
        self.asked.append(question)
        return question

    def _record_list(self, payload):
        question = self._note(List, payload)
        found = [clip for _, clip in sorted(self.clips.items(), reverse=True)
                 if (not question.before or clip.id < question.before)
                 and (not question.from_ns or clip.end >= question.from_ns)
                 and (not question.to_ns or clip.start <= question.to_ns)
                 and question.camera in (b"", clip.camera)][:question.count or None]
        parts = [found[i:i + CLIPS_MAX] for i in range(0, len(found), CLIPS_MAX)] or [[]]
        for i, part in enumerate(parts):
            self._send("RECORD_CLIPS", Clips(question.request, len(part), i + 1 < len(parts)), *part)

    def _record_find(self, payload):
        question = self._note(Find, payload)
        found = [self.clips[question.id]] if question.id in self.clips else []
        self._send("RECORD_CLIPS", Clips(question.request, len(found), 0), *found)

    def _record_read(self, payload):
        question = self._note(Read, payload)
        error = self.read_error() if self.read_error else 0
        content = self.files.get(question.id, (b"", b""))[question.part]
        if error or not content:
            self._send("RECORD_BYTES", Bytes(question.request, -(error or errno.ENOENT)))
            return
        part = content[question.offset:question.offset + question.size]
        self._send("RECORD_BYTES", Bytes(question.request, 0, len(content), len(part)), part)

    def _record_change(self, payload):
        question = self._note(Change, payload)
        clip = self.clips[question.id]
        if question.action == DELETE:
            del self.clips[question.id], self.files[question.id]
        else:
            clip.is_kept = question.action == KEEP
        self._send("RECORD_DONE", Done(question.request))
