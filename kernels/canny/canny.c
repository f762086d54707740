// One pass over the frame: a gray row comes in, the row of gradients above it is done, the row of
// candidates above that one, and what hysteresis knows at that point. A second pass over the bits
// finishes the hysteresis, a third writes the rows. Between them lie 2 bits a pixel. So whatever
// makes the gray rows and whatever takes the edges works on rows in the cache, too. Threads share
// the first pass and the third; the second takes a twentieth of the time of one thread.
//
// All of it works on rows in L1; the frame is read once and the output written once.
#include "kernels/canny/canny.h"

#include "kernels/canny/canny_cuda.h"
#include "kernels/canny/hysteresis.h"
#include "kernels/canny/hysteresis_cuda.h"
#include "kernels/gpu/point_cuda.h"
#include "kernels/levels/levels.h"
#include "kernels/stage/bits.h"
#include "kernels/stage/compose.h"
#include "kernels/stage/pool.h"
#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"
#include "kernels/stage/vec.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define RING 3
// Elements of a row left of x = 0, so that x = 0 is aligned, and right of the last block.
#define LEFT 32
#define RIGHT 32

// The rows that one thread works on, y at y % RING.
struct lines {
    struct suppress_row rows[RING], outside;
    struct suppress_columns columns;
    uint8_t *memory; // owned; of all of them
};

// A row stage that scans first. One thread at a time may scan, and shares the work with those of a
// pool.
struct canny {
    uint32_t width, height;
    bool by_median;
    struct suppress_limits limits;        // by median: of the frame that is computed
    bool vectors;                         // that the CPU has
    struct hysteresis *hysteresis;        // owned
    struct pool *pool;                    // not owned; NULL: there is none
    struct lines lines[POOL_THREADS_MAX]; // by thread
};

// 32767 is where OpenCV limits thresholds; every limit from SUPPRESS_REACH on is the same.
static int32_t limit_of(double threshold)
{
    double square = threshold * threshold;

    return square < SUPPRESS_REACH ? (int32_t)square : SUPPRESS_REACH;
}

struct suppress_limits canny_limits(double low, double high)
{
    return low < high ? (struct suppress_limits){limit_of(low), limit_of(high)}
                      : (struct suppress_limits){limit_of(high), limit_of(low)};
}

// The level of pixel number `index` of all in their order.
static uint32_t level_at(const uint32_t histogram[256], uint64_t index)
{
    uint64_t pixels = histogram[0];
    uint32_t level = 0;

    while (pixels <= index)
        pixels += histogram[++level];
    return level;
}

struct suppress_limits canny_limits_by_median(const uint32_t histogram[256])
{
    uint64_t pixels = 0;
    uint32_t twice, low, high;

    for (unsigned i = 0; i < 256; i++)
        pixels += histogram[i];
    twice = level_at(histogram, (pixels - 1) / 2) + level_at(histogram, pixels / 2);
    low = 67 * twice / 200;
    high = 133 * twice / 200;
    return canny_limits(low, high < 255 ? high : 255);
}

// Every row gets a slot that is large enough for a row of gradients.
static int make_lines(const struct canny *canny, struct lines *lines)
{
    size_t blocks = SUPPRESS_BLOCKS(canny->width);
    size_t slot = (LEFT + blocks * SUPPRESS_BLOCK + RIGHT) * sizeof(int32_t) + SIMD_CACHE_LINE;
    uint8_t *next = aligned_alloc(SIMD_CACHE_LINE, (2 * RING + 3) * slot);

    if (!next)
        return -ENOMEM;
    lines->memory = memset(next, 0, (2 * RING + 3) * slot);
    for (unsigned i = 0; i < RING; i++, next += 2 * slot) {
        lines->rows[i].gradients = (int32_t *)next + LEFT;
        lines->rows[i].peaks = (int32_t *)(next + slot);
    }
    lines->outside.gradients = (int32_t *)next + LEFT;
    lines->columns.sums = (int16_t *)(next + slot) + LEFT;
    lines->columns.differences = (int16_t *)(next + 2 * slot) + LEFT;
    return 0;
}

static void finish(struct stage *stage)
{
    struct canny *canny = stage->state;

    hysteresis_free(canny->hysteresis);
    for (unsigned i = 0; i < POOL_THREADS_MAX; i++)
        free(canny->lines[i].memory);
}

// A picture that is scanned.
struct scan_job {
    const struct canny *canny;
    const uint8_t *plane;
    size_t stride;
};

// Row `y` of the picture, the border replicated.
static const uint8_t *gray_at(const struct scan_job *job, int64_t y)
{
    uint32_t last = job->canny->height - 1;

    return job->plane + (size_t)(y < 0 ? 0 : y < last ? y : last) * job->stride;
}

static const struct suppress_row *row_at(const struct canny *canny, const struct lines *lines,
                                         int64_t y)
{
    return y < 0 || y >= canny->height ? &lines->outside : &lines->rows[y % RING];
}

// Row `y` of a band of rows that begins with `first`.
static void add_candidates(const struct canny *canny, const struct lines *lines, uint32_t first,
                           uint32_t y)
{
    suppress_row(canny->vectors, row_at(canny, lines, (int64_t)y - 1), row_at(canny, lines, y),
                 row_at(canny, lines, (int64_t)y + 1), canny->width, &canny->limits,
                 hysteresis_candidates(canny->hysteresis, y),
                 hysteresis_edges(canny->hysteresis, y));
    hysteresis_add_row(canny->hysteresis, first, y);
}

// The gradients of one row more on either side decide about the candidates of a band.
static void find_candidates(void *context, unsigned worker, uint32_t first, uint32_t end)
{
    const struct scan_job *job = context;
    const struct canny *canny = job->canny;
    const struct lines *lines = &canny->lines[worker];
    uint32_t top = first > 0 ? first - 1 : 0,
             bottom = end < canny->height ? end : canny->height - 1;

    for (uint32_t y = top; y <= bottom; y++) {
        suppress_measure(canny->vectors, gray_at(job, (int64_t)y - 1), gray_at(job, y),
                         gray_at(job, (int64_t)y + 1), canny->width, &lines->columns,
                         row_at(canny, lines, y));
        if (y > first)
            add_candidates(canny, lines, first, y - 1);
    }
    if (end == canny->height)
        add_candidates(canny, lines, first, end - 1);
}

static void scan(struct stage *stage, const uint8_t *plane, size_t stride, uint32_t first,
                 uint32_t end)
{
    struct canny *canny = stage->state;
    struct scan_job job = {canny, plane, stride};

    (void)first;
    (void)end;
    if (canny->by_median) {
        uint32_t histogram[256];

        levels_count(canny->pool, plane, stride, canny->width, canny->height, histogram);
        canny->limits = canny_limits_by_median(histogram);
    }
    pool_run(canny->pool, canny->height, find_candidates, &job);
    hysteresis_finish(canny->hysteresis);
}

static enum stage_result run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                                 uint32_t width, void *scratch, uint8_t *output)
{
    const struct canny *canny = stage->state;

    (void)rows;
    (void)scratch;
    bits_write(hysteresis_edges(canny->hysteresis, y), width, stage->limited ? compose_luma(0) : 0,
               stage->limited ? compose_luma(255) : 255, output);
    return STAGE_WRITTEN;
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    const struct frame_layout *input = setup->input;
    struct canny *canny = stage->state;
    int r = 0;

    stage->scans = true;
    canny->width = input->width;
    canny->height = input->height;
    canny->by_median = setup->options->thresholds == CONFIG_THRESHOLDS_MEDIAN;
    canny->limits = canny_limits(setup->options->low, setup->options->high);
    canny->vectors = vec_supported();
    stage->run_row = run_row;
    canny->pool = setup->pool;
    for (unsigned i = 0; i < pool_threads(canny->pool) && r == 0; i++)
        r = make_lines(canny, &canny->lines[i]);
    if (r == 0)
        r = hysteresis_new(canny->width, canny->height, &canny->hysteresis);
    return r < 0 ? error_set(error, r, "no memory for a canny view of %ux%u", canny->width,
                             canny->height)
                 : 0;
}

const struct stage_ops canny_ops = {
    .state_bytes = sizeof(struct canny),
    .init = init,
    .finish = finish,
    .scan = scan,
    .limits = true,
};

// Canny on the GPU: canny.cu makes marks of the picture, hysteresis.cu a picture of the marks. For
// thresholds by the median levels.cu scans the picture first.

#define ALIGN 256
#define KERNELS 3
// Threads a multiprocessor is busy with.
#define THREADS 1024

struct canny_gpu {
    struct CUfunc_st *functions[KERNELS];
    struct levels_cuda_limits limits;
    struct levels_gpu levels;          // by the median
    struct gpu_plane gray;             // of a camera's picture in memory of the host, by the median
    struct hysteresis_cuda hysteresis; // all but the output
};

static const struct stage_options *options_of(const struct gpu_stage_setup *setup)
{
    return &setup->steps[setup->steps[0].kind == STAGE_GRAY].options;
}

static bool is_by_median(const struct gpu_stage_setup *setup)
{
    return options_of(setup)->thresholds == CONFIG_THRESHOLDS_MEDIAN;
}

// By the median gray is read twice, so a stage before this one makes a plane of it.
static unsigned fuses(const struct gpu_stage_setup *setup)
{
    unsigned count = gpu_stage_match(setup, STAGE_CANNY);

    return count > 0 && setup->steps[0].kind == STAGE_GRAY && is_by_median(setup) ? 0 : count;
}

static struct levels_cuda_limits limits_of(const struct stage_options *options)
{
    struct suppress_limits limits = canny_limits(options->low, options->high);
    uint32_t quiet = (uint32_t)sqrt(limits.low / 2.0);

    return (struct levels_cuda_limits){(float)limits.low * 0x1p-48F, (float)limits.high * 0x1p-48F,
                                       quiet};
}

// Rows a thread: as many as leave work for every multiprocessor, because the rows above and below a
// tile are read and computed again.
static unsigned rows_for(const struct gpu_stage_setup *setup)
{
    uint64_t pixels = (uint64_t)setup->camera->width * setup->camera->height;
    uint64_t threads = (uint64_t)gpu_info(setup->gpu)->multiprocessors * THREADS + 1;
    uint64_t steps = pixels / CANNY_CUDA_PIXELS / CANNY_CUDA_STEP / threads;

    return CANNY_CUDA_STEP * (unsigned)(steps < 1 ? 1 : steps > 4 ? 4 : steps);
}

static uint64_t take_memory(size_t *size, size_t bytes)
{
    uint64_t at = *size;

    *size += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return at;
}

static int make_memory(struct gpu_stage *stage, const struct frame_layout *camera,
                       struct error *error)
{
    struct hysteresis_cuda *h = &((struct canny_gpu *)stage->state)->hysteresis;
    size_t size = 0, tiles;
    uint64_t memory = 0;
    int r;

    h->width = camera->width;
    h->height = camera->height;
    h->tiles_x = (camera->width + HYSTERESIS_CUDA_TILE - 1) / HYSTERESIS_CUDA_TILE;
    h->tiles_y = (camera->height + HYSTERESIS_CUDA_TILE - 1) / HYSTERESIS_CUDA_TILE;
    h->tile_stride =
        (h->tiles_x + HYSTERESIS_CUDA_TILES - 1) / HYSTERESIS_CUDA_TILES * HYSTERESIS_CUDA_TILES;
    h->marks_stride = h->tile_stride * HYSTERESIS_CUDA_TILE / CANNY_CUDA_PIXELS;
    tiles = (size_t)h->tiles_x * h->tiles_y;
    h->marks = take_memory(&size, (size_t)h->marks_stride * h->height);
    h->edges = take_memory(&size, sizeof(uint32_t) * h->tile_stride * h->height);
    h->borders = take_memory(&size, sizeof(struct hysteresis_cuda_border) * tiles);
    h->parents = take_memory(&size, sizeof(uint32_t) * HYSTERESIS_CUDA_PLACES * (tiles + 1));
    // It is cleared, because words of marks are read whole, past the picture's width, too.
    r = gpu_stage_add_memory(stage, NULL, size, "what lies between Canny's kernels", error,
                             &memory);
    h->marks += memory;
    h->edges += memory;
    h->borders += memory;
    h->parents += memory;
    return r;
}

// Behind the one for gray, if there is one.
static struct gpu_kernel *canny_kernel(struct gpu_stage *stage)
{
    return &stage->kernels[stage->kernel_count - 1];
}

static int find_functions(struct gpu_stage *stage, struct error *error)
{
#define NAME(step) "hysteresis_" #step,
    static const char *const names[KERNELS] = {HYSTERESIS_CUDA_KERNELS(NAME)};
#undef NAME
    struct canny_gpu *state = stage->state;
    int r = 0;

    for (size_t i = 0; i < KERNELS && r == 0; i++)
        r = gpu_kernel(stage->gpu, names[i], error, &state->functions[i]);
    return r;
}

// By the median gray is read twice. A camera's luma in memory of the host is first copied to a
// plane by a kernel, so that it is fetched once.
static int init_median(struct gpu_stage *stage, const struct gpu_stage_setup *setup,
                       struct error *error)
{
    struct canny_gpu *state = stage->state;
    int r = levels_gpu_init(&state->levels, stage, "levels_median", error);

    if (r < 0 || !setup->first || !setup->mapped)
        return r;
    r = gpu_stage_add_plane(stage, setup->camera->width, setup->camera->height, error,
                            &state->gray);
    return r < 0 ? r
                 : gpu_stage_add_kernel(stage, CONFIG_KERNEL_GRAY,
                                        (struct gpu_tile){JOB_PIXELS, JOB_ROWS_CHROMA}, error,
                                        "point_gray_planar_full");
}

static int init_gpu(struct gpu_stage *stage, const struct gpu_stage_setup *setup,
                    struct error *error)
{
    struct canny_gpu *state = stage->state;
    int r = is_by_median(setup) ? init_median(stage, setup, error) : 0;

    state->limits = limits_of(options_of(setup));
    state->hysteresis.flat = gpu_stage_limited(setup) ? 16 : 0;
    state->hysteresis.edge = gpu_stage_limited(setup) ? 235 : 255;
    if (r == 0) {
        r = gpu_stage_add_kernel(
            stage, CONFIG_KERNEL_CANNY, (struct gpu_tile){CANNY_CUDA_PIXELS, rows_for(setup)},
            error, "canny_%s%s", gpu_stage_layout(setup), is_by_median(setup) ? "_median" : "");
    }
    if (r == 0) {
        canny_kernel(stage)->rows_vary = true;
        r = find_functions(stage, error);
    }
    return r < 0 ? r : make_memory(stage, setup->camera, error);
}

// Brings the luma into the plane, which takes its place.
static int add_gray(struct gpu_stage *stage, struct gpu_picture *input, struct gpu_chain *chain,
                    struct error *error)
{
    const struct gpu_plane *plane = &((const struct canny_gpu *)stage->state)->gray;
    struct gpu_picture gray = {{{plane->address, plane->stride}}, input->width, input->height};
    struct point_cuda parameters = {0};

    gpu_job_set(&parameters.job, input, &gray);
    *input = gray;
    return gpu_chain_add(chain, &stage->kernels[0], &parameters.job, sizeof parameters, error);
}

static int add_marks(struct gpu_stage *stage, const struct gpu_picture *input,
                     struct gpu_chain *chain, struct error *error)
{
    const struct canny_gpu *state = stage->state;
    const struct gpu_picture marks = {
        .planes[0] = {state->hysteresis.marks, state->hysteresis.marks_stride}};
    struct canny_cuda parameters = {
        .limits = state->limits,
        .found = state->levels.state + offsetof(struct levels_cuda_state, limits),
    };
    int r = state->levels.state ? levels_gpu_add(&state->levels, input, chain, error) : 0;

    gpu_job_set(&parameters.job, input, &marks);
    return r < 0 ? r
                 : gpu_chain_add(chain, canny_kernel(stage), &parameters.job, sizeof parameters,
                                 error);
}

static int launch_gpu(struct gpu_stage *stage, const struct gpu_pictures *pictures,
                      struct gpu_chain *chain, struct error *error)
{
    const struct canny_gpu *state = stage->state;
    struct hysteresis_cuda parameters = state->hysteresis;
    unsigned columns = parameters.tile_stride / HYSTERESIS_CUDA_TILES;
    unsigned tiles = parameters.tiles_x * parameters.tiles_y;
    const struct gpu_grid grids[KERNELS] = {
        {columns, parameters.tiles_y, 1},
        {(tiles + HYSTERESIS_CUDA_TILES - 1) / HYSTERESIS_CUDA_TILES, 1, 1},
        {columns, parameters.tiles_y, 1},
    };
    struct gpu_picture input = pictures->input;
    int r = state->gray.address ? add_gray(stage, &input, chain, error) : 0;

    r = r < 0 ? r : add_marks(stage, &input, chain, error);
    parameters.output = pictures->output.planes[0].address;
    parameters.output_stride = pictures->output.planes[0].stride;
    for (size_t i = 0; i < KERNELS && r == 0; i++) {
        r = gpu_chain_add_fixed(chain, state->functions[i], grids[i], HYSTERESIS_CUDA_THREADS,
                                &parameters, sizeof parameters, error);
    }
    return r;
}

const struct gpu_stage_ops canny_gpu_ops = {.name = "canny",
                                            .state_size = sizeof(struct canny_gpu),
                                            .fuses = fuses,
                                            .init = init_gpu,
                                            .launch = launch_gpu};
