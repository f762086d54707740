// JPEGs of a view as the camera process makes them: only while somebody waits for one, and one for
// all who do. The newest of each size is kept until 2 s after nobody wants any. Main loop only.
#pragma once

#include "daemon/link/messages.h"

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// One JPEG; counted by reference, and never changed.
struct still {
    int references;
    int64_t captured_ns; // CLOCK_MONOTONIC
    const uint8_t *bytes;
    size_t size;
    void *memory; // owned: what the bytes lie in
};

struct still *still_ref(struct still *still);
void still_unref(struct still *still); // takes NULL

// Somebody who waits for a JPEG. Embedded in its owner.
struct still_waiter {
    struct stills *stills; // NULL: it does not wait
    unsigned scale;        // one below LINK_SCALES
    int64_t after_ns;      // captured later than that
    // It waits no more, and `still` is what it waited for; borrowed. May begin to wait again, or
    // end this waiter and others.
    void (*ready)(void *context, struct still *still);
    void *context;
    struct still_waiter *previous, *following;
};

// Embedded in its stream.
struct stills {
    // Called when the camera process may have to be asked, and every 2 s while somebody waits.
    void (*wanted)(void *context);
    void *context;
    struct still *newest[LINK_SCALES]; // references; NULL: none
    struct still_waiter *waiters;      // a list
    struct still_waiter *visiting;     // the next one to look at, while one came
    int64_t wanted_ns;                 // when somebody began to wait last
    guint timer; // GLib source id: asks again, or drops the newest; 0: nobody waits, none is kept
    uint64_t count; // that came
};

void stills_init(struct stills *stills, void (*wanted)(void *context), void *context);
// Nobody waits any more.
void stills_finish(struct stills *stills);
// The camera process is gone: what was kept is no picture of now.
void stills_drop(struct stills *stills);

// Begins to wait; `scale`, `after_ns`, `ready` and `context` of the waiter are filled in. Stills
// that are kept do not count.
void stills_wait(struct stills *stills, struct still_waiter *waiter);
// Ends it. Takes one that does not wait.
void stills_leave(struct still_waiter *waiter);
// The sizes that somebody waits for, a bit for each scale.
unsigned stills_wanted(const struct stills *stills);
// The newest that was captured later than `after_ns`; borrowed. NULL: there is none.
struct still *stills_newest(const struct stills *stills, unsigned scale, int64_t after_ns);

// Takes over `payload` (malloc'd, `size` bytes, a struct link_jpeg followed by a JPEG).
// *ret_scale is what it says. -EBADMSG: no such thing; -ENOMEM.
int stills_take(struct stills *stills, uint8_t *payload, size_t size, unsigned *ret_scale);
