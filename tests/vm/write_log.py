"""The log of dm-log-writes: what a disk has after each of its writes.

Writes are logged in the order in which they are there for good: the disk has those up to the last flush, and
of those after it the ones that a cut happened to let through. The format is that of drivers/md/dm-log-writes.c
in Linux: a sector with the number of entries, then the entries, each a sector and the data behind it.
"""

import struct

MAGIC = 0x6A736677736872
SUPER = struct.Struct("<QQQI")  # magic, version, entries, size of a sector in bytes
ENTRY = struct.Struct("<QQQQ")  # sector, sectors, flags, bytes of a mark
DISCARD, MARK = 4, 8


class WriteLog:
    def __init__(self, path):
        self.file = open(path, "rb")
        magic, version, count, self.sector = SUPER.unpack(self.file.read(SUPER.size))
        assert (magic, version) == (MAGIC, 1)
        self.entries = []  # (offset on the disk, its data in the log, size, or a mark's text)
        at = self.sector
        for _ in range(count):
            self.file.seek(at)
            sector, sectors, flags, mark_size = ENTRY.unpack(self.file.read(ENTRY.size))
            mark = self.file.read(mark_size).decode().rstrip("\0") if flags & MARK else None
            at += self.sector
            data = None if flags & DISCARD else at
            self.entries.append((sector * self.sector, data, sectors * self.sector, mark))
            at += 0 if flags & DISCARD else sectors * self.sector

    def close(self):
        self.file.close()

    def marks(self, first, last=None):
        """The texts of the marks among these entries."""
        return [mark for *_, mark in self.entries[first:last] if mark is not None]

    def replay(self, disk, first, last):
        """Writes the entries from `first` on, up to `last` without it, to the open file `disk`."""
        for offset, data, size, _ in self.entries[first:last]:
            disk.seek(offset)
            if data is None:
                disk.write(bytes(size))
            elif size:
                self.file.seek(data)
                disk.write(self.file.read(size))
        disk.flush()
