// The x86 versions of magnitude.h. Call them only on a CPU that has the instructions.
#pragma once

#include "kernels/gradient/magnitude.h"

bool magnitude_has_avx2(void);   // AVX2 and FMA
bool magnitude_has_avx512(void); // AVX-512 F and BW

#define MAGNITUDE_X86_ROWS(operator, make)                                                         \
    magnitude_row magnitude_l2_full_##operator##_##make, magnitude_l2_limited_##operator##_##make; \
    magnitude_row magnitude_l1_full_##operator##_##make, magnitude_l1_limited_##operator##_##make
#define MAGNITUDE_X86_OPERATORS(make)                                                              \
    MAGNITUDE_X86_ROWS(sobel, make);                                                               \
    MAGNITUDE_X86_ROWS(sobel5, make);                                                              \
    MAGNITUDE_X86_ROWS(scharr, make);                                                              \
    MAGNITUDE_X86_ROWS(prewitt, make)

MAGNITUDE_X86_OPERATORS(avx2);
MAGNITUDE_X86_OPERATORS(avx512);
