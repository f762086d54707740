"""The table of a finished clip, read without a library, which would mend it."""

import struct

TABLES = ("stts", "stsz", "stsc", "co64")


def boxes(data, at=0, end=None):
    """Kind, and where its content begins and ends, of each box in a part of a file."""
    end = len(data) if end is None else end
    while at < end:
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        head = 16 if size == 1 else 8
        size = struct.unpack(">Q", data[at + 8 : at + 16])[0] if size == 1 else size
        assert head <= size <= end - at, (kind, at, size)
        yield kind.decode(), at + head, at + size
        at += size


def find(data, path, at=0, end=None):
    for kind, inner, over in boxes(data, at, end):
        if kind == path[0]:
            return (inner, over) if len(path) == 1 else find(data, path[1:], inner, over)
    raise AssertionError(f"no {path}")


def numbers_of(data, form):
    return list(struct.iter_unpack(form, data[8 : 8 + struct.calcsize(form) * struct.unpack(">I", data[4:8])[0]]))


def read_table(data):
    """Durations of the samples, and that the tables fit together and into the file."""
    top = list(boxes(data))
    *_, movie = (box for box in top if box[0] == "moov")
    media = [(begin, end) for kind, begin, end in top if kind == "mdat"]
    table = find(data, ("trak", "mdia", "minf", "stbl"), *movie[1:])
    stts, stsz, stsc, co64 = (data[slice(*find(data, (name,), *table))] for name in TABLES)
    durations = [ticks for count, ticks in numbers_of(stts, ">II") for _ in range(count)]
    sizes = [size for size, in struct.iter_unpack(">I", stsz[12:])]
    offsets = [offset for offset, in numbers_of(co64, ">Q")]
    runs = numbers_of(stsc, ">III")
    counts = []
    for (first, count, _), after in zip(runs, [*(run[0] for run in runs[1:]), len(offsets) + 1]):
        counts += [count] * (after - first)
    assert len(counts) == len(offsets) and sum(counts) == len(sizes) == len(durations)
    sample = 0
    for count, offset in zip(counts, offsets):
        size = sum(sizes[sample : sample + count])
        sample += count
        assert any(begin <= offset and offset + size <= end for begin, end in media), "a chunk outside mdat"
    begin, _ = find(data, ("mvhd",), *movie[1:])
    assert sum(durations) == struct.unpack(">Q", data[begin + 24 : begin + 32])[0] and min(durations) > 0
    return durations
