// The file of a clip while it is written. It is fragmented MP4, which plays up to its last whole
// fragment wherever the power fails; at the end it becomes a plain MP4 file, with its table in
// front if that fits into the room that was left for it (daemon/video/mp4_writer.h). The clip's
// line of JSON is in the file's note from the beginning on.
//
// Functions that touch the disk are for the disk thread alone.
#pragma once

#include "daemon/recorder/storage.h"
#include "daemon/video/mp4_writer.h"

#define FRAGMENT_NS NS_PER_S // the longest fragment, unless one picture lasts longer
#define NOTE_SIZE 1024u      // more than the longest line of JSON

// An access unit as it came from the front.
struct footage_unit {
    _Atomic unsigned references;
    int64_t captured_ns;
    int64_t gap_ns; // the time in front of it that has no picture
    uint64_t number;
    bool is_key_frame;
    size_t size;
    const uint8_t *bytes; // Annex B, in `payload`
    uint8_t *payload;     // owned
};

void footage_unit_unref(struct footage_unit *unit);

// Units that belong together in the file, without a gap between them.
struct fragment {
    GPtrArray *units; // owned, with a reference to each
    size_t bytes;
    int64_t end_ns;         // when the last one is over; a guess if nothing came after it yet
    int64_t wall_offset_ns; // between the clock of day and CLOCK_MONOTONIC
};

void fragment_free(struct fragment *fragment); // takes NULL

struct growing_file;

// Touches no disk. `recording` says where the file is, and is copied. `room` is for the table, as
// mp4_room_for() says.
struct growing_file *growing_file_new(struct storage *storage, const struct recording *recording,
                                      const struct mp4_video *video, uint32_t room);
// Closes it as it is. Takes NULL.
void growing_file_free(struct growing_file *file);

// Makes the file. 0 or a negative errno, as the others. After an error the others do nothing and
// return it again.
int growing_file_begin(struct growing_file *file);
// Announces a fragment that will be appended. Any thread.
void growing_file_expect(struct growing_file *file);
// Appends a fragment that was announced. Syncs the file if half a second of video is unsynced, or
// 4.5 s for RECORD_ALWAYS; while other fragments wait, no more often than that by the clock.
int growing_file_append(struct growing_file *file, const struct fragment *fragment);
// Turns it into a plain file and gives it its name. `recording` is what is known of the clip now
// that it is over.
int growing_file_finish(struct growing_file *file, const struct recording *recording);

// Finishes a file that a power cut or a failing disk has left open, with its whole fragments.
// `recording` is what its name says, *ret_recording also what its note says. After an error the
// file is as it was: -ENODATA: it has no video; -EBADMSG: it may have some, but its beginning is
// damaged; others are what the file system says.
int growing_file_recover(struct storage *storage, const struct recording *recording,
                         struct recording *ret_recording);

// Reads the note of a finished file into `recording`, which says where the file is, how large it
// is, and whether it is kept. A note with another beginning than the name's is of a file that was
// being renamed: the name counts, and the clip is not dated. False: it is no file of the recorder.
bool growing_file_read_note(const struct storage *storage, struct recording *recording);

// Has a finished clip's file say that the clip is `to`, and gives its files the names of that. 0 or
// a negative errno.
int growing_file_rename(struct storage *storage, const struct recording *from,
                        const struct recording *to);

// Once it is finished, how many of its bytes take no room on the disk.
uint64_t growing_file_hole(const struct growing_file *file);
uint64_t growing_file_id(const struct growing_file *file); // of its clip; any thread
// How long the file is so far, and how many bytes of it were written, some of them twice; the rest
// is the room for the table.
uint64_t growing_file_size(const struct growing_file *file);
uint64_t growing_file_written(const struct growing_file *file);
