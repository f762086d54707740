"""What a disk has after a power cut, from the log of tests/fakes/disk.

A file system keeps what was synced. Of what was not it may have kept any part: here each file has what was
synced of it and a random part of what was written since, at times with zeros where the last bytes should be;
and names that were made, changed or deleted last are as they were before from some point on, as in a journal.
"""

import pathlib
import random


class Operation:
    def __init__(self, line, data):
        self.kind, self.path, self.other, number, size = line.decode().split("\t")
        self.number = int(number)
        self.data = data[:int(size)]


def read(path):
    """The operations of a log, in order."""
    return parse(pathlib.Path(path).read_bytes())


def parse(data):
    found = []
    while data:
        line, data = data.split(b"\n", 1)
        found.append(Operation(line, data))
        data = data[len(found[-1].data):]
    return found


class File:
    def __init__(self):
        self.synced = b""
        self.writes = []  # (offset, bytes) or the size it was cut to

    def content(self, writes):
        data = bytearray(self.synced)
        for write in writes:
            if isinstance(write, int):
                data[write:] = bytes(max(0, write - len(data)))
            else:
                offset, piece = write
                data.extend(bytes(max(0, offset - len(data))))
                data[offset:offset + len(piece)] = piece
        return bytes(data)

    def sync(self):
        self.synced = self.content(self.writes)
        self.writes = []

    def cut(self, chance):
        """What is left of it."""
        writes = self.writes[:chance.randint(0, len(self.writes))]
        if writes and not isinstance(writes[-1], int) and chance.random() < 0.5:
            offset, piece = writes[-1]
            kept = chance.randint(0, len(piece))
            zeros = len(piece) - kept if chance.random() < 0.3 else 0
            writes[-1] = offset, piece[:kept] + bytes(zeros)
        return self.content(writes)


FOLDER = object()


class Disk:
    def __init__(self, root):
        self.root = str(root)
        self.names = {}    # path: File, FOLDER, or None for what was deleted or has another name
        self.changes = []  # of names, that are not synced: what the names stood for before

    def name(self, values):
        """Changes at once what names stand for."""
        self.changes.append({path: self.names.get(path) for path in values})
        self.names.update(values)

    def do(self, operation):
        path, kind = operation.path, operation.kind
        value = self.names.get(path)
        if kind in ("create", "open") and not value:
            self.name({path: File()})
        elif kind == "create":
            value.writes.append(0)
        elif kind == "mkdir":
            self.name({path: FOLDER})
        elif kind in ("unlink", "rmdir"):
            self.name({path: None})
        elif kind == "rename":
            self.name({operation.other: value, path: None})
        elif kind == "write":
            value.writes.append((operation.number, operation.data))
        elif kind == "truncate":
            value.writes.append(operation.number)
        elif kind == "sync":
            # A journal holds all names that came before.
            self.changes.clear()
            if isinstance(value, File):
                value.sync()

    def files(self):
        """Each file by its path."""
        return {path: value for path, value in self.names.items() if isinstance(value, File)}

    def cut(self, folder, seed):
        """Makes `folder` as the disk is after a power cut."""
        chance = random.Random(seed)
        names = dict(self.names)
        for before in reversed(self.changes[chance.randint(0, len(self.changes)):]):
            names.update(before)
        for path, value in sorted(names.items()):
            place = pathlib.Path(folder, path[len(self.root):].lstrip("/"))
            if value is FOLDER:
                place.mkdir(parents=True, exist_ok=True)
            elif value and place.parent.is_dir():
                place.write_bytes(value.cut(chance))
