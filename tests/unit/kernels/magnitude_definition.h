// What a magnitude is by its definition (gradient.h, compose.h), without a square root.
#pragma once

#include <stdbool.h>

// Whether `r`, at most 255, is the square root of `n`, rounded.
static bool is_rounded_root(int r, int n)
{
    if (n == 0) {
        return r == 0;
    }
    return r == 255 ? n > 255 * 255 - 255 : r * r - r < n && n <= r * r + r;
}

// The definition of limited range.
static int luma_of(int magnitude)
{
    return 16 + (219 * magnitude + 127) / 255;
}
