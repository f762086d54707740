"""A client of edged's video over HTTP: records as daemon/front/http/video.c has them, or bytes."""

import http.client
import json
import socket
import struct
import subprocess
import typing
import urllib.parse

import daemon
import ffmpeg

CONFIGURATION, UNIT, STATUS, EVENT = 1, 2, 3, 4
KEY_FRAME, SLATE = 1, 2
ALL_VIEWS = 255


class Record(typing.NamedTuple):
    kind: int
    view: int
    flags: int
    time_us: int
    payload: bytes

    @property
    def json(self):
        return json.loads(self.payload)


class Video:
    """`path` is "/v1/video?view=front/edges", say; `port` None: by the control socket."""

    def __init__(self, server, path, *, port=None, receive_buffer_bytes=0, headers=None):
        if port:
            self.connection = http.client.HTTPConnection("127.0.0.1", port, daemon.PATIENCE_S)
            self.connection.sock = socket.socket()
            if receive_buffer_bytes:
                self.connection.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
            self.connection.sock.settimeout(daemon.PATIENCE_S)
            self.connection.sock.connect(("127.0.0.1", port))
        else:
            self.connection = daemon.UnixConnection(server.socket)
        self.connection.request("GET", path, headers=headers or {})
        self.response = self.connection.getresponse()
        self.status = self.response.status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.response.close()
        self.connection.close()

    def bytes(self, size):
        data = self.response.read(size)
        if len(data) < size:
            raise EOFError
        return data

    def record(self):
        size, kind, view, flags, zero, time_us = struct.unpack(">IBBBBq", self.bytes(16))
        assert zero == 0
        return Record(kind, view, flags, time_us, self.bytes(size))

    def next(self, kind, condition=lambda record: True):
        """The next record of that kind that fulfils the condition."""
        while True:
            record = self.record()
            if record.kind == kind and condition(record):
                return record

    def units(self, count, view=0):
        """The next access units of a view."""
        return [self.next(UNIT, lambda record: record.view == view) for _ in range(count)]


def problem(server, path, **settings):
    """The status and what is said of a request that is refused."""
    with Video(server, path, **settings) as video:
        return video.status, json.loads(video.response.read())


def of(camera, view, **query):
    return f"/v1/cameras/{camera}/views/{view}/video?" + urllib.parse.urlencode(query)


def frame_hashes(data, kind):
    """Hash of each picture of an H.264 or H.265 stream, or of "mp4"."""
    command = ["ffmpeg", "-nostdin", "-v", "error", "-f", kind, "-i", "-", "-vsync", "passthrough",
               "-f", "framemd5", "-"]
    result = subprocess.run(command, input=data, capture_output=True, check=True)
    assert not ffmpeg.complaints(result.stderr), result.stderr
    return hashes(result.stdout.decode())


def hashes(text):
    return [line.split(",")[5].strip() for line in text.splitlines() if not line.startswith("#")]
