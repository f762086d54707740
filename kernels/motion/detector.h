// A detector of motion: rows of gray of two frames to rows of bits that have moved, eroded.
//
// It works in a window of the picture and streams: rows go in from the top to the bottom, and come
// out `erode` rows later, when their neighbours below are known. What lies outside the picture
// never takes a pixel away; so it is outside the window, too, which is why a window has a rim
// around the pixels that matter.
#pragma once

#include "kernels/mask/bits.h"

#include <stdbool.h>
#include <stdint.h>

// A part of a picture: rows, and columns in words of 64.
struct detector_window {
    uint32_t top, bottom; // the first row and the one behind the last; equal: an empty window
    size_t left, right;   // words, likewise
};

struct detector {
    unsigned threshold, erode;
    size_t words, width; // of a row of the picture
    struct detector_window window;
    bool steady;               // the light; else the limits hold
    struct bits_limits limits; // of this frame
    uint64_t *ring;            // owned; 2 * erode + 1 rows, eroded along themselves
    uint64_t *row;             // owned; the row that came out
    uint32_t pushed, next;     // rows: how far pictures went in, the next to come out
};

// Makes `window` hold all of `other`, too.
void detector_window_grow(struct detector_window *window, const struct detector_window *other);

// For pictures of `width` x `height`; threshold, erode and the window of the pixels that matter are
// set. -ENOMEM.
int detector_prepare(struct detector *detector, size_t width, uint32_t height);
void detector_finish(struct detector *detector);

// Begins a frame. `limits` in changed light; NULL: |gray - previous| > threshold has moved.
void detector_begin(struct detector *detector, const struct bits_limits *limits);
// Row `y`, the next of the window or one outside it, of both frames, in full.
void detector_push(struct detector *detector, uint32_t y, const uint8_t *gray,
                   const uint8_t *previous);
// Computes the next row that is complete into `row`; false: there is none before the next push.
bool detector_next(struct detector *detector, uint32_t *ret_y);
