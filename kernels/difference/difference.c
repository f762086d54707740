#include "kernels/difference/difference.h"

#include "kernels/gpu/point_cuda.h"
#include "kernels/stage/bits.h"
#include "kernels/stage/compose.h"
#include "kernels/stage/pool.h"
#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"

#include <errno.h>
#include <string.h>

#define PAGE_BYTES 4096

// Flags of a row: the picture has the row as it is in the frame; its bits are not all 0.
enum { KNOWN = 1, MOVED = 2 };

struct difference {
    uint32_t width, height;
    uint8_t threshold;
    uint8_t *picture;  // owned; gray
    uint8_t *rows;     // owned; KNOWN and MOVED of each
    uint64_t *bits;    // owned; NULL: the threshold is automatic
    struct pool *pool; // not owned; NULL: there is none
};

struct difference_job {
    struct difference *difference;
    const uint8_t *rows;
    size_t stride;
    uint32_t first; // row of the picture that is row 0 of the job
};

// |gray - previous|; the row replaces the previous one. Returns whether any of them is more than 0.
SIMD_CLONES
static bool measure_row(const uint8_t *restrict gray, uint8_t *restrict previous, size_t width,
                        uint8_t *restrict distances)
{
    uint8_t any = 0;

    simd_read_row(gray + width, width);
    for (size_t x = 0; x < width; x++) {
        uint8_t most = gray[x] > previous[x] ? gray[x] : previous[x];
        uint8_t least = gray[x] > previous[x] ? previous[x] : gray[x];

        previous[x] = gray[x];
        distances[x] = (uint8_t)(most - least);
        any |= distances[x];
    }
    return any;
}

static uint64_t *bits_row(const struct difference *difference, uint32_t y)
{
    return difference->bits + y * bits_words(difference->width);
}

// Compares a row with the same of the frame before, which it then replaces, while the row below is
// on its way from the memory.
static void compare_row(struct difference *difference, const uint8_t *gray, uint32_t y)
{
    size_t width = difference->width;
    uint8_t *previous = difference->picture + y * width, found = KNOWN;

    simd_read_row(gray + width, width);
    if (!(difference->rows[y] & KNOWN)) {
        memcpy(previous, gray, width);
        difference->rows[y] = KNOWN;
        return;
    }
    if (bits_differ(gray, previous, width, difference->threshold, bits_row(difference, y)))
        found |= MOVED;
    difference->rows[y] = found;
}

static void compare_rows(void *context, unsigned worker, uint32_t first, uint32_t end)
{
    const struct difference_job *job = context;

    (void)worker;
    for (uint32_t y = first; y < end; y++)
        compare_row(job->difference, job->rows + y * job->stride, job->first + y);
}

static void scan(struct stage *stage, const uint8_t *rows, size_t stride, uint32_t first,
                 uint32_t end)
{
    struct difference *difference = stage->state;
    struct difference_job job = {difference, rows, stride, first};

    pool_run(difference->pool, end - first, compare_rows, &job);
}

static void forget(struct stage *stage)
{
    const struct difference *difference = stage->state;

    memset(difference->rows, 0, difference->height);
}

// Erodes row `y` of the last scan's bits `times` times by 3x3, into `row`. Bits outside the picture
// count as set. Returns false if no bit is left; `row` is undefined then.
static bool erode(const struct difference *difference, uint32_t y, unsigned times, uint64_t *row)
{
    size_t words = bits_words(difference->width);
    uint32_t below = difference->height - 1 - y;
    uint32_t first = y - (times < y ? times : y), last = y + (times < below ? times : below);

    for (uint32_t other = first; other <= last; other++) {
        const uint64_t *bits = bits_row(difference, other);

        if (!(difference->rows[other] & MOVED))
            return false;
        if (other == first)
            memcpy(row, bits, words * sizeof *row);
        else
            bits_and(row, bits, words);
    }
    bits_erode_row(row, difference->width, times);
    return true;
}

static enum stage_result run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                                 uint32_t width, void *scratch, uint8_t *output)
{
    (void)rows;
    if (!erode(stage->state, y, stage->eroded, scratch))
        return STAGE_BLACK;
    bits_write(scratch, width, stage->limited ? compose_luma(0) : 0,
               stage->limited ? compose_luma(255) : 255, output);
    return STAGE_WRITTEN;
}

// Makes each row once: the search for the threshold scans them.
static enum stage_result run_automatic(const struct stage *stage, const uint8_t *const *rows,
                                       uint32_t y, uint32_t width, void *scratch, uint8_t *output)
{
    struct difference *difference = stage->state;
    uint8_t *previous = difference->picture + (size_t)y * width;

    (void)scratch;
    if (difference->rows[y] & KNOWN)
        return measure_row(rows[0], previous, width, output) ? STAGE_WRITTEN : STAGE_BLACK;
    memcpy(previous, rows[0], width);
    difference->rows[y] = KNOWN;
    return STAGE_BLACK;
}

static void finish(struct stage *stage)
{
    struct difference *difference = stage->state;

    free(difference->picture);
    free(difference->rows);
    free(difference->bits);
}

// The picture begins with a page, as the planes of frames do. A CPU that compares addresses by
// their place in the page would else take the row just written for the one read next, and wait.
static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    struct difference *difference = stage->state;
    size_t height = setup->input->height, size = setup->input->width * height;
    size_t words = bits_words(setup->input->width);

    difference->width = setup->input->width;
    difference->height = setup->input->height;
    difference->threshold = (uint8_t)setup->options->threshold;
    difference->pool = setup->pool;
    difference->picture =
        aligned_alloc(PAGE_BYTES, (size + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES);
    difference->rows = calloc(1, height);
    stage->run_row = run_automatic;
    if (setup->options->threshold != CONFIG_THRESHOLD_OTSU) {
        difference->bits = malloc(words * height * sizeof *difference->bits);
        stage->scans = stage->erodes = true;
        stage->run_row = run_row;
    }
    if (!difference->picture || !difference->rows || (stage->scans && !difference->bits))
        return error_set(error, -ENOMEM, "no memory for the frame before");
    stage->scratch_bytes = words * sizeof(uint64_t);
    return 0;
}

const struct stage_ops difference_ops = {
    .state_bytes = sizeof(struct difference),
    .init = init,
    .finish = finish,
    .scan = scan,
    .scans_in_bands = true,
    .limits = true,
    .forget = forget,
};

int difference_gpu_init(struct difference_gpu *difference, struct gpu_stage *stage,
                        const struct gpu_stage_setup *setup, struct error *error)
{
    const struct frame_layout *camera = setup->camera;
    int r = 0;

    for (unsigned i = 0; i < 2 && r == 0; i++)
        r = gpu_stage_add_plane(stage, camera->width, camera->height, error, &difference->gray[i]);
    return r;
}

void difference_gpu_forget(struct difference_gpu *difference)
{
    difference->any = false;
}

void difference_gpu_next(struct difference_gpu *difference, uint64_t *ret_current,
                         uint64_t *ret_previous)
{
    *ret_previous = difference->any ? difference->gray[difference->current].address : 0;
    difference->current ^= 1;
    difference->any = true;
    *ret_current = difference->gray[difference->current].address;
}

// Of a plane of gray: bytes, or bits for mark.cu with all that follows.
struct difference_stage {
    struct point_cuda parameters;
    struct difference_gpu difference;
};

static unsigned fuses(const struct gpu_stage_setup *setup)
{
    bool planar = strcmp(gpu_stage_layout(setup), "planar") == 0;

    return planar && setup->steps[0].kind == STAGE_DIFFERENCE
               ? gpu_stage_match(setup, STAGE_DIFFERENCE)
               : 0;
}

static int init_gpu(struct gpu_stage *stage, const struct gpu_stage_setup *setup,
                    struct error *error)
{
    bool automatic = setup->steps[0].options.threshold == CONFIG_THRESHOLD_OTSU;
    struct difference_stage *state = stage->state;
    int r = gpu_stage_add_kernel(stage, CONFIG_KERNEL_DIFFERENCE,
                                 (struct gpu_tile){JOB_PIXELS, JOB_ROWS}, error,
                                 "point_difference_%s_%s", automatic ? "measure" : "mask",
                                 gpu_stage_limited(setup) ? "limited" : "full");

    r = r < 0 ? r : difference_gpu_init(&state->difference, stage, setup, error);
    state->parameters.level = automatic ? 0 : (uint32_t)setup->steps[0].options.threshold;
    state->parameters.plane_stride = state->difference.gray[0].stride;
    return r;
}

static void forget_gpu(struct gpu_stage *stage)
{
    struct difference_stage *state = stage->state;

    difference_gpu_forget(&state->difference);
}

static int launch_gpu(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                      struct gpu_chain *chain, struct error *error)
{
    struct difference_stage *state = stage->state;
    struct point_cuda *parameters = &state->parameters;

    difference_gpu_next(&state->difference, &parameters->current, &parameters->beside);
    gpu_job_set(&parameters->job, &pictures->input, &pictures->output);
    return gpu_chain_add(chain, &stage->kernels[0], &parameters->job, sizeof *parameters, error);
}

const struct gpu_stage_ops difference_gpu_ops = {.name = "difference",
                                                 .state_size = sizeof(struct difference_stage),
                                                 .fuses = fuses,
                                                 .init = init_gpu,
                                                 .forget = forget_gpu,
                                                 .launch = launch_gpu};
