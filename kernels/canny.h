// Canny: thin edges, 255 where an edge is and 0 elsewhere, equal to
// cv2.Canny(gray, low, high, apertureSize=3, L2gradient=True).
//
//   gx, gy: Sobel 3x3, borders replicated (gradient.h); n = gx² + gy², 0 outside the picture
//   low and high are swapped if low > high, limited to 32767, squared and rounded down
//   candidates: n > low, and n is a maximum across the edge (suppress.h)
//   edges: candidates with n > high, and those that hang together with one (hysteresis.h)
#pragma once

#include "kernels/suppress.h"

struct stage_ops;
struct canny_work;

// A row stage that looks first. It works in memory of its own, so that one thread at a time may
// look, which shares the work with a pool's.
struct canny {
    struct canny_work *work; // owned
};

// The thresholds of a configuration (0..) as limits on n. Whatever is above every n becomes
// SUPPRESS_REACH, which no n exceeds.
struct suppress_limits canny_limits(double low, double high);

extern const struct stage_ops canny_ops;
