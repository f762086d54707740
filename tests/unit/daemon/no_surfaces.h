// A machine without NVMM, played for one test program: the functions of kernels/gpu/gpu_surfaces.h,
// and what its views say of them.
#pragma once

#include "kernels/gpu/gpu_surfaces.h"
#include "kernels/graph/view.h"

#include <errno.h>
#include <stdatomic.h>

static atomic_int surfaces_asked; // how often

int gpu_surfaces_new(struct gpu *gpu, struct error *error, struct gpu_surfaces **ret_surfaces)
{
    (void)gpu, (void)ret_surfaces;
    surfaces_asked++;
    return error_set(error, -ENODEV, "no such library");
}

void gpu_surfaces_free(struct gpu_surfaces *surfaces)
{
    (void)surfaces;
}

const struct frame_allocator *gpu_surfaces_allocator(const struct gpu_surfaces *surfaces)
{
    (void)surfaces;
    return NULL;
}

bool gpu_surfaces_take_failure(struct gpu_surfaces *surfaces, struct error *ret_why)
{
    (void)surfaces, (void)ret_why;
    return false;
}

bool view_makes_surfaces(const struct view *view)
{
    (void)view;
    return false;
}
