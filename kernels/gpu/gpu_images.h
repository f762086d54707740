// The kernels as nvcc made them, one fatbin a .cu, embedded. Empty where edged was built without
// nvcc. The names of an image's kernels begin with the image's own.
#pragma once

#include <stddef.h>

struct gpu_image {
    const char *name;
    const unsigned char *start, *end;
};

// Entry `index`, NULL past the last.
const struct gpu_image *gpu_image_at(size_t index);
