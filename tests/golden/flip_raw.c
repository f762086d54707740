// flip_raw FORMAT WIDTH HEIGHT FLIP [THREADS]: flips a picture whose planes come in without padding
// on standard input, one after the other, and writes the result's planes in the same way.
#include "config/config.h"
#include "kernels/flip/flip.h"
#include "kernels/stage/pool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Rows lie so many bytes further apart than they need, so that a stride is no row's width.
#define STRIDE_ALIGN 32

static bool read_row(uint8_t *row, size_t bytes, FILE *file)
{
    return fread(row, 1, bytes, file) == bytes;
}

static bool write_row(uint8_t *row, size_t bytes, FILE *file)
{
    return fwrite(row, 1, bytes, file) == bytes;
}

// Reads or writes all planes, row by row. False: the file has not so many bytes.
static bool move_planes(struct frame *frame, FILE *file,
                        bool (*move_row)(uint8_t *row, size_t bytes, FILE *file))
{
    for (unsigned i = 0; i < frame->layout.format->plane_count; i++) {
        size_t bytes = frame->layout.planes[i].width_bytes;

        for (uint32_t y = 0; y < frame->layout.planes[i].rows; y++) {
            uint8_t *row = frame_plane(frame, i) + y * frame->layout.planes[i].stride;

            if (!move_row(row, bytes, file)) {
                return false;
            }
        }
    }
    return true;
}

static enum config_flip flip_of(const char *name)
{
    enum config_flip flip = CONFIG_FLIP_NONE;

    while (flip < CONFIG_FLIP_VERTICAL && strcmp(config_flip_name(flip), name) != 0) {
        flip++;
    }
    return flip;
}

int main(int argc, char **argv)
{
    struct frame_pool *frames = NULL;
    struct frame_layout layout;
    struct pool *pool = NULL;
    struct flip *flip = NULL;
    struct frame *input, *output;
    struct error error = {0};

    if (argc < 5 || !pixel_format_by_name(argv[1])) {
        return 2;
    }
    frame_layout_init(&layout, pixel_format_by_name(argv[1]), (uint32_t)atoi(argv[2]),
                      (uint32_t)atoi(argv[3]), STRIDE_ALIGN);
    if (pool_new(argc > 5 ? (unsigned)atoi(argv[5]) : 1, &error, &pool) < 0 ||
        frame_pool_new(&layout, 1, frame_allocator_host(), &frames) < 0) {
        return 1;
    }
    input = frame_pool_take(frames);
    frame_pool_unref(frames);
    const struct flip_setup setup = {.flip = flip_of(argv[4]),
                                     .input = &layout,
                                     .frames = 1,
                                     .allocator = frame_allocator_host(),
                                     .pool = pool};
    if (!move_planes(input, stdin, read_row) || flip_new(&setup, &error, &flip) < 0 ||
        flip_run(flip, input, &error, &output) < 0) {
        fprintf(stderr, "flip_raw: %s\n", error.text);
        return 1;
    }
    bool written = move_planes(output, stdout, write_row);
    frame_unref(input);
    frame_unref(output);
    flip_free(flip);
    pool_free(pool);
    return written ? 0 : 1;
}
