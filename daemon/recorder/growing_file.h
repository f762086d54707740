// A clip's video while it is written: fragmented MP4 that plays up to its last whole fragment
// wherever the power fails, then a plain file (daemon/mp4/mp4_writer.h). Its line of JSON stands in
// the file's note from the beginning on.
//
// What touches the disk is for the disk thread alone.
#pragma once

#include "daemon/mp4/mp4_writer.h"
#include "daemon/recorder/storage.h"

#define FRAGMENT_NS NS_PER_S // a fragment is not longer, unless a picture is
#define NOTE_SIZE 1024u      // more than any line of JSON takes

// An access unit as it came from the front.
struct footage_unit {
    _Atomic unsigned references;
    int64_t captured_ns;
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
    int64_t end_ns;         // when the last one is over
    int64_t wall_offset_ns; // between the clock of day and CLOCK_MONOTONIC
};

struct growing_file;

// Touches no disk. `recording` says where the file is, and is copied.
struct growing_file *growing_file_new(struct storage *storage, const struct recording *recording,
                                      const struct mp4_video *video);
// Closes it as it is. Takes NULL.
void growing_file_free(struct growing_file *file);

// Makes the file. 0 or a negative errno, as the others. After an error the others do nothing and
// return it again.
int growing_file_begin(struct growing_file *file);
// Appends, and syncs where the last time was long enough ago.
int growing_file_append(struct growing_file *file, const struct fragment *fragment);
// Makes it whole and gives it its name. `recording` is all that is known of it now.
int growing_file_finish(struct growing_file *file, const struct recording *recording);

// Makes a file whole that a power cut or a failing disk has left, with what it has of whole
// fragments. `recording` is what its name says; *ret_recording all that is known. -ENODATA: it has
// no whole fragment; else what the file system says.
int growing_file_recover(struct storage *storage, const struct recording *recording,
                         struct recording *ret_recording);

// Reads what the note of a finished file says, to `recording`, which says where it is. False: it is
// no file of the recorder.
bool growing_file_read_note(const struct storage *storage, struct recording *recording);

uint64_t growing_file_id(const struct growing_file *file); // of its clip; any thread
// Bytes written so far.
uint64_t growing_file_size(const struct growing_file *file);
