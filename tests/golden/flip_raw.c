// flip_raw FORMAT WIDTH HEIGHT FLIP [THREADS]: flips a picture whose planes come in without padding
// on standard input, one after the other, and writes the result's planes in the same way.
#include "kernels/flip/flip.h"
#include "kernels/stage/pool.h"
#include "tests/golden/raw_planes.h"

int main(int argc, char **argv)
{
    struct frame_layout layout;
    struct pool *pool = NULL;
    struct flip *flip = NULL;
    struct frame *input, *output;
    struct error error = {0};

    if (argc < 5 || !pixel_format_by_name(argv[1]))
        return 2;
    frame_layout_init(&layout, pixel_format_by_name(argv[1]), (uint32_t)atoi(argv[2]),
                      (uint32_t)atoi(argv[3]), RAW_STRIDE_ALIGN);
    input = raw_read(&layout);
    if (!input || pool_new(argc > 5 ? (unsigned)atoi(argv[5]) : 1, &error, &pool) < 0)
        return 1;
    const struct flip_setup setup = {.flip = raw_flip(argv[4]),
                                     .input = &layout,
                                     .frames = 1,
                                     .allocator = frame_allocator_host(),
                                     .pool = pool};
    if (flip_new(&setup, &error, &flip) < 0 || flip_run(flip, input, &error, &output) < 0) {
        fprintf(stderr, "flip_raw: %s\n", error.text);
        return 1;
    }
    bool written = raw_move(output, true);
    frame_unref(input);
    frame_unref(output);
    flip_free(flip);
    pool_free(pool);
    return written ? 0 : 1;
}
