// The meter: how much moves inside each region of a camera's picture, in looks at its cells.
//
// A look compares cells (cells.h), of which a picture has at most 160 x 90, with a reference that
// follows them in two seconds. So the measure is one of time: neither the camera's rate nor its
// resolution changes it. There are ten looks a second, or one a frame of slower cameras. With T for
// a region's threshold, C for a cell now and R for the reference:
//
// 1. A cell has changed if |C - R| > T. It is certain if it is outside the range that its 3x3
//    neighbours have in R by more than T, too: what sways by a cell stays inside.
// 2. It has another structure than R if its step to one of its four neighbours differs from that
//    step in R, and from the same in another light, by more than T / 2. A lamp, the shadow of a
//    cloud and the bands of a flickering tube change levels and keep structure; whoever comes
//    covers it. Light may cut off white cells (above 200). So one that is darker beside its
//    neighbour than it should be has no other structure if it is white and has become brighter, or
//    if the neighbour was white and has become darker.
// 3. Changed cells that touch, by a side or a corner, are a group. It moves if at least
//    (2 erode + 1)^2 - 1 of its cells are certain, and as many as an outline has are of another
//    structure: s of n cells with s (s + 1) >= 2 n.
// 4. A region's share is that of its cells that are in a moving group, or at most 4 cells from one
//    of the region's own that is. Without that rim a person far away would be too small a share.
// 5. Cells that never rest get used to: each has an unrest, which follows |C - R|, in 12 s where
//    that is more and in 20 s where it is less. Twice of it is added to T, at most T. So leaves in
//    the wind are no motion after some seconds, and people on a busy path still are.
// 6. Where more than two fifths of the picture differ from R by more than half of the lowest
//    threshold, the light or the camera's exposure has changed. The look tells nothing, and the
//    picture becomes the reference. If an eighth of all cells have another structure, in two looks
//    one after the other, it is a motion that fills the picture, and is measured.
//
// All is computed in integers, levels in 1/256. Used by one thread.
#pragma once

#include "kernels/cells/cells.h"
#include "kernels/mask/region.h"

struct meter;

// A region to be watched.
struct watched_region {
    const struct config_region *settings; // threshold, erode; polygon or none
    const struct region_picture *picture; // what to use instead of the polygon; NULL: none
    bool empty;                           // holds no pixel, whatever the settings say
};

struct region_reading {
    uint32_t cells;               // of the region: those whose middle it holds
    uint32_t moving;              // cells that move, and those of their rim
    uint32_t x, y, width, height; // pixels of the frame around those that move; 0: none do
};

// For frames of `width` x `height` pixels, without regions. -ENOMEM.
int meter_new(uint32_t width, uint32_t height, struct meter **ret_meter);
void meter_free(struct meter *meter); // takes NULL
// Measures these regions from the next look on; the reference stays. Settings and pictures are
// needed during the call alone. After -ENOMEM there are no regions.
int meter_set_regions(struct meter *meter, const struct watched_region *regions, size_t count);
// How many cells a region has.
uint32_t meter_cells(const struct meter *meter, size_t region);

// Whether it is time to look at a frame of that pts.
bool meter_is_due(const struct meter *meter, int64_t pts_ns);
// Looks at a frame; `means` are its cells, row after row. Fills in a reading for each region.
// False: the look tells nothing, because it is the first or the first after five seconds without
// one, the frame is older than the one before, or the light has changed.
bool meter_look(struct meter *meter, int64_t pts_ns, const uint8_t *means,
                struct region_reading *ret_readings);
