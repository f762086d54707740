// All clips: the list in memory, and the index on the disk.
//
// `index.jsonl` has a line of JSON for each clip, which only saves opening every clip at a start.
// If index and folder differ, the folder is right: a clip that the index lacks is read and added, a
// line whose file is gone is dropped, and the files say how large a clip and its picture are, and
// whether it is kept. The first line of the index has a mark that identifies the folder, and
// the next id, so that ids grow even if the newest clips were deleted. An index that is missing, or
// that cannot be written, costs a start time and nothing else.
//
// library_load(), library_note() and library_write_index() touch the disk and are for the disk
// thread alone; all else is the main loop's.
#pragma once

#include "daemon/recorder/storage.h"

#include <glib.h>

#define LIBRARY_MARK_SIZE 40

// Tells one folder from another: by its mark, or, if its index is gone, by its file system.
struct library_folder {
    char mark[LIBRARY_MARK_SIZE]; // no other folder has it; "": none was loaded
    dev_t device;
};

struct library {
    GPtrArray *clips; // owned, of struct recording, by growing id
    uint64_t next_id;
    struct library_folder folder;
    bool is_mounted_late; // the folder that was open before is beneath it now
    unsigned lines;       // of clips, in the index on the disk
    int index_result;     // of writing the index last: 0 or a negative errno
    unsigned recovered;   // clips that a crash had left open, and that are finished now
    unsigned ignored;     // files that are named like a clip's and are none, or copies
};

void library_init(struct library *library);
void library_finish(struct library *library); // takes zeros

// Reads the index and the folder, finishes clips that were left open, and writes the index again if
// it was not right; one that cannot be written is no error, see `index_result`. `before` is the
// folder that was open before, or zeros for the first; another one is refused with -ESTALE, unless
// its file system has been mounted since over the one of `before`. Other errors are what the file
// system says, with a sentence in `error`.
int library_load(struct storage *storage, const struct library_folder *before, struct error *error,
                 struct library *ret_library);
// Tells the log what was found in the folder at `path`.
void library_log(const struct library *library, const char *path);
// Adds a clip that has been finished to the index. 0 or a negative errno: it has no line now.
int library_note(const struct storage *storage, const struct recording *recording);

// Whether the index has more than twice the lines that it needs, or lacks some.
bool library_wants_index(const struct library *library);
// A copy for library_write_index(), with copies of all clips but those that are being deleted.
void library_copy(const struct library *library, struct library *ret_copy);
// Writes the index of such a copy, with the lines that the index has of its clips; sets `lines` and
// `index_result`.
void library_write_index(struct storage *storage, struct library *copy);

// Adds a copy of `recording` with the next id, and returns it; the library owns it.
struct recording *library_add(struct library *library, const struct recording *recording);
// NULL: there is none.
struct recording *library_find(const struct library *library, uint64_t id);
void library_forget(struct library *library, uint64_t id);
// Takes over what the disk does not say of clips that `before` had: the changes that were asked for
// while it was read, which are still to be made, and the clock that named a clip.
void library_carry_over(struct library *library, const struct library *before);

// The clips that a question asks for, in its order. The caller g_ptr_array_unref()s the array,
// whose struct recording are borrowed.
GPtrArray *library_list(const struct library *library, const struct record_list *question);
// Counts for a report what it says of clips: their numbers, bytes, and the oldest one.
void library_count(const struct library *library, struct record_state_report *report);
