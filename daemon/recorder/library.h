// The list of all clips in memory, by growing id. Main loop only.
#pragma once

#include "daemon/recorder/recording.h"

#include <glib.h>

struct library {
    GPtrArray *clips; // owned, of struct recording
    uint64_t next_id;
};

void library_init(struct library *library);
void library_finish(struct library *library);

// Adds a copy of `recording` with the next id, and returns it; the library owns it.
struct recording *library_add(struct library *library, const struct recording *recording);
// NULL: there is none.
struct recording *library_find(const struct library *library, uint64_t id);
void library_forget(struct library *library, uint64_t id);

// The clips that a question asks for, the newest first. The caller g_ptr_array_unref()s the array,
// whose struct recording are borrowed.
GPtrArray *library_list(const struct library *library, const struct record_list *question);
// Counts for a report, of which it sets `clips`, `open_clips`, `kept_clips` and `clip_bytes`.
void library_count(const struct library *library, struct record_state_report *report);
