// The x86 versions of sobel.h. Call them only on a CPU that has the instructions.
#pragma once

#include "kernels/gradient/magnitude_x86.h"
#include "kernels/gradient/sobel.h"

#define SOBEL_X86_ROWS(make)                                                                       \
    sobel_rows sobel_l2_full_##make, sobel_l2_limited_##make, sobel_l1_full_##make,                \
        sobel_l1_limited_##make
SOBEL_X86_ROWS(avx2);
SOBEL_X86_ROWS(avx512);

#define SOBEL_NORMS(range, make)                                                                   \
    {                                                                                              \
        [CONFIG_NORM_L2] = sobel_l2_##range##_##make,                                              \
        [CONFIG_NORM_L1] = sobel_l1_##range##_##make,                                              \
    }
