#include "kernels/sobel.h"

#include "kernels/sobel_x86.h"

// What the scratch memory begins with.
struct run {
    _Alignas(64) uint32_t rows; // taken in
};

static const struct sobel_make makes[] = {
#ifdef __x86_64__
    {"avx512", magnitude_has_avx512, SOBEL_NORMS(full, avx512), SOBEL_NORMS(limited, avx512)},
    {"avx2", magnitude_has_avx2, SOBEL_NORMS(full, avx2), SOBEL_NORMS(limited, avx2)},
#endif
    {.name = NULL},
};

const struct sobel_make *sobel_make_at(size_t index)
{
    return makes[index].name ? &makes[index] : NULL;
}

const struct sobel_make *sobel_make_best(void)
{
    const struct sobel_make *make = makes;

    while (make->name && !make->supported()) {
        make++;
    }
    return make->name ? make : NULL;
}

size_t sobel_scratch_bytes(size_t width)
{
    size_t blocks = (width + SOBEL_BLOCK - 1) / SOBEL_BLOCK;

    return sizeof(struct run) + blocks * SOBEL_BLOCK * SOBEL_KEPT * sizeof(int16_t);
}

void sobel_run(sobel_row *write, const uint8_t *const rows[3], size_t width, void *scratch,
               uint8_t *output)
{
    struct run *run = scratch;

    for (unsigned i = run->rows == 0 ? 0 : 2; i < 3; i++) {
        write(rows[i], width, run->rows % 2, run + 1, output);
        run->rows++;
    }
}
