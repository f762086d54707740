// The x86 makes of magnitude.h. Call them only on a CPU that has the instructions.
#pragma once

#include "kernels/magnitude.h"

bool magnitude_has_avx2(void);   // AVX2 and FMA
bool magnitude_has_avx512(void); // AVX-512 F and BW
magnitude_row magnitude_sobel_avx2, magnitude_sobel_avx512;
magnitude_row magnitude_sobel5_avx2, magnitude_sobel5_avx512;
magnitude_row magnitude_scharr_avx2, magnitude_scharr_avx512;
magnitude_row magnitude_prewitt_avx2, magnitude_prewitt_avx512;
