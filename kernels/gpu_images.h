// The kernels as nvcc made them, one fatbin a .cu, embedded. Empty where edged was built without
// nvcc.
#pragma once

#include <stddef.h>

struct gpu_image {
    const unsigned char *start, *end;
};

// Entry `index`, NULL past the last.
const struct gpu_image *gpu_image_at(size_t index);
