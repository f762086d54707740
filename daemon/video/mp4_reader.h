// Continues a file that mp4_writer.h has begun and that was never finished: finds out how many of
// its fragments are whole, and makes a writer that has them in its table.
//
// A fragment counts if its first picture is later than the last one in front of it, whatever that
// one's end was said to be. A fragment with zeros in place of video, as a file system leaves them
// after a power cut, ends what is whole. It reads only files of that writer. Damaged files are safe
// to read.
#pragma once

#include "daemon/video/mp4_writer.h"

struct mp4_recovery {
    struct mp4_writer *writer; // as if it had written the file up to `size`; owned
    struct mp4_video video;
    uint64_t size;          // of the whole fragments and what is in front of them
    uint64_t duration, gap; // in ticks; `gap` is the part of it that has no picture
    unsigned fragments;     // that are whole
};

// Reads the file `fd` with a note of `note_size` bytes, which `name` was given for. 0, -EBADMSG: it
// is no such file, or not even its beginning is whole; else what read() says.
int mp4_recover(int fd, const char *name, uint32_t note_size, struct mp4_recovery *ret_recovery);
