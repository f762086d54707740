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

void picture_draw_spiral(struct frame *frame, uint32_t pitch, uint32_t seed)
{
    const int steps[][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}}, gap = (int)pitch;
    int x = 0, y = gap, width = (int)frame->layout.planes[0].width_bytes;
    int lengths[] = {width - 1 - gap, (int)frame->layout.height - 1 - 2 * gap};
    uint8_t *start = NULL, *end = NULL;

    for (uint32_t row = 0; row < frame->layout.height; row++)
        memset(row_of(frame, 0, row), 0, (size_t)width);
    for (int leg = 0; lengths[leg % 2] > gap; leg++) {
        for (int i = 0; i < lengths[leg % 2]; i++) {
            x += steps[leg % 4][0];
            y += steps[leg % 4][1];
            end = row_of(frame, 0, (uint32_t)y) + x;
            start = start ? start : end;
            *end = 60;
        }
        lengths[leg % 2] -= leg > 0 ? gap : 0;
    }
    if (start)
        *(seed % 2 ? end : start) = 255;
}

static void draw_disc(struct frame *frame, uint32_t *state)
{
    int64_t width = frame->layout.planes[0].width_bytes, height = frame->layout.height;
    int64_t x = random_next(state) % width, y = random_next(state) % height;
    int64_t rim = 1 + random_next(state) % 6, radius = rim + random_next(state) % (1 + height / 8);
    int value = (int)(random_next(state) % 256);

    for (int64_t v = y > radius ? y - radius : 0; v < height && v <= y + radius; v++) {
        uint8_t *row = row_of(frame, 0, (uint32_t)v);

        for (int64_t u = x > radius ? x - radius : 0; u < width && u <= x + radius; u++) {
            // Of the square of the distance to the rim: 0 there, 2 radius a pixel inside it.
            int64_t inside = radius * radius - (u - x) * (u - x) - (v - y) * (v - y);
            int64_t share = inside / (2 * radius * rim / 16 + 1);

            if (inside > 0)
                row[u] = (uint8_t)(row[u] + (value - row[u]) * (share > 16 ? 16 : share) / 16);
        }
    }
}

void picture_draw_discs(struct frame *frame, uint32_t seed)
{
    uint32_t width = frame->layout.planes[0].width_bytes;

    for (uint32_t y = 0; y < frame->layout.height; y++) {
        for (uint32_t x = 0; x < width; x++)
            row_of(frame, 0, y)[x] = (uint8_t)(60 + 100 * (uint64_t)x / width);
    }
    for (unsigned i = 0; i < 120; i++)
        draw_disc(frame, &seed);
    for (uint32_t y = 0; y < frame->layout.height; y++) {
        for (uint32_t x = 0; x < width; x++) {
            uint8_t *pixel = &row_of(frame, 0, y)[x];

            *pixel = (uint8_t)(*pixel < 4 ? 4 : *pixel > 251 ? 251 : *pixel);
            *pixel = (uint8_t)(*pixel + random_next(&seed) % 5 - 2);
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
