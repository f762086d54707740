// The file of a clip while it is written. It is fragmented MP4, which plays up to its last whole
// fragment wherever the power fails; at the end it becomes a plain MP4 file
// (daemon/mp4/mp4_writer.h). The clip's line of JSON is in the file's note from the beginning on.
//
// Functions that touch the disk are for the disk thread alone.
#pragma once

#include "daemon/mp4/mp4_writer.h"
#include "daemon/recorder/storage.h"

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
    int64_t end_ns;         // when the last one is over
    int64_t wall_offset_ns; // between the clock of day and CLOCK_MONOTONIC
};

void fragment_free(struct fragment *fragment); // takes NULL

struct growing_file;

// Touches no disk. `recording` says where the file is, and is copied.
struct growing_file *growing_file_new(struct storage *storage, const struct recording *recording,
                                      const struct mp4_video *video);
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
// `recording` is what its name says, *ret_recording also what its note says. -ENODATA: it has no
// whole fragment; other errors are what the file system says.
int growing_file_recover(struct storage *storage, const struct recording *recording,
                         struct recording *ret_recording);

// Reads the note of a finished file into `recording`, which says where the file is, how large it
// is, and whether it is kept. False: it is no file of the recorder.
bool growing_file_read_note(const struct storage *storage, struct recording *recording);

uint64_t growing_file_id(const struct growing_file *file); // of its clip; any thread
// Bytes written so far.
uint64_t growing_file_size(const struct growing_file *file);
