// The x86 versions of suppress.h; see there.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct suppress_row;

bool suppress_has_avx2(void);
void suppress_combine_avx2(const int16_t *restrict sums, const int16_t *restrict differences,
                           size_t blocks, int32_t *restrict gradients, int32_t *restrict peaks);
void suppress_compare_avx2(const struct suppress_row *above, const struct suppress_row *row,
                           const struct suppress_row *below, size_t blocks, int32_t low,
                           int32_t high, uint64_t *restrict candidates, uint64_t *restrict strong);

bool suppress_has_avx512(void);
void suppress_combine_avx512(const int16_t *restrict sums, const int16_t *restrict differences,
                             size_t blocks, int32_t *restrict gradients, int32_t *restrict peaks);
void suppress_compare_avx512(const struct suppress_row *above, const struct suppress_row *row,
                             const struct suppress_row *below, size_t blocks, int32_t low,
                             int32_t high, uint64_t *restrict candidates,
                             uint64_t *restrict strong);
