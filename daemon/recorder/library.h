// All clips: the list in memory, the index on the disk, and which clips go when there are too many.
//
// `index.jsonl` has a line of JSON for each clip, which only saves opening every clip at a start.
// If index and folder differ, the folder is right: a clip that the index lacks is read and added, a
// line whose file is gone is dropped, and the files say how large a clip and its picture are, and
// whether it is kept. The first line of the index has a mark that identifies the folder, and
// the next id, so that ids grow even if the newest clips were deleted. An index that is missing, or
// that cannot be written, costs a start time and nothing else.
//
// Clips of RECORD_ALWAYS that show no event go first, then the others; both in the order of their
// ids, so a clock that jumps changes nothing. A clip that is kept or open never goes. A clip that
// began while the clock could not be trusted counts as too old once a clip after it does.
//
// library_load(), library_note() and library_write_index() touch the disk and are for the disk
// thread alone; all else is the main loop's.
#pragma once

#include "daemon/recorder/storage.h"

#include <glib.h>

#define LIBRARY_MARK_SIZE 40
// Free space reserved for finishing open clips.
#define LIBRARY_FREE_MIN (16u << 20)
// The default free space is a tenth of the file system, and at least this much.
#define LIBRARY_FREE_USUAL UINT64_C(1000000000)
// No clip counts as too old for this time after a synchronized clock has jumped, or after a start
// that found all of them too old.
#define LIBRARY_JUMP_NS (86400 * INT64_C(1000000000))

// Tells one folder from another: by its mark, or, if its index is gone, by its file system.
struct library_folder {
    char mark[LIBRARY_MARK_SIZE]; // no other folder has it; "": none was loaded
    dev_t device;
};

struct library {
    GPtrArray *clips; // owned, of struct recording, by growing id
    uint64_t next_id;
    struct library_folder folder;
    unsigned lines;     // of clips, in the index on the disk
    int index_result;   // of writing the index last: 0 or a negative errno
    unsigned recovered; // clips that a crash had left open, and that are finished now
    unsigned ignored;   // files that are named like a clip's and are none, or copies
};

void library_init(struct library *library);
void library_finish(struct library *library); // takes zeros

// Reads the index and the folder, finishes clips that were left open, and writes the index again if
// it was not right; one that cannot be written is no error, see `index_result`. `before` is the
// folder that was open before, or zeros for the first; another one is refused with -ESTALE. Other
// errors are what the file system says, with a sentence in `error`.
int library_load(struct storage *storage, const struct library_folder *before, struct error *error,
                 struct library *ret_library);
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

// The state of the disk and the clock that a choice is made for.
struct library_facts {
    uint64_t free_bytes, total_bytes; // of the file system
    int64_t wall_ns;                  // 0: the clock is not good
    // At a start less than LIBRARY_JUMP_NS ago: when the newest clip of then had ended;
    // INT64_MAX: the start is longer ago.
    int64_t found_ns;
};

// When the newest clip ended; 0: there is none, or the clock was never good.
int64_t library_newest(const struct library *library);
// The clips to be deleted, in that order, as library_list() gives them. *ret_missing_bytes is how
// far below min_free the free space stays even after that.
GPtrArray *library_choose(const struct library *library, const struct record_storage *limits,
                          const struct library_facts *facts, uint64_t *ret_missing_bytes);

// Finds out whether the clock of day can be trusted with the age of clips. Begins with zeros.
struct library_clock {
    int64_t offset_ns; // between CLOCK_REALTIME and CLOCK_MONOTONIC
    bool was_synchronized;
    int64_t jumped_ns; // by CLOCK_MONOTONIC; 0: never
};

// To be called once a second. `synchronized`: adjtimex() says that the clock follows another one.
void library_clock_look(struct library_clock *clock, int64_t now_ns, int64_t wall_ns,
                        bool synchronized);
bool library_clock_is_good(const struct library_clock *clock, int64_t now_ns);
