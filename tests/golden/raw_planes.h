// Pictures whose planes stand one after the other without padding, on standard input and output.
#pragma once

#include "capture/frame_pool.h"
#include "config/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Rows lie so many bytes further apart than they need, so that a stride is no row's width.
#define RAW_STRIDE_ALIGN 32

// False: there are not so many bytes, or no room for them.
static inline bool raw_move(struct frame *frame, bool writes)
{
    for (unsigned i = 0; i < frame->layout.format->plane_count; i++) {
        size_t bytes = frame->layout.planes[i].width_bytes;

        for (uint32_t y = 0; y < frame->layout.planes[i].rows; y++) {
            uint8_t *row = frame_plane(frame, i) + y * frame->layout.planes[i].stride;

            if ((writes ? fwrite(row, 1, bytes, stdout) : fread(row, 1, bytes, stdin)) != bytes)
                return false;
        }
    }
    return true;
}

// The picture on standard input, which the caller owns. NULL: it is not whole, or no memory.
static inline struct frame *raw_read(const struct frame_layout *layout)
{
    struct frame_pool *frames;

    if (frame_pool_new(layout, 1, frame_allocator_host(), &frames) < 0)
        return NULL;
    struct frame *frame = frame_pool_take(frames);
    frame_pool_unref(frames);
    if (!raw_move(frame, false)) {
        frame_unref(frame);
        return NULL;
    }
    return frame;
}

static inline enum config_flip raw_flip(const char *name)
{
    enum config_flip flip = CONFIG_FLIP_NONE;

    while (flip < CONFIG_FLIP_VERTICAL && strcmp(config_flip_name(flip), name) != 0)
        flip++;
    return flip;
}
