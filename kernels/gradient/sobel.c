#include "kernels/gradient/sobel.h"

#include "kernels/gradient/sobel_x86.h"

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
