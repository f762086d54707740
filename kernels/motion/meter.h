// The meter: how much moves inside each region of a camera's picture, frame by frame.
//
// A pixel has moved when its gray differs from the frame before by more than the region's
// threshold, after a change of the light on the whole picture is taken out (light.h); what has
// moved is eroded as in the motion view. The pixels left inside the region are counted and bounded
// by a box.
//
// One pass over the rows that regions need: rows of gray, then of bits (bits.h), 64 pixels a word,
// while they are in the cache. Regions of equal threshold and erosion share the work. The meter
// keeps the gray of the frame before; frames are only read. Used by one thread at a time.
#pragma once

#include "capture/frame.h"
#include "config/config.h"
#include "kernels/mask/region.h"

struct meter;

struct meter_region {
    const struct config_region *settings; // threshold, erode; polygon or none
    const struct region_picture *picture; // what to use instead of the polygon; NULL: none
    bool empty;                           // holds no pixel, whatever the settings say
};

struct meter_reading {
    uint32_t pixels;              // of the region
    uint32_t moving;              // pixels
    uint32_t x, y, width, height; // around those that move, in the frame; 0: none do
};

// For frames of `layout`. Settings and pictures are needed during the call alone. -ENOMEM.
int meter_new(const struct frame_layout *layout, const struct meter_region *regions, size_t count,
              struct meter **ret_meter);
// Goes on in place of `before`, of the same layout, which is left to be freed: frames are compared
// with its last one. Nothing moves in the next frame where a region has pixels that `before` did
// not look at.
void meter_take_over(struct meter *meter, struct meter *before);
void meter_free(struct meter *meter); // takes NULL

// Compares a frame, on the CPU's side, with the one before. Fills in a reading for each region; in
// the first frame nothing moves.
void meter_run(struct meter *meter, const struct frame *frame, struct meter_reading *ret_readings);
// How many pixels a region has.
uint32_t meter_pixels(const struct meter *meter, size_t region);
