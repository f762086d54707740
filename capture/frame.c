#include "capture/frame.h"

#include <errno.h>
#include <string.h>

#define HD_LINES 720

struct frame_colour frame_colour_default(bool rgb, uint32_t height)
{
    uint32_t yuv = height < HD_LINES ? COLOUR_BT601 : COLOUR_BT709;

    return rgb ? (struct frame_colour){COLOUR_BT709, COLOUR_SRGB, COLOUR_RGB}
               : (struct frame_colour){yuv, yuv, yuv};
}

static uint32_t complete(uint32_t said, uint32_t otherwise)
{
    return said == COLOUR_UNSPECIFIED ? otherwise : said;
}

struct frame_colour frame_colour_complete(struct frame_colour said, struct frame_colour otherwise)
{
    return (struct frame_colour){complete(said.primaries, otherwise.primaries),
                                 complete(said.transfer, otherwise.transfer),
                                 complete(said.matrix, otherwise.matrix)};
}

struct frame_colour frame_colour_yuv(struct frame_colour colour)
{
    if (colour.matrix == COLOUR_RGB)
        colour.matrix = COLOUR_BT601;
    return colour;
}

bool frame_colour_equal(struct frame_colour a, struct frame_colour b)
{
    return a.primaries == b.primaries && a.transfer == b.transfer && a.matrix == b.matrix;
}

static size_t round_up(size_t value, size_t align)
{
    return (value + align - 1) & ~(align - 1);
}

// `value` divided by 2^shift, rounded up.
static uint32_t subsample(uint32_t value, unsigned shift)
{
    return (uint32_t)(((uint64_t)value + (1U << shift) - 1) >> shift);
}

void frame_layout_init(struct frame_layout *layout, const struct pixel_format *format,
                       uint32_t width, uint32_t height, size_t stride_align)
{
    *layout = (struct frame_layout){.format = format, .width = width, .height = height};
    for (unsigned i = 0; i < format->plane_count; i++) {
        uint32_t groups = subsample(width, format->planes[i].shift_x);

        layout->planes[i].offset = layout->size;
        layout->planes[i].width_bytes = groups * format->planes[i].bytes;
        layout->planes[i].rows = subsample(height, format->planes[i].shift_y);
        layout->planes[i].stride = round_up(layout->planes[i].width_bytes, stride_align);
        layout->size += layout->planes[i].stride * layout->planes[i].rows;
    }
    layout->colour = frame_colour_default(format->luma_step == 0, height);
    if (format->luma_step == 0 || strcmp(format->name, "GREY") == 0)
        layout->range = FRAME_RANGE_FULL;
    if (format->mosaic.bits > 0)
        layout->development = (struct frame_development){0, 1, 1, 1};
}

static bool development_equal(const struct frame_development *a, const struct frame_development *b)
{
    return a->black == b->black && a->red == b->red && a->green == b->green && a->blue == b->blue;
}

bool frame_layout_equal(const struct frame_layout *a, const struct frame_layout *b)
{
    if (a->format != b->format || a->width != b->width || a->height != b->height ||
        a->size != b->size || a->range != b->range || !frame_colour_equal(a->colour, b->colour) ||
        !development_equal(&a->development, &b->development)) {
        return false;
    }
    for (unsigned i = 0; i < a->format->plane_count; i++) {
        if (a->planes[i].offset != b->planes[i].offset ||
            a->planes[i].stride != b->planes[i].stride) {
            return false;
        }
    }
    return true;
}

int frame_to_gpu(struct frame *frame, struct error *error, uint64_t *ret_address)
{
    const struct frame_allocator *allocator = frame->allocator;
    int r = 0;

    if (frame->surface) {
        frame->side = FRAME_SIDE_GPU;
        *ret_address = frame->gpu_address = frame->surface->gpu_bases[0];
        return 0;
    }
    if (!allocator->to_gpu)
        return error_set(error, -ENOTSUP, "%s memory is not for a GPU", allocator->kind);
    if (frame->side == FRAME_SIDE_CPU) {
        r = allocator->to_gpu(allocator->context, frame->data, frame->layout.size, error,
                              &frame->gpu_address);
    }
    if (r == 0) {
        frame->side = FRAME_SIDE_GPU;
        *ret_address = frame->gpu_address;
    }
    return r;
}

int frame_queue_to_cpu(struct frame *frame, struct error *error)
{
    const struct frame_allocator *allocator = frame->allocator;
    int r = 0;

    if (frame->side == FRAME_SIDE_GPU && !frame->surface)
        r = allocator->to_cpu(allocator->context, frame->data, frame->layout.size, error);
    if (r == 0)
        frame->side = FRAME_SIDE_CPU;
    return r;
}

int frame_to_cpu(struct frame *frame, struct error *error)
{
    const struct frame_allocator *allocator = frame->allocator;
    bool waits = frame->side == FRAME_SIDE_GPU;
    int r = frame_queue_to_cpu(frame, error);

    if (r == 0 && waits) {
        r = allocator->wait(allocator->context, error);
        frame->side = r < 0 ? FRAME_SIDE_GPU : FRAME_SIDE_CPU;
    }
    return r;
}

int frame_begin_cpu_access(const struct frame *frame, struct error *error)
{
    const struct frame_allocator *allocator = frame->allocator;

    return frame->surface
               ? allocator->surfaces->begin_cpu_access(allocator->context, frame->surface, error)
               : 0;
}

int frame_end_cpu_access(const struct frame *frame, struct error *error)
{
    const struct frame_allocator *allocator = frame->allocator;

    return frame->surface
               ? allocator->surfaces->end_cpu_access(allocator->context, frame->surface, error)
               : 0;
}

struct frame *frame_ref(struct frame *frame)
{
    atomic_fetch_add_explicit(&frame->references, 1, memory_order_relaxed);
    return frame;
}

void frame_unref(struct frame *frame)
{
    if (frame && atomic_fetch_sub_explicit(&frame->references, 1, memory_order_acq_rel) == 1)
        frame->give_back(frame);
}
