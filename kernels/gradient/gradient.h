// Gradient: magnitude of gray rows by one of four pairs of filters, borders replicated.
//
//   gx is the columns' smoothed sums, differentiated across; gy their differences, smoothed across:
//   sobel    smooth 1 2 1         derive -1 0 1
//   scharr   smooth 3 10 3        derive -1 0 1
//   prewitt  smooth 1 1 1         derive -1 0 1
//   sobel5   smooth 1 4 6 4 1     derive -1 -2 0 2 1
//   l2 = min(255, round(gain * sqrt(gx² + gy²)))  l1 = min(255, round(gain * (|gx| + |gy|)))
//
// in double arithmetic as written, halves rounded to even, which is numpy's
// np.minimum(255, np.rint(gain * np.sqrt(n))) on float64. Gain 1 has its own integer-exact paths.
// Any other gain of l2 is computed in float; where that comes too near to a rounding tie,
// n = gx² + gy² is compared with the smallest n that gives the next result.
#pragma once

#include "config/config.h"
#include "kernels/gradient/magnitude.h"

// No |gx| or |gy| of any operator is larger; sobel5 has 48 * 255, scharr 4080, sobel 1020.
#define GRADIENT_REACH 12240

struct stage_options;

// Of one row: smoothed sums and differences of the columns, from x = -radius to width + radius - 1.
struct gradient_columns {
    const int16_t *sums, *differences;
};

// The gradients of one row.
struct gradient_slopes {
    const int16_t *gx, *gy;
};

struct gradient {
    enum config_operator op;
    enum config_norm norm;
    double gain;
    magnitude_rows *rows;     // gain 1 on a CPU with vectors; else NULL
    uint32_t thresholds[256]; // any other gain of l2
};

// [k] is the smallest n = gx² + gy² (l2) or |gx| + |gy| (l1) whose result is k or more, UINT32_MAX
// if no gradient reaches it.
void gradient_thresholds(enum config_norm norm, double gain, uint32_t ret_thresholds[256]);

// For stages that begin with a gradient. Rows above and below that it looks at.
unsigned gradient_radius(enum config_operator op);
// Operator, norm and gain of the options.
void gradient_set(struct gradient *gradient, const struct stage_options *options);
size_t gradient_scratch_bytes(uint32_t width);
// The columns of one row from 2 * radius + 1 rows of gray. They lie in the scratch memory, as the
// gradients do that are made of them.
struct gradient_columns gradient_find_columns(const struct gradient *gradient,
                                              const uint8_t *const *rows, uint32_t width,
                                              void *scratch);
struct gradient_slopes gradient_find_slopes(const struct gradient *gradient,
                                            struct gradient_columns columns, uint32_t width,
                                            void *scratch);
// The magnitudes of one row by plain loops.
void gradient_measure(const struct gradient *gradient, struct gradient_columns columns,
                      uint32_t width, void *scratch, uint8_t *magnitudes);
