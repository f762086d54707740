// The frames inside an encoder's element, by the running time that they were pushed with: an access
// unit that comes out finds the times of its frame here.
#pragma once

#include "daemon/link/messages.h"

#include <stdbool.h>

#define ENCODER_LIVES_MAX 32

// Embedded; starts out empty ({0}). Guarded by its owner.
struct encoder_lives {
    struct link_access_unit lives[ENCODER_LIVES_MAX]; // ring, oldest at `first`
    int64_t pts_ns[ENCODER_LIVES_MAX];
    unsigned first, count;
};

// A frame goes in; when there are too many, the oldest is forgotten.
void encoder_lives_begin(struct encoder_lives *lives, const struct link_access_unit *life,
                         int64_t pts_ns);
// Finds the times of the frame that was pushed with `pts_ns`. Those before it were dropped by the
// element. False: there is none.
bool encoder_lives_end(struct encoder_lives *lives, int64_t pts_ns,
                       struct link_access_unit *ret_life);
