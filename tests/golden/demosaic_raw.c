// demosaic_raw FORMAT WIDTH HEIGHT OUTPUT BLACK RED GREEN BLUE [THREADS]: makes OUTPUT, RGB3 or
// GREY, of a mosaic that comes in without padding on standard input, and writes it in the same way.
#include "kernels/demosaic/demosaic.h"
#include "kernels/stage/pool.h"
#include "tests/golden/raw_planes.h"

int main(int argc, char **argv)
{
    const struct pixel_format *format = argc < 9 ? NULL : pixel_format_by_name(argv[1]);
    struct demosaic *demosaic = NULL;
    struct frame_layout layout;
    struct pool *pool = NULL;
    struct frame *input, *output;
    struct error error = {0};

    if (!format || format->mosaic.bits == 0)
        return 2;
    frame_layout_init(&layout, format, (uint32_t)atoi(argv[2]), (uint32_t)atoi(argv[3]),
                      RAW_STRIDE_ALIGN);
    layout.development = (struct frame_development){(uint16_t)atoi(argv[5]), atof(argv[6]),
                                                    atof(argv[7]), atof(argv[8])};
    input = raw_read(&layout);
    if (!input || pool_new(argc > 9 ? (unsigned)atoi(argv[9]) : 1, &error, &pool) < 0)
        return 1;
    const struct demosaic_setup setup = {.input = &layout,
                                         .colour = strcmp(argv[4], "RGB3") == 0,
                                         .frames = 1,
                                         .allocator = frame_allocator_host(),
                                         .pool = pool};
    if (demosaic_new(&setup, &error, &demosaic) < 0 ||
        demosaic_run(demosaic, input, &error, &output) < 0) {
        fprintf(stderr, "demosaic_raw: %s\n", error.text);
        return 1;
    }
    bool written = raw_move(output, true);
    frame_unref(input);
    frame_unref(output);
    demosaic_free(demosaic);
    pool_free(pool);
    return written ? 0 : 1;
}
