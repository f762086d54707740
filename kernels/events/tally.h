// The tally of a region: which pixels it has, and how many of them move in a frame, and where.
#pragma once

#include "config/config.h"
#include "kernels/mask/region.h"

// A region to be watched.
struct watched_region {
    const struct config_region *settings; // threshold, erode; polygon or none
    const struct region_picture *picture; // what to use instead of the polygon; NULL: none
    bool empty;                           // holds no pixel, whatever the settings say
};

struct region_reading {
    uint32_t pixels;              // of the region
    uint32_t moving;              // pixels
    uint32_t x, y, width, height; // around those that move, in the frame; 0: none do
};

struct tally {
    size_t words;         // of a row
    uint32_t top, bottom; // the first of its rows and the one behind the last; equal: it has none
    size_t left, right;   // words, likewise
    uint64_t *mask;       // owned; all rows of the picture
    uint64_t *columns;    // owned; a row: where something moves in any row so far
    uint32_t pixels, moving, first, end; // first..end-1: the rows in which something moves
};

// For pictures of `width` x `height`. The region is needed during the call alone. -ENOMEM: there is
// still something to finish.
int tally_init(struct tally *tally, const struct watched_region *region, uint32_t width,
               uint32_t height);
void tally_finish(struct tally *tally); // takes zeroed ones

// Row `y` of a frame, from the top down: `bits` (bits.h) that are set have moved.
void tally_add_row(struct tally *tally, uint32_t y, const uint64_t *bits);
// What there was in all rows of the frame; the next one begins.
struct region_reading tally_read(struct tally *tally);
