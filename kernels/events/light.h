// The change of the light between two frames, and what a pixel that did not move becomes by it.
//
// More light, a longer exposure or a higher gain multiply all gray levels of a picture, a changed
// black level adds to them: current = gain * previous + offset, cut off where the sensor or the
// format ends. Both are estimated from the same pixels of two frames, in a way that a part of the
// picture that moves cannot pull them along:
//
// 1. Samples at the end of the range in either frame (below 20, above 230) say nothing and are left
//    out. The others are put in 8 groups of about as many by their level in the frame before.
// 2. The median of each group's levels before and now is one point of the line. A median stays
//    where it is until half of a group is something else.
// 3. The gain is the median slope of the lines through all pairs of points 8 levels or more apart,
//    the offset the median of current - gain * previous: Theil and Sen's line (P. K. Sen, Estimates
//    of the regression coefficient based on Kendall's tau, JASA 63, 1968), which bears 29 % of
//    wrong points. A picture of hardly more than one level has no such pairs: there the light
//    multiplies.
// 4. It counts only if it explains the frame better than steady light: if the samples, those at the
//    end of the range among them, are nearer to it, by the sum of their distances, of 32 levels at
//    most each. So a lamp that is switched on somewhere in the dark is not the light.
//
// The function from levels before to levels now of which this is the simplest is the comparametric
// equation of S. Mann (Comparametric equations with practical applications in quantigraphic image
// processing, IEEE Trans. Image Processing 9, 2000). All is computed in integers, gain and offset
// in 16 bits behind the point.
#pragma once

#include "kernels/stage/bits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct light {
    int32_t gain, offset; // times 1 << 16
};

// From `count` samples, at most 1 << 20, each of the same pixel in the frame before and now.
// Without a usable estimate the light has not changed: gain 1, offset 0.
struct light light_estimate(const uint8_t *previous, const uint8_t *current, size_t count);

// Fills in between which levels a still pixel must lie: gain * previous + offset, rounded, +-
// `threshold`. Where the range ends (16 and below, 235 and above, before or after the change) a
// level stands for all beyond it, too. False, and nothing filled in, when no level would change by
// more than a quarter of the threshold: the light is steady, and |gray - previous| > threshold is
// motion.
bool light_limits(const struct light *light, unsigned threshold, struct bits_limits *ret_limits);
