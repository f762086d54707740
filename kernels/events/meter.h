// The meter: how much moves inside each region of a camera's picture, frame by frame.
//
// A pixel has moved when its gray differs from the frame before by more than the region's
// threshold, after a change of the light on the whole picture is taken out (light.h); what has
// moved is eroded as in the motion view. The pixels left inside the region are counted and bounded
// by a box.
//
// What differs is computed once for regions of equal threshold and for the motion views of that
// threshold that the CPU makes (graph_watch()). It lies there as bits (bits.h), 64 pixels a word,
// so that eroding and counting them costs next to nothing. Frames are only read. Used by the
// graph's thread.
#pragma once

#include "capture/frame.h"
#include "config/config.h"
#include "kernels/mask/region.h"

struct graph;
struct meter;

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

// For frames of `layout`. Settings and pictures are needed during the call alone, the graph
// outlives the meter. -ENOMEM. While there is another meter of the same graph, or a view, that has
// looked at the frame before with a region's threshold, the new one compares with that frame, too.
int meter_new(struct graph *graph, const struct frame_layout *layout,
              const struct watched_region *regions, size_t count, struct meter **ret_meter);
void meter_free(struct meter *meter); // takes NULL

// The frame that graph_begin() began, on the CPU's side, before any view of it is computed.
void meter_begin(struct meter *meter, const struct frame *frame);
// The same frame, on the CPU's side again, behind the views: compares it with the one before. Fills
// in a reading for each region; nothing moves where there was no look at the frame before.
void meter_run(struct meter *meter, const struct frame *frame, struct region_reading *ret_readings);
// How many pixels a region has.
uint32_t meter_pixels(const struct meter *meter, size_t region);
