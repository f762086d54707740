// The x86 makes of magnitude.h. Call them only on a CPU that has the instructions.
#pragma once

#include "kernels/magnitude.h"

bool magnitude_has_avx2(void);   // AVX2 and FMA
bool magnitude_has_avx512(void); // AVX-512 F and BW
magnitude_row magnitude_row_avx2;
magnitude_row magnitude_row_avx512;
