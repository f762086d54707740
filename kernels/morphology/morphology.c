// Row stages: the least (erosion) or the most (dilation) of the 3x3 pixels around, n times in one
// go; what lies outside the picture never wins. cv2.erode and cv2.dilate with np.ones((3, 3)) and
// iterations=n. An opening is an erosion and then a dilation, a closing the other way round.
//
// n times 3x3 is once a square of 2 n + 1, whose rows and columns are taken one after the other.
// The runner's replicated border does no harm: a pixel's square holds the border pixel that is
// repeated whenever it holds a repetition.
#include "kernels/morphology/morphology_cuda.h"
#include "kernels/stage/gpu_stage.h"
#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"

#include <string.h>

// Keeps the elements left of the row in an aligned block of their own.
#define LEFT 64

struct morphology {
    // Each pixel of `best` becomes the best of those of three rows, or of two rows and it.
    void (*of_rows)(const uint8_t *restrict a, const uint8_t *restrict b, const uint8_t *restrict c,
                    size_t width, uint8_t *restrict best);
    void (*of_more)(const uint8_t *restrict a, const uint8_t *restrict b, size_t width,
                    uint8_t *restrict best);
    unsigned times; // n, 1 to STAGE_RADIUS_MAX
    bool erodes;    // one black row of a square makes the result black, else all of them do
};

static size_t scratch_bytes(uint32_t width)
{
    return LEFT + (size_t)width + STAGE_RADIUS_MAX;
}

SIMD_INLINE uint8_t least(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

SIMD_INLINE uint8_t most(uint8_t a, uint8_t b)
{
    return a > b ? a : b;
}

// Of three rows, and of two and what was best so far.
#define DEFINE_ROWS(better)                                                                        \
    SIMD_CLONES                                                                                    \
    static void better##_of_rows(const uint8_t *restrict a, const uint8_t *restrict b,             \
                                 const uint8_t *restrict c, size_t width, uint8_t *restrict best)  \
    {                                                                                              \
        for (size_t x = 0; x < width; x++) {                                                       \
            best[x] = better(better(a[x], b[x]), c[x]);                                            \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    SIMD_CLONES                                                                                    \
    static void better##_of_more(const uint8_t *restrict a, const uint8_t *restrict b,             \
                                 size_t width, uint8_t *restrict best)                             \
    {                                                                                              \
        for (size_t x = 0; x < width; x++) {                                                       \
            best[x] = better(better(a[x], b[x]), best[x]);                                         \
        }                                                                                          \
    }
DEFINE_ROWS(least)
DEFINE_ROWS(most)

// Whether the row is black without a look at pixels: one row of a square is enough for an erosion,
// a dilation wants all of them.
static bool is_black(const struct morphology *morphology, const uint8_t *const *rows)
{
    unsigned count = 2 * morphology->times + 1, black = 0;

    for (unsigned i = 0; i < count; i++)
        black += rows[i] == stage_black_row;
    return morphology->erodes ? black > 0 : black == count;
}

static enum stage_result run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                                 uint32_t width, void *scratch, uint8_t *output)
{
    const struct morphology *morphology = stage->state;
    unsigned times = morphology->times;
    uint8_t *column = (uint8_t *)scratch + LEFT;

    (void)y;
    if (is_black(morphology, rows))
        return STAGE_BLACK;
    morphology->of_rows(rows[0], rows[times], rows[2 * times], width, column);
    for (unsigned i = 1; i < times; i++)
        morphology->of_more(rows[i], rows[2 * times - i], width, column);
    memset(column - STAGE_RADIUS_MAX, column[0], STAGE_RADIUS_MAX);
    memset(column + width, column[width - 1], STAGE_RADIUS_MAX);
    morphology->of_rows(column - times, column, column + times, width, output);
    for (unsigned i = 1; i < times; i++)
        morphology->of_more(column - i, column + i, width, output);
    return STAGE_WRITTEN;
}

static int set(struct stage *stage, const struct stage_setup *setup, struct morphology morphology)
{
    morphology.times = (unsigned)setup->options->times;
    *(struct morphology *)stage->state = morphology;
    stage->radius = morphology.times;
    stage->erosions = morphology.erodes ? morphology.times : 0;
    stage->scratch_bytes = scratch_bytes(setup->input->width);
    stage->run_row = run_row;
    return 0;
}

static int init_erode(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    (void)error;
    return set(stage, setup, (struct morphology){least_of_rows, least_of_more, .erodes = true});
}

static int init_dilate(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    (void)error;
    return set(stage, setup, (struct morphology){most_of_rows, most_of_more, .erodes = false});
}

const struct stage_ops erode_ops = {
    .state_bytes = sizeof(struct morphology),
    .init = init_erode,
};
const struct stage_ops dilate_ops = {
    .state_bytes = sizeof(struct morphology),
    .init = init_dilate,
};

// Erosion and dilation of black and white on the GPU: morphology.cu with its name and its tile.

static unsigned fuses(const struct gpu_stage_setup *setup)
{
    unsigned erodes = gpu_stage_match(setup, STAGE_ERODE);
    unsigned dilates = gpu_stage_match(setup, STAGE_DILATE);

    return setup->first || setup->steps[0].options.shades ? 0 : erodes + dilates;
}

static int init_gpu(struct gpu_stage *stage, const struct gpu_stage_setup *setup,
                    struct error *error)
{
    unsigned times = (unsigned)setup->steps[0].options.times;
    struct gpu_tile tile = {JOB_PIXELS, MORPHOLOGY_CUDA_ROWS(times)};
    struct morphology_cuda *parameters = stage->state;

    parameters->erodes = setup->steps[0].kind == STAGE_ERODE ? UINT32_MAX : 0;
    parameters->white = gpu_stage_shade(setup, 255);
    parameters->black = gpu_stage_shade(setup, 0);
    return gpu_stage_add_kernel(stage, CONFIG_KERNEL_MORPHOLOGY, tile, error, "morphology_%u",
                                times);
}

const struct gpu_stage_ops morphology_gpu_ops = {.name = "morphology",
                                                 .state_size = sizeof(struct morphology_cuda),
                                                 .fuses = fuses,
                                                 .init = init_gpu,
                                                 .launch = gpu_stage_launch};
