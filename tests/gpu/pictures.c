#include "tests/gpu/pictures.h"

#include <string.h>

// How a picture lies in memory.
static const struct {
    size_t offset, align, extra; // first byte; stride: a multiple of align, plus extra
} placements[PICTURE_PLACEMENTS] = {
    {0, 64, 0}, {0, 64, 64}, {0, 1, 0}, {3, 64, 0}, {0, 1, 5},
};

void picture_layout(struct frame_layout *layout, const char *format, uint32_t width,
                    uint32_t height, size_t placement)
{
    frame_layout_init(layout, pixel_format_by_name(format), width, height,
                      placements[placement].align);
    layout->size = placements[placement].offset;
    for (unsigned i = 0; i < layout->format->plane_count; i++) {
        layout->planes[i].offset = layout->size;
        layout->planes[i].stride += placements[placement].extra;
        layout->size += layout->planes[i].stride * layout->planes[i].rows;
    }
}

int picture_init(struct picture *picture, const char *format, uint32_t width, uint32_t height,
                 size_t placement, const struct frame_allocator *allocator)
{
    struct frame_layout layout;
    int r;

    picture_layout(&layout, format, width, height, placement);
    r = frame_pool_new(&layout, 1, allocator, &picture->pool);
    if (r == 0) {
        picture->frame = frame_pool_take(picture->pool);
        memset(picture->frame->data, 0xee, layout.size);
    }
    return r;
}

void picture_finish(struct picture *picture)
{
    frame_unref(picture->frame);
    frame_pool_unref(picture->pool);
    *picture = (struct picture){0};
}

static uint32_t random_next(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static uint8_t *row_of(const struct frame *frame, unsigned plane, uint32_t y)
{
    return frame_plane(frame, plane) + y * frame->layout.planes[plane].stride;
}

void picture_draw(struct frame *frame, uint32_t seed)
{
    size_t count = 0;

    for (unsigned plane = 0; plane < frame->layout.format->plane_count; plane++) {
        for (uint32_t y = 0; y < frame->layout.planes[plane].rows; y++) {
            uint8_t *row = row_of(frame, plane, y);

            for (uint32_t x = 0; x < frame->layout.planes[plane].width_bytes; x++, count++) {
                uint32_t value = random_next(&seed);
                uint8_t kinds[] = {(uint8_t)value, value & 1 ? 255 : 0,
                                   (uint8_t)(count / 5 + (value & 3))};

                row[x] = kinds[count / 4096 % 3];
            }
        }
    }
}

void picture_copy(struct frame *to, const struct frame *from)
{
    for (unsigned plane = 0; plane < from->layout.format->plane_count; plane++) {
        for (uint32_t y = 0; y < from->layout.planes[plane].rows; y++) {
            memcpy(row_of(to, plane, y), row_of(from, plane, y),
                   from->layout.planes[plane].width_bytes);
        }
    }
}
