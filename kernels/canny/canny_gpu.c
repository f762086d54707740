// Canny on the GPU: canny.cu makes marks of the picture, hysteresis.cu a picture of the marks. For
// thresholds by the median levels.cu looks at the picture first.
#include "kernels/canny/canny.h"
#include "kernels/canny/canny_cuda.h"
#include "kernels/canny/hysteresis_cuda.h"
#include "kernels/gpu/point_cuda.h"
#include "kernels/levels/levels_gpu.h"

#include <math.h>

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
static unsigned takes(const struct gpu_stage_setup *setup)
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

    for (size_t i = 0; i < KERNELS && r == 0; i++) {
        r = gpu_kernel(stage->gpu, names[i], error, &state->functions[i]);
    }
    return r;
}

// By the median gray is read twice. A camera's luma in memory of the host is first copied to a
// plane by a kernel, so that it is fetched once.
static int init_median(struct gpu_stage *stage, const struct gpu_stage_setup *setup,
                       struct error *error)
{
    struct canny_gpu *state = stage->state;
    int r = levels_gpu_init(&state->levels, stage, "levels_median", error);

    if (r < 0 || !setup->first || !setup->mapped) {
        return r;
    }
    r = gpu_stage_add_plane(stage, setup->camera->width, setup->camera->height, error,
                            &state->gray);
    return r < 0 ? r
                 : gpu_stage_add_kernel(stage, CONFIG_KERNEL_GRAY,
                                        (struct gpu_tile){JOB_PIXELS, JOB_ROWS_CHROMA}, error,
                                        "point_gray_planar_full");
}

static int init(struct gpu_stage *stage, const struct gpu_stage_setup *setup, struct error *error)
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

static int launch(struct gpu_stage *stage, const struct gpu_pictures *pictures,
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
                                            .takes = takes,
                                            .init = init,
                                            .launch = launch};
