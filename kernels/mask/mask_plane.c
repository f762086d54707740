#include "kernels/mask/mask_plane.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static void spread_bits(const uint64_t *bits, uint32_t width, uint8_t *row)
{
    for (uint32_t x = 0; x < width; x++)
        row[x] = bits[x / BITS_WORD] >> x % BITS_WORD & 1 ? 255 : 0;
}

static void draw(struct mask_plane *plane, const struct config_view *view,
                 const struct region_picture *picture, uint64_t *bits)
{
    for (uint32_t y = 0; y < plane->height; y++) {
        if (view->polygon_count > 0) {
            region_draw_polygon(view->polygon, view->polygon_count, plane->width, plane->height, y,
                                bits);
        } else {
            region_draw_picture(picture, plane->width, plane->height, y, bits);
        }
        spread_bits(bits, plane->width, plane->bytes + y * plane->stride);
    }
}

static struct mask_plane *new_plane(uint32_t width, uint32_t height)
{
    size_t stride = ((size_t)width + MASK_PLANE_ALIGN - 1) / MASK_PLANE_ALIGN * MASK_PLANE_ALIGN;
    size_t size = sizeof(struct mask_plane) + stride * height;
    struct mask_plane *plane = aligned_alloc(MASK_PLANE_ALIGN, size);

    if (plane) {
        memset(plane, 0, size);
        plane->references = 1;
        plane->width = width;
        plane->height = height;
        plane->stride = stride;
    }
    return plane;
}

int mask_plane_new(const struct config_view *view, uint32_t width, uint32_t height, mask_read *read,
                   void *context, struct error *error, struct mask_plane **ret_plane)
{
    _cleanup_(cleanup_free) uint64_t *bits = calloc(bits_words(width), sizeof *bits);
    struct region_picture picture = {.gray = NULL};
    struct mask_plane *plane = NULL;
    int r = 0;

    assert(view->polygon_count > 0 || read);
    if (view->polygon_count == 0)
        r = read(context, view->mask, error, &picture);
    if (r == 0) {
        plane = new_plane(width, height);
        r = bits && plane ? 0 : error_set(error, -ENOMEM, "no memory for a view's mask");
    }
    if (r == 0) {
        draw(plane, view, &picture, bits);
        *ret_plane = TAKE(plane);
    }
    free(plane);
    free((uint8_t *)picture.gray);
    return r;
}

struct mask_plane *mask_plane_ref(struct mask_plane *plane)
{
    plane->references++;
    return plane;
}

void mask_plane_unref(struct mask_plane *plane)
{
    if (plane && --plane->references == 0)
        free(plane);
}

bool mask_plane_equal(const struct mask_plane *a, const struct mask_plane *b)
{
    return a->width == b->width && a->height == b->height &&
           memcmp(a->bytes, b->bytes, a->stride * a->height) == 0;
}
