#include "kernels/stage/compose.h"

#include "kernels/stage/stage.h"

SIMD_CLONES
static void compose_row(const uint8_t *restrict gray, size_t width, uint8_t *restrict luma)
{
    for (size_t x = 0; x < width; x++)
        luma[x] = compose_luma(gray[x]);
}

SIMD_CLONES
void compose_in_place(uint8_t *row, size_t width)
{
    for (size_t x = 0; x < width; x++)
        row[x] = compose_luma(row[x]);
}

static enum stage_result run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                                 uint32_t width, void *scratch, uint8_t *output)
{
    (void)stage;
    (void)y;
    (void)scratch;
    compose_row(rows[0], width, output);
    return STAGE_WRITTEN;
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    (void)setup;
    (void)error;
    stage->run_row = run_row;
    return 0;
}

const struct stage_ops compose_ops = {.init = init};
