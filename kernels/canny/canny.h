// Canny: thin edges, 255 where an edge is and 0 elsewhere, equal to
// cv2.Canny(gray, low, high, apertureSize=3, L2gradient=True).
//
//   gx, gy: Sobel 3x3, borders replicated (gradient.h); n = gx² + gy², 0 outside the picture
//   low and high are swapped if low > high, limited to 32767, squared and rounded down
//   candidates: n > low, and n is a maximum across the edge (suppress.h)
//   edges: candidates with n > high, and those connected to one (hysteresis.h)
//
// Thresholds by the median of the frame follow A. Rosebrock's auto_canny() ("Zero-parameter,
// automatic Canny edge detection with Python and OpenCV", 2015) with its sigma of 0.33, in exact
// arithmetic instead of its floats: with v the median of all gray pixels, of an even number the
// mean of the two in the middle (np.median),
//   low = floor(0.67 v) = 67 (2 v) / 200    high = min(255, floor(1.33 v)) = 133 (2 v) / 200
#pragma once

#include "kernels/canny/suppress.h"

// The thresholds of a configuration (0..) as limits on n. Whatever is above every n becomes
// SUPPRESS_REACH, which no n exceeds.
struct suppress_limits canny_limits(double low, double high);
// The limits of a picture with so many pixels of each gray level, at least one in all, by their
// median.
struct suppress_limits canny_limits_by_median(const uint32_t histogram[256]);
