#include "kernels/compose.h"

#include "kernels/simd.h"
#include "kernels/stage.h"

// The quotient t / 255 rounded is (t + 128 + (t + 128 >> 8)) >> 8 for 16 bit t, and 219 m is never
// halfway between multiples of 255, so that is the definition without a division.
SIMD_CLONES
static void compose_row(const uint8_t *restrict magnitudes, size_t width, uint8_t *restrict luma)
{
    for (size_t x = 0; x < width; x++) {
        uint16_t t = (uint16_t)(219 * magnitudes[x] + 128);

        luma[x] = (uint8_t)((uint16_t)(t + (t >> 8) + (16 << 8)) >> 8);
    }
}

static void run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                    uint32_t width, void *scratch, uint8_t *output)
{
    (void)stage;
    (void)y;
    (void)scratch;
    compose_row(rows[0], width, output);
}

const struct stage_ops compose_ops = {.name = "compose", .run_row = run_row};
