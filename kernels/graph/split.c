#include "kernels/graph/split.h"

#include "kernels/convert/colour.h"

#include <errno.h>
#include <string.h>

static uint8_t *row_of(const struct frame *frame, unsigned plane, uint32_t y)
{
    return frame_plane(frame, plane) + y * frame->layout.planes[plane].stride;
}

// Chroma of NV12 is two bytes for two columns.
size_t split_offset(const struct pixel_format *format, unsigned plane, uint32_t x)
{
    return (plane == 0 ? format->planes[0].bytes : 1) * (size_t)x;
}

// NV12 to NV12, RGB3 to RGB3.
static void place_same(const struct frame *side, uint32_t x, struct frame *output)
{
    const struct frame_layout *layout = &side->layout;

    for (unsigned i = 0; i < layout->format->plane_count; i++) {
        size_t at = split_offset(layout->format, i, x);

        for (uint32_t y = 0; y < layout->planes[i].rows; y++)
            memcpy(row_of(output, i, y) + at, row_of(side, i, y), layout->planes[i].width_bytes);
    }
}

static void place_gray_in_nv12(const struct frame *side, uint32_t x, struct frame *output)
{
    uint32_t width = side->layout.width;

    for (uint32_t y = 0; y < side->layout.height; y++) {
        memcpy(row_of(output, 0, y) + x, row_of(side, 0, y), width);
        if (y % 2 == 0)
            memset(row_of(output, 1, y / 2) + x, 128, (size_t)(width + 1) / 2 * 2);
    }
}

static void place_rgb3_in_nv12(const struct frame *side, uint32_t x, struct frame *output)
{
    const struct colour_space space =
        colour_space_of(colour_matrix_number(output->layout.colour.matrix), FRAME_RANGE_FULL);

    for (uint32_t y = 0; y < side->layout.height; y++) {
        const uint8_t *rgb = row_of(side, 0, y);
        uint8_t *luma = row_of(output, 0, y) + x, *chroma = row_of(output, 1, y / 2) + x;

        for (uint32_t i = 0; i < side->layout.width; i++) {
            struct colour_yuv yuv = colour_to_yuv(&space, rgb + 3 * (size_t)i);

            luma[i] = yuv.y;
            if (i % 2 == 0 && y % 2 == 0) {
                chroma[i] = yuv.u;
                chroma[i + 1] = yuv.v;
            }
        }
    }
}

static void place_gray_in_rgb3(const struct frame *side, uint32_t x, struct frame *output)
{
    for (uint32_t y = 0; y < side->layout.height; y++) {
        const uint8_t *gray = row_of(side, 0, y);
        uint8_t *rgb = row_of(output, 0, y) + 3 * (size_t)x;

        for (size_t i = 0; i < side->layout.width; i++)
            memset(rgb + 3 * i, gray[i], 3);
    }
}

static bool is(const struct pixel_format *format, const char *name)
{
    return strcmp(format->name, name) == 0;
}

bool split_is_made_in_place(const struct pixel_format *side, const struct pixel_format *output)
{
    return side == output || (is(side, "GREY") && is(output, "NV12"));
}

void split_place(const struct frame *side, uint32_t x, struct frame *output)
{
    bool nv12 = is(output->layout.format, "NV12");

    if (side->layout.format == output->layout.format)
        place_same(side, x, output);
    else if (is(side->layout.format, "GREY"))
        (nv12 ? place_gray_in_nv12 : place_gray_in_rgb3)(side, x, output);
    else
        place_rgb3_in_nv12(side, x, output);
}

int split_layout(const struct pixel_format *format, const struct frame_layout *camera,
                 const struct frame_layout sides[2], struct error *error,
                 struct frame_layout *ret_layout, uint32_t *ret_x)
{
    bool nv12 = is(format, "NV12");
    uint32_t width = camera->width;

    *ret_x = width + (nv12 && width % 2 == 1);
    if (nv12 && *ret_x + width > SPLIT_STREAM_WIDTH_MAX) {
        return error_set(error, -ENOTSUP,
                         "two pictures %u pixels wide are too wide beside each other, encoders "
                         "take %d",
                         width, SPLIT_STREAM_WIDTH_MAX);
    }
    frame_layout_init(ret_layout, format, *ret_x + width, camera->height, FRAME_STRIDE_ALIGN);
    if (nv12)
        ret_layout->colour = frame_colour_yuv(camera->colour);
    if (sides[0].range == FRAME_RANGE_FULL || sides[1].range == FRAME_RANGE_FULL)
        ret_layout->range = FRAME_RANGE_FULL;
    return 0;
}

void split_write_gap(struct frame *output, uint32_t side_width)
{
    uint8_t black = output->layout.range == FRAME_RANGE_FULL ? 0 : 16;

    for (uint32_t y = 0; side_width % 2 == 1 && y < output->layout.height; y++)
        row_of(output, 0, y)[side_width] = black;
}
