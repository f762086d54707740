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
// In a file boxes `free` stand in front of the first moov: one with room for a note of the
// caller's, if it wants one; one with room for the table of all samples, behind one of 16 bytes
// that says how large that room is; and one of 16 bytes, the head. While the file grows, players
// find a moov and fragments, and a file that was cut off anywhere plays up to its last whole
// fragment. Once it is finished, mp4_writer_close_head() turns the head into that of one mdat with
// all fragments, which makes it a plain file: players do not have to look for fragments, and all of
// them can seek. The table goes into its room in front, so that they can begin before they have all
// of it, or to the end if it is too long. As the room's size is never written again, such a file
// can be recovered wherever that was cut off.
//
// Times are in ticks of MP4_CLOCK_HZ. Nothing is allocated a sample but what the table of a file
// grows by, 8 bytes each. Memory never runs out (GLib's allocator ends the process).
#pragma once

#include "daemon/video/mp4_video.h"

#include <glib.h>

#define MP4_CLOCK_HZ 90000
#define MP4_HEAD_SIZE 16u
#define MP4_NOTE_OFFSET 32u // of a file's note
#define MP4_ROOM_MAX (4u << 20)

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

// The room for the table of that many samples in so many seconds: 12 bytes a sample whose duration
// differs from the one before, and for each second a fragment that begins with a key frame.
uint32_t mp4_room_for(uint64_t samples, uint64_t seconds);
// Has a file begin with `room` bytes for the table, from 8 to MP4_ROOM_MAX; 0, as without this
// call: the table goes to the end.
void mp4_writer_reserve(struct mp4_writer *writer, uint32_t room);
// Appends the beginning to `bytes`, as the other functions do.
void mp4_writer_start(struct mp4_writer *writer, GByteArray *bytes);
// The bytes of that beginning that are zeros, for the table: *ret_offset and how many.
uint32_t mp4_writer_room(const struct mp4_writer *writer, uint64_t *ret_offset);
// Begins a fragment of `count` samples, at least 1, whose bytes the caller puts out behind it. Each
// begins when the one before ends. The first one rules the end of the last fragment: it may leave a
// gap, or begin before the end that was guessed, but after the last sample's time.
// `captured_ns` is when the first one was captured, since 1970; 0: not to be said.
void mp4_writer_fragment(struct mp4_writer *writer, const struct mp4_sample *samples, size_t count,
                         int64_t captured_ns, GByteArray *bytes);
// For a file: its last sample lasts until `time`, or for a tick if that is not after its own time.
void mp4_writer_set_end(struct mp4_writer *writer, uint64_t time);
// For a file: appends the table of all samples. A sample in front of a gap lasts until its end.
void mp4_writer_finish(struct mp4_writer *writer, GByteArray *bytes);
// Where that table goes: true, if it fits into the room in front, at *ret_offset; a box for what is
// left of the room is appended to it. False: at the end of the file.
bool mp4_writer_fit_table(const struct mp4_writer *writer, GByteArray *table, uint64_t *ret_offset);
// Writes what is to replace MP4_HEAD_SIZE bytes of the file from *ret_offset on, once the table has
// its place.
void mp4_writer_close_head(const struct mp4_writer *writer, uint8_t bytes[MP4_HEAD_SIZE],
                           uint64_t *ret_offset);
