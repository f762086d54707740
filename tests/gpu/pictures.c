#include "tests/gpu/pictures.h"

// How a picture lies in memory.
static const struct {
    size_t offset, align, extra; // first byte; stride: a multiple of align, plus extra
} placements[PICTURE_PLACEMENTS] = {
    {0, 64, 0}, {0, 64, 64}, {0, 1, 0}, {3, 64, 0}, {0, 1, 5},
};

static uint32_t random_next(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

void picture_draw(struct frame *frame, uint32_t seed)
{
    for (size_t i = 0; i < frame->layout.size; i++) {
        uint32_t value = random_next(&seed);

        switch (i / 4096 % 3) {
        case 0:
            frame->data[i] = (uint8_t)value;
            break;
        case 1:
            frame->data[i] = value & 1 ? 255 : 0;
            break;
        default:
            frame->data[i] = (uint8_t)(i / 5 + (value & 3));
        }
    }
}

int picture_init(struct picture *picture, const char *format, uint32_t width, uint32_t height,
                 size_t placement, const struct frame_allocator *allocator)
{
    struct frame_layout layout;
    int r;

    frame_layout_init(&layout, pixel_format_by_name(format), width, height,
                      placements[placement].align);
    layout.size = placements[placement].offset;
    for (unsigned i = 0; i < layout.format->plane_count; i++) {
        layout.planes[i].offset = layout.size;
        layout.planes[i].stride += placements[placement].extra;
        layout.size += layout.planes[i].stride * layout.planes[i].rows;
    }
    r = frame_pool_new(&layout, 1, allocator, &picture->pool);
    if (r == 0) {
        picture->frame = frame_pool_take(picture->pool);
        picture_draw(picture->frame, width * 31 + height);
    }
    return r;
}

void picture_finish(struct picture *picture)
{
    frame_unref(picture->frame);
    frame_pool_unref(picture->pool);
}
