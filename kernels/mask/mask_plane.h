// The part of the picture that a view is limited to, as a plane of 255 inside and 0 outside.
//
// Made once for a size and never changed, shared by all that hold a reference. Any thread may look
// at it; references are taken and dropped by one thread at a time.
#pragma once

#include "kernels/mask/region.h"

// Rows begin at multiples of it; what is behind the pixels is 0.
#define MASK_PLANE_ALIGN 128

struct mask_plane {
    unsigned references;
    uint32_t width, height; // pixels, 1 and up
    size_t stride;          // bytes, a multiple of MASK_PLANE_ALIGN
    uint8_t bytes[] __attribute__((aligned(MASK_PLANE_ALIGN))); // stride * height
};

// Reads a picture that says where a view looks. The caller frees ret_picture->gray. Negative errno
// with the file's name in `error`.
typedef int mask_read(void *context, const char *path, struct error *error,
                      struct region_picture *ret_picture);

// The area of pictures `width` x `height` that polygon or mask of `view`, which has one, enclose,
// by region.h; `read` reads the mask, NULL: it has a polygon. Errors of read(), -ENOMEM. The caller
// owns the first reference.
int mask_plane_new(const struct config_view *view, uint32_t width, uint32_t height, mask_read *read,
                   void *context, struct error *error, struct mask_plane **ret_plane);
struct mask_plane *mask_plane_ref(struct mask_plane *plane);
void mask_plane_unref(struct mask_plane *plane); // takes NULL

// Whether they have the same size and pixels.
bool mask_plane_equal(const struct mask_plane *a, const struct mask_plane *b);

static inline const uint8_t *mask_plane_row(const struct mask_plane *plane, uint32_t y)
{
    return plane->bytes + y * plane->stride;
}
