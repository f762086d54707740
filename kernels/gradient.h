// Gradient: Sobel 3x3 magnitude of gray rows, borders replicated.
//
//   gx = (tr + 2 mr + br) - (tl + 2 ml + bl)      gy = (bl + 2 bm + br) - (tl + 2 tm + tr)
//   l2 = min(255, round(gain * sqrt(gx² + gy²)))  l1 = min(255, round(gain * (|gx| + |gy|)))
//
// in double arithmetic as written, halves rounded to even, which is numpy's
// np.minimum(255, np.rint(gain * np.sqrt(n))) on float64. Gain 1 has its own integer-exact paths;
// any other gain looks the result up in a table over gx² + gy² or |gx| + |gy|.
#pragma once

#include "config/config.h"
#include "kernels/magnitude.h"

// |gx| and |gy| are at most 4 * 255.
#define GRADIENT_REACH 1020

struct stage_ops;

struct gradient {
    enum config_norm norm;
    magnitude_row *magnitude; // gain 1; NULL: the table
    uint8_t *table;           // owned; results for n = 0..table_last
    uint32_t table_last;      // from here on the result is the same for every n
};

// The definition: the result for n = gx² + gy² (l2) or |gx| + |gy| (l1). Monotone in n.
uint8_t gradient_result(enum config_norm norm, double gain, uint32_t n);

extern const struct stage_ops gradient_ops;
