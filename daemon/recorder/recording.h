// A clip as the recorder knows it, and where its files lie below the folder of all clips:
//
//   camera/view/2026-11-27/081503.120Z-event-17.mp4        17 is its id
//   camera/view/2026-11-27/081503.120Z-event-17.keep.mp4   the same clip while it is kept
//   camera/view/2026-11-27/081503.120Z-event-17.mp4.part   while it grows, or after a power cut;
//                                                          .keep.mp4.part if it is kept
//   camera/view/2026-11-27/081503.120Z-event-17.jpg        its picture
//
// The place follows from the names, the beginning, the kind and the id, so it is never stored. All
// other facts are in a line of JSON (daemon/link/clip_facts.h). The index has that line; so does
// the file itself, in case the index is lost.
#pragma once

#include "daemon/link/record.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORDING_ID_MAX (UINT64_C(1) << 53) // what a number in JSON holds; a greater one is no id
#define RECORDING_DAY_SIZE 16
#define RECORDING_FILE_SIZE 64

#define RECORDING_VALUE(type, member, ...) type member;
#define RECORDING_TEXT(size, member, ...) const char *member; // interned
struct recording {
    // `is_kept` is so on the disk. `is_dated`: the clock could be trusted when it began, or has
    // corrected it. `picture_bytes` 0: it has no picture. `regions`: "" or NULL: none.
    CLIP_FACTS(RECORDING_VALUE, RECORDING_TEXT)
    uint64_t hole_bytes; // of `bytes`, those that take no room on the disk
    bool is_named_kept;  // once all changes of it that wait for the disk are done
    bool is_closing;     // it is open, and is being finished
    bool is_leaving;     // it is being deleted
    bool is_stuck;       // it could not be deleted
    // The clock of day that named it, less the time since boot; 0: it began before this process
    // did.
    int64_t wall_offset_ns;
    // Its beginning as its files are still named, while they are being renamed; 0: they are not.
    int64_t renamed_from_ns;
};

enum recording_file { RECORDING_VIDEO, RECORDING_PART, RECORDING_PICTURE, RECORDING_PICTURE_PART };

// "2026-11-27", the day on which it begins, in UTC.
void recording_day(const struct recording *recording, char ret_day[RECORDING_DAY_SIZE]);
void recording_file_name(const struct recording *recording, enum recording_file file,
                         char ret_name[RECORDING_FILE_SIZE]);
// Reads a file's name back, in a folder of that day: id, beginning (to the millisecond), kind and
// whether it is kept. False: this is no file of the recorder.
bool recording_read_name(const char *day, const char *name, struct recording *ret_recording,
                         enum recording_file *ret_file);

// Whether both are the same clip, by their places.
bool recording_is_same(const struct recording *a, const struct recording *b);

// Sets all its times by another clock of day than the one that named it, with that
// `wall_offset_ns`.
void recording_date(struct recording *recording, int64_t wall_offset_ns);

// Adds a region, unless it is there or there are RECORD_REGIONS_MAX.
void recording_add_region(struct recording *recording, const char *region);

// Whether it shows motion in a region of that name.
bool recording_has_region(const struct recording *recording, const char *region);

// Its line of JSON, without a newline. The caller g_free()s it.
char *recording_line(const struct recording *recording);
// Reads such a line, whatever follows it or the facts that are known. False: it is none, lacks a
// fact, or has a name that no configuration allows.
bool recording_read_line(const char *line, struct recording *ret_recording);

// The bytes that its files take on the disk, which count against storage.max_size.
uint64_t recording_stored_bytes(const struct recording *recording);

void recording_fill(const struct recording *recording, struct record_clip *ret_clip);
