// The outlets of one stream: who gets a frame. No lock; the stream serializes the calls.
#pragma once

#include "daemon/front/outlet.h"

#include <glib.h>

// Embedded; outlets_init() and outlets_finish() are its life.
struct outlets {
    GPtrArray *array; // owned struct outlet
    size_t limit_bytes;
};

void outlets_init(struct outlets *outlets);
void outlets_finish(struct outlets *outlets);

bool outlets_is_empty(const struct outlets *outlets);
// Takes over `outlet`.
void outlets_add(struct outlets *outlets, struct outlet *outlet);
// The outlet that feeds `source`, borrowed; NULL: none does.
struct outlet *outlets_find(const struct outlets *outlets, const GstAppSrc *source);
// The same taken out, for the caller to outlet_free().
struct outlet *outlets_steal(struct outlets *outlets, const GstAppSrc *source);

// Of each, also of those that come later.
void outlets_set_limit(struct outlets *outlets, size_t limit_bytes);

// Some outlet has not got anything yet.
bool outlets_has_unprimed(const struct outlets *outlets);
// The frames that follow do not continue those before, for all.
void outlets_discontinue(struct outlets *outlets);

// Pushes to all. Adds the playing outlets that had no room for it to `*missed`, and returns whether
// one waits for a key frame.
bool outlets_push(struct outlets *outlets, const struct outlet_frame *frame, uint64_t *missed);
// Pushes to those that have not got anything yet.
void outlets_push_unprimed(struct outlets *outlets, const struct outlet_frame *frame);
