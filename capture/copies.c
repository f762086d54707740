#include "capture/copies.h"

#include "capture/frame.h"

#include <string.h>

const char *copy_kind_name(enum copy_kind kind)
{
    static const char *const names[COPY_KIND_COUNT] = {
        [COPY_MMAP_FALLBACK] = "mmap-fallback",
        [COPY_MJPEG_DECODE] = "mjpeg-decode",
        [COPY_LIBV4L_CONVERT] = "libv4l-convert",
        [COPY_GSTREAMER_FALLBACK] = "gstreamer-fallback",
        [COPY_VIC_CONVERT] = "vic-convert",
        [COPY_CLIP_PAUSE] = "clip-pause",
        [COPY_PRIVACY] = "privacy",
        [COPY_FLIP] = "flip",
        [COPY_ENCODER_CONVERT] = "encoder-convert",
        [COPY_ENCODER_UPLOAD] = "encoder-upload",
        [COPY_NVMM_COPY] = "nvmm-copy",
        [COPY_VIC_TRANSFORM] = "vic-transform",
    };

    return names[kind];
}

void copies_count(struct copies *copies, enum copy_kind kind)
{
    atomic_fetch_add_explicit(&copies->count[kind], 1, memory_order_relaxed);
}

uint64_t copies_total(const struct copies *copies)
{
    uint64_t total = 0;

    for (int kind = 0; kind < COPY_KIND_COUNT; kind++)
        total += atomic_load_explicit(&copies->count[kind], memory_order_relaxed);
    return total;
}

static void copy_plane(uint8_t *to, size_t to_stride, const uint8_t *from, size_t from_stride,
                       size_t width_bytes, uint32_t rows)
{
    if (to_stride == from_stride) {
        memcpy(to, from, to_stride * (rows - 1) + width_bytes);
        return;
    }
    for (uint32_t row = 0; row < rows; row++)
        memcpy(to + row * to_stride, from + row * from_stride, width_bytes);
}

void copies_copy_frame(struct copies *copies, enum copy_kind kind, struct frame *frame,
                       const struct frame_layout *source_layout, const uint8_t *data)
{
    const struct frame_layout *layout = &frame->layout;

    for (unsigned i = 0; i < layout->format->plane_count; i++) {
        copy_plane(frame_plane(frame, i), layout->planes[i].stride,
                   data + source_layout->planes[i].offset, source_layout->planes[i].stride,
                   layout->planes[i].width_bytes, layout->planes[i].rows);
    }
    copies_count(copies, kind);
}
