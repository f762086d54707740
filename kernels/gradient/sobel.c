#include "kernels/gradient/sobel.h"

#include "kernels/gradient/sobel_x86.h"

static const struct sobel_version versions[] = {
#ifdef __x86_64__
    {"avx512", magnitude_has_avx512, SOBEL_NORMS(full, avx512), SOBEL_NORMS(limited, avx512)},
    {"avx2", magnitude_has_avx2, SOBEL_NORMS(full, avx2), SOBEL_NORMS(limited, avx2)},
#endif
    {.name = NULL},
};

const struct sobel_version *sobel_version_at(size_t index)
{
    return versions[index].name ? &versions[index] : NULL;
}

const struct sobel_version *sobel_version_best(void)
{
    const struct sobel_version *version = versions;

    while (version->name && !version->supported()) {
        version++;
    }
    return version->name ? version : NULL;
}
