// Writes fragmented MP4 (ISO/IEC 14496-12) of one video track: to a web page as it comes, or to a
// file that any program can play once it is finished.
//
// The writer makes boxes and does no I/O; its caller puts them out in order, each followed by what
// belongs behind it:
//
//   mp4_writer_start()      ftyp, moov                          the init segment
//   mp4_writer_fragment()   prft, moof, the head of an mdat     the caller adds its samples
//   mp4_writer_finish()     moov with a table of all samples    the end of a file
//
// In a file a box `free` of 16 bytes stands in front of the first moov, and another one with room
// for a note of the caller's in front of that, if it wants one. While the file grows,
// players find a moov and fragments, and a file that was cut off anywhere plays up to its last
// whole fragment. Once it is finished, mp4_writer_close_head() turns `free` into the head of one
// mdat that reaches up to the last moov, which makes it a plain file: players do not have to look
// for fragments, and all of them can seek.
//
// Times are in ticks of MP4_CLOCK_HZ. Nothing is allocated a sample but what the table of a file
// grows by, 8 bytes each. Memory never runs out (GLib's allocator ends the process).
#pragma once

#include "daemon/mp4/mp4_video.h"

#include <glib.h>

#define MP4_CLOCK_HZ 90000
#define MP4_HEAD_SIZE 16u
#define MP4_NOTE_OFFSET 32u // of a file's note

struct mp4_writer;

struct mp4_sample {
    uint64_t time; // when it is shown: of the first sample 0 in a file, anything in a stream
    uint32_t duration;
    uint32_t size; // mp4_sample_size(), below 2 GiB
    bool key_frame;
};

struct mp4_settings {
    bool is_file;       // to be finished one day; else a stream
    const char *name;   // of the track, as players show it: "front/plain"; UTF-8
    int64_t created_s;  // since 1970; 0: not known
    uint32_t note_size; // bytes of a file that are the caller's, from MP4_NOTE_OFFSET on; 0: none
};

// All of it is copied.
struct mp4_writer *mp4_writer_new(const struct mp4_video *video,
                                  const struct mp4_settings *settings);
// Takes NULL.
void mp4_writer_free(struct mp4_writer *writer);

// Appends the beginning to `bytes`, as the other functions do.
void mp4_writer_start(struct mp4_writer *writer, GByteArray *bytes);
// Begins a fragment of `count` samples, at least 1, whose bytes the caller puts out behind it. Each
// begins when the one before ends, except at the beginning of a fragment, which may leave a gap.
// `captured_ns` is when the first one was captured, since 1970; 0: not to be said.
void mp4_writer_fragment(struct mp4_writer *writer, const struct mp4_sample *samples, size_t count,
                         int64_t captured_ns, GByteArray *bytes);
// For a file: appends the table of all samples. A sample in front of a gap lasts until its end.
void mp4_writer_finish(struct mp4_writer *writer, GByteArray *bytes);
// Writes what is to replace MP4_HEAD_SIZE bytes of the file from *ret_offset on, after what
// mp4_writer_finish() has appended is safe.
void mp4_writer_close_head(const struct mp4_writer *writer, uint8_t bytes[MP4_HEAD_SIZE],
                           uint64_t *ret_offset);
