// demosaic_raw FORMAT WIDTH HEIGHT OUTPUT BLACK RED GREEN BLUE [THREADS]: makes OUTPUT, RGB3 or
// GREY, of a mosaic that comes in without padding on standard input, and writes it in the same way.
#include "kernels/demosaic/demosaic.h"
#include "kernels/stage/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Rows lie so many bytes further apart than they need, so that a stride is no row's width.
#define STRIDE_ALIGN 32

// False: the file has not so many bytes.
static bool read_rows(struct frame *frame, FILE *file)
{
    size_t bytes = frame->layout.planes[0].width_bytes;
    bool whole = true;

    for (uint32_t y = 0; y < frame->layout.planes[0].rows; y++) {
        uint8_t *row = frame_plane(frame, 0) + y * frame->layout.planes[0].stride;

        whole = whole && fread(row, 1, bytes, file) == bytes;
    }
    return whole;
}

static bool write_rows(const struct frame *frame, FILE *file)
{
    size_t bytes = frame->layout.planes[0].width_bytes;
    bool whole = true;

    for (uint32_t y = 0; y < frame->layout.planes[0].rows; y++) {
        const uint8_t *row = frame_plane(frame, 0) + y * frame->layout.planes[0].stride;

        whole = whole && fwrite(row, 1, bytes, file) == bytes;
    }
    return whole;
}

int main(int argc, char **argv)
{
    const struct pixel_format *format = argc < 9 ? NULL : pixel_format_by_name(argv[1]);
    struct demosaic *demosaic = NULL;
    struct frame_pool *frames = NULL;
    struct frame_layout layout;
    struct pool *pool = NULL;
    struct frame *input, *output;
    struct error error = {0};

    if (!format || format->mosaic.bits == 0) {
        return 2;
    }
    frame_layout_init(&layout, format, (uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]),
                      STRIDE_ALIGN);
    layout.development = (struct frame_development){(uint16_t)atoi(argv[5]), atof(argv[6]),
                                                    atof(argv[7]), atof(argv[8])};
    if (pool_new(argc > 9 ? (unsigned)atoi(argv[9]) : 1, &error, &pool) < 0 ||
        frame_pool_new(&layout, 1, frame_allocator_host(), &frames) < 0) {
        return 1;
    }
    input = frame_pool_take(frames);
    frame_pool_unref(frames);
    const struct demosaic_setup setup = {.input = &layout,
                                         .colour = strcmp(argv[4], "RGB3") == 0,
                                         .frames = 1,
                                         .allocator = frame_allocator_host(),
                                         .pool = pool};
    if (!read_rows(input, stdin) || demosaic_new(&setup, &error, &demosaic) < 0 ||
        demosaic_run(demosaic, input, &error, &output) < 0) {
        fprintf(stderr, "demosaic_raw: %s\n", error.text);
        return 1;
    }
    bool written = write_rows(output, stdout);
    frame_unref(input);
    frame_unref(output);
    demosaic_free(demosaic);
    pool_free(pool);
    return written ? 0 : 1;
}
