// Row stage that scans: 255 where a gray pixel differs from the one of the frame before by more
// than the threshold, else 0: |gray - previous gray| > threshold. The first frame has none before
// it and differs nowhere. With an automatic threshold, |gray - previous gray| itself.
//
// The scan compares all rows with those of the frame before and keeps them in their place. What
// differs lies in a plane of one bit a pixel (bits.h), which the stage's rows and motion events
// read. A row that was not compared in the frame before has none before it.
//
// Motion events do not want to take other light for motion: while it changes the scan makes a
// second plane for them, of pixels that leave limits.
#pragma once

#include "kernels/stage/gpu_stage.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bits_limits;
struct stage;

// Rows first..end-1 are not scanned in a frame, for motion events where no view scans: in the
// next one they have none before them.
void difference_skip(const struct stage *stage, uint32_t first, uint32_t end);

// Makes room for the plane of motion events. -ENOMEM.
int difference_watch(const struct stage *stage);
// From the next scan on the events' bits are those of pixels that leave the limits, which are
// copied; NULL: those of the stage's rows. That changes nothing about the rows.
void difference_set_limits(const struct stage *stage, const struct bits_limits *limits);
// What `times` erosions of 3x3 leave of row `y` of the last scan's bits, or of the events' bits,
// into `row`. What lies outside the picture counts as set. Returns false, and may have written
// anything, if that is nothing.
bool difference_erode(const struct stage *stage, bool events, uint32_t y, unsigned times,
                      uint64_t *row);

// The difference from the frame before on the GPU: the gray of two frames, which point.cu and
// motion.cu read and write.

// The gray of two frames; the older one is overwritten.
struct difference_gpu {
    struct gpu_plane gray[2]; // the stage's; of this frame and the one before
    unsigned current;         // number of the newer one
    bool any;                 // there was a frame since difference_gpu_forget()
};

// Errors of gpu_plane_init().
int difference_gpu_init(struct difference_gpu *difference, struct gpu_stage *stage,
                        const struct gpu_stage_setup *setup, struct error *error);
// The next frame is the first again.
void difference_gpu_forget(struct difference_gpu *difference);
// Begins a frame: returns where its gray is to be written, and where the gray of the frame before
// is, 0 for the first.
void difference_gpu_next(struct difference_gpu *difference, uint64_t *ret_current,
                         uint64_t *ret_previous);
