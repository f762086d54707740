// Lowers a view's rate, its size, or both in the configured order, while its encoder is slower than
// the camera, so that frames do not wait. Encoders on the CPU, which are slow on small boards,
// begin with their fastest preset, so nothing can be gained there.
//
// A queue that was not empty for 300 ms is taken as proof that the encoder is too slow, and the
// next level is tried. Back it goes when frames took so little time for 2 s that the level before
// would have left the encoder busy for at most 85 % of it. All times are the caller's.
#pragma once

#include "config/config.h"

#include <stdbool.h>
#include <stdint.h>

struct governor_level {
    unsigned rate_divisor; // every so many frames one is encoded
    unsigned size_divisor; // of width and height
    const char *text;      // "rate 1/2"; "": nothing is given up
};

// Embedded; guarded by its owner.
struct governor {
    enum config_governor order;
    unsigned level;
    unsigned skipped;    // frames since one was taken
    int64_t standing_ns; // since when the queue was not empty; 0: it is
    int64_t window_ns;   // when the window began in which busy_ns is measured; 0: none yet
    int64_t busy_ns;
};

void governor_init(struct governor *governor, enum config_governor order);
// The encoder was busy with a frame for so long.
void governor_note(struct governor *governor, int64_t busy_ns);
// A frame comes at `now_ns` while others wait, or none. Returns whether the level went down, so
// that those that wait are too old.
bool governor_look(struct governor *governor, bool waiting, int64_t now_ns);
// Whether this frame is one to be encoded. A key frame always is.
bool governor_takes(struct governor *governor, bool key_frame);
const struct governor_level *governor_level(const struct governor *governor);
