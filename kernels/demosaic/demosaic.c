// A thread keeps the 8 bit samples of three rows. Of them it makes a row of each colour, and of
// these the picture's, so that all loops run over neighbours in memory.
#include "kernels/demosaic/demosaic.h"

#include "kernels/demosaic/demosaic_cuda.h"
#include "kernels/gray/gray.h"
#include "kernels/stage/gpu_stage.h"
#include "kernels/stage/pool.h"
#include "kernels/stage/simd.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The rows around the one that is made.
#define SAMPLE_ROWS 3
#define FACTOR_MAX (1 << 24) // the largest for which 255 of 24 bits and half of that fit 32 bits

// Of a row of `width` samples as they come each takes 16 bits.
typedef void unpack_row(const uint8_t *restrict row, size_t width, uint16_t *restrict output);

// The memory of a thread: rows of the picture's width.
struct scratch {
    uint8_t *samples[SAMPLE_ROWS]; // of row y of the mosaic: [y % SAMPLE_ROWS]
    uint8_t *colours[3];           // red, green, blue
    uint16_t *unpacked;
};

struct demosaic {
    struct frame_layout input;
    const struct frame_allocator *allocator; // not owned
    struct frame_pool *frames;               // owned reference; of the result
    struct demosaic_levels levels;
    bool colour;
    struct gpu *gpu; // not owned; NULL: the CPU computes
    struct CUfunc_st *function;
    // Of the CPU.
    unpack_row *unpack;
    struct pool *pool; // not owned
    size_t stride;     // of a row of bytes in the scratch memory
    // Owned; a row that is 255 in even columns and 0 in odd ones, one the other way round, and then
    // what all threads have.
    uint8_t *scratch;
};

SIMD_CLONES
static void unpack_8(const uint8_t *restrict row, size_t width, uint16_t *restrict output)
{
    for (size_t x = 0; x < width; x++)
        output[x] = row[x];
}

static void unpack_16(const uint8_t *restrict row, size_t width, uint16_t *restrict output)
{
    memcpy(output, row, width * sizeof *output);
}

// Four bytes with the upper bits, one with the lower ones.
SIMD_CLONES
static void unpack_10p(const uint8_t *restrict row, size_t width, uint16_t *restrict output)
{
    size_t x = 0;

    for (; x + 4 <= width; x += 4, row += 5) {
        for (unsigned i = 0; i < 4; i++)
            output[x + i] = (uint16_t)(row[i] << 2 | (row[4] >> 2 * i & 3));
    }
    for (unsigned i = 0; x + i < width; i++)
        output[x + i] = (uint16_t)(row[i] << 2 | (row[4] >> 2 * i & 3));
}

// Two bytes with the upper bits, one with the lower ones.
SIMD_CLONES
static void unpack_12p(const uint8_t *restrict row, size_t width, uint16_t *restrict output)
{
    size_t x = 0;

    for (; x + 2 <= width; x += 2, row += 3) {
        output[x] = (uint16_t)(row[0] << 4 | (row[2] & 15));
        output[x + 1] = (uint16_t)(row[1] << 4 | row[2] >> 4);
    }
    if (x < width)
        output[x] = (uint16_t)(row[0] << 4 | (row[2] & 15));
}

static unpack_row *unpack_for(const struct pixel_format *format)
{
    if (format->mosaic.packed)
        return format->mosaic.bits == 10 ? unpack_10p : unpack_12p;
    return format->mosaic.bits == 8 ? unpack_8 : unpack_16;
}

// How samples of pictures of `layout` become 8 bit (demosaic.h).
static struct demosaic_levels levels_of(const struct frame_layout *layout)
{
    const struct frame_development *development = &layout->development;
    const double wanted[] = {development->red, development->green, development->blue};
    unsigned bits = layout->format->mosaic.bits;
    uint32_t white = (1U << bits) - 1, shift = 8 + bits;
    struct demosaic_levels levels = {
        .black = development->black < white ? development->black : white - 1, .shift = shift};

    for (size_t i = 0; i < ARRAY_LENGTH(wanted); i++) {
        double factor = ldexp(wanted[i] * 255, (int)shift) / (white - levels.black);
        uint32_t whole = factor < 1            ? 1
                         : factor > FACTOR_MAX ? FACTOR_MAX
                                               : (uint32_t)(factor + 0.5);
        uint32_t reach = (255U << shift) - (1U << (shift - 1));

        levels.factors[i] = whole;
        levels.limits[i] = (uint32_t)(((uint64_t)reach + whole - 1) / whole);
    }
    return levels;
}

// Two colours take turns, `colours` of them in the first two columns.
SIMD_CLONES
static void level_row(const struct demosaic_levels *levels, const unsigned colours[2],
                      const uint16_t *restrict samples, uint32_t width, uint8_t *restrict output)
{
    const uint32_t black = levels->black, shift = levels->shift, half = 1U << (shift - 1);
    const uint32_t even = levels->factors[colours[0]], odd = levels->factors[colours[1]];
    const uint32_t even_limit = levels->limits[colours[0]], odd_limit = levels->limits[colours[1]];

    for (uint32_t x = 0; x < width; x++) {
        uint32_t factor = x % 2 ? odd : even, limit = x % 2 ? odd_limit : even_limit;
        uint32_t above = samples[x] > black ? samples[x] - black : 0;
        uint32_t value = ((above < limit ? above : limit) * factor + half) >> shift;

        output[x] = (uint8_t)(value < 255 ? value : 255);
    }
}

// Row `y` of a mosaic, of unpacked samples.
static void level_samples(const struct demosaic_levels *levels, const struct pixel_format *format,
                          uint32_t y, const uint16_t *restrict samples, size_t width,
                          uint8_t *restrict output)
{
    bool red = y % 2 == format->mosaic.red_y;
    bool first_is_green = red == (format->mosaic.red_x == 1);
    unsigned colour = red ? 0 : 2;
    const unsigned colours[2] = {first_is_green ? 1 : colour, first_is_green ? colour : 1};

    level_row(levels, colours, samples, width, output);
}

static void cleanup_demosaic(struct demosaic **demosaic)
{
    demosaic_free(*demosaic);
}

static struct frame_layout output_layout(const struct demosaic_setup *setup)
{
    struct frame_layout layout;

    frame_layout_init(&layout, pixel_format_by_name(setup->colour ? "RGB3" : "GREY"),
                      setup->input->width, setup->input->height, FRAME_STRIDE_ALIGN);
    layout.colour = setup->colour ? setup->input->colour : frame_colour_yuv(setup->input->colour);
    return layout;
}

static size_t scratch_bytes(const struct demosaic *demosaic)
{
    return (SAMPLE_ROWS + 3 + sizeof(uint16_t)) * demosaic->stride;
}

static void write_masks(const struct demosaic *demosaic)
{
    for (size_t x = 0; x < 2 * demosaic->stride; x++)
        demosaic->scratch[x] = x % 2 == x / demosaic->stride ? 255 : 0;
}

static int init_on_cpu(struct demosaic *demosaic, const struct demosaic_setup *setup,
                       struct error *error)
{
    size_t width = setup->input->width;

    demosaic->unpack = unpack_for(setup->input->format);
    demosaic->pool = setup->pool;
    demosaic->stride = (width + SIMD_CACHE_LINE - 1) / SIMD_CACHE_LINE * SIMD_CACHE_LINE;
    demosaic->scratch =
        aligned_alloc(SIMD_CACHE_LINE,
                      2 * demosaic->stride + scratch_bytes(demosaic) * pool_threads(setup->pool));
    if (!demosaic->scratch)
        return error_set(error, -ENOMEM, "no memory for a mosaic's rows");
    write_masks(demosaic);
    return 0;
}

static int init_on_gpu(struct demosaic *demosaic, const struct demosaic_setup *setup,
                       struct error *error)
{
    const struct pixel_format *input = setup->input->format;
    unsigned bits = input->mosaic.packed || input->mosaic.bits == 8 ? input->mosaic.bits : 16;
    char name[32];
    int r = gpu_enter(setup->gpu, error);

    snprintf(name, sizeof name, "demosaic_raw%u%s_%s", bits, input->mosaic.packed ? "p" : "",
             setup->colour ? "rgb3" : "grey");
    demosaic->gpu = setup->gpu;
    return r < 0 ? r : gpu_kernel(demosaic->gpu, name, error, &demosaic->function);
}

int demosaic_new(const struct demosaic_setup *setup, struct error *error,
                 struct demosaic **ret_demosaic)
{
    _cleanup_(cleanup_demosaic) struct demosaic *demosaic = calloc(1, sizeof *demosaic);
    const struct frame_layout layout = output_layout(setup);
    int r = -ENOMEM;

    if (demosaic) {
        demosaic->input = *setup->input;
        demosaic->allocator = setup->allocator;
        demosaic->colour = setup->colour;
        demosaic->levels = levels_of(setup->input);
        r = frame_pool_new(&layout, setup->frames, setup->allocator, &demosaic->frames);
    }
    if (r < 0) {
        return error_set(error, r, "no memory for %u frames of %ux%u", setup->frames,
                         setup->input->width, setup->input->height);
    }
    r = (setup->gpu ? init_on_gpu : init_on_cpu)(demosaic, setup, error);
    if (r == 0)
        *ret_demosaic = TAKE(demosaic);
    return r;
}

void demosaic_free(struct demosaic *demosaic)
{
    if (demosaic) {
        frame_pool_unref(demosaic->frames);
        free(demosaic->scratch);
        free(demosaic);
    }
}

bool demosaic_fits(const struct demosaic *demosaic, const struct demosaic_setup *setup)
{
    return demosaic->colour == setup->colour && demosaic->gpu == setup->gpu &&
           demosaic->allocator == setup->allocator &&
           frame_layout_equal(&demosaic->input, setup->input);
}

const struct frame_layout *demosaic_layout(const struct demosaic *demosaic)
{
    return frame_pool_layout(demosaic->frames);
}

static struct scratch scratch_of(const struct demosaic *demosaic, unsigned worker)
{
    uint8_t *next = demosaic->scratch + 2 * demosaic->stride + worker * scratch_bytes(demosaic);
    struct scratch scratch = {.unpacked = (uint16_t *)next};

    next += sizeof(uint16_t) * demosaic->stride;
    for (unsigned i = 0; i < SAMPLE_ROWS; i++, next += demosaic->stride)
        scratch.samples[i] = next;
    for (unsigned i = 0; i < 3; i++, next += demosaic->stride)
        scratch.colours[i] = next;
    return scratch;
}

SIMD_INLINE uint8_t choose(uint8_t mask, uint8_t yes, uint8_t no)
{
    return (uint8_t)((yes & mask) | (no & ~mask));
}

// All pixels between the first column and the last of a row: its own colour, green, and the one of
// the rows beside it. Those of its own colour are where `sites` is 255, and 0 elsewhere.
SIMD_CLONES
static void interpolate(const uint8_t *const *rows, size_t width, const uint8_t *restrict sites,
                        uint8_t *restrict own, uint8_t *restrict green, uint8_t *restrict other)
{
    const uint8_t *restrict above = rows[0], *restrict row = rows[1], *restrict below = rows[2];

    for (size_t x = 1; x + 1 < width; x++) {
        uint16_t beside = (uint16_t)(row[x - 1] + row[x + 1]);
        uint16_t stacked = (uint16_t)(above[x] + below[x]);
        uint16_t corners = (uint16_t)(above[x - 1] + above[x + 1] + below[x - 1] + below[x + 1]);
        uint8_t cross = (uint8_t)((beside + stacked + 2) >> 2);
        uint8_t diagonal = (uint8_t)((corners + 2) >> 2);

        own[x] = choose(sites[x], row[x], (uint8_t)((beside + 1) >> 1));
        green[x] = choose(sites[x], cross, row[x]);
        other[x] = choose(sites[x], diagonal, (uint8_t)((stacked + 1) >> 1));
    }
}

SIMD_CLONES
static void write_gray(const uint8_t *restrict red, const uint8_t *restrict green,
                       const uint8_t *restrict blue, size_t width, uint8_t *restrict output)
{
    for (size_t x = 0; x < width; x++)
        output[x] = gray_weigh(red[x], green[x], blue[x]);
}

SIMD_CLONES
static void write_colour(const uint8_t *restrict red, const uint8_t *restrict green,
                         const uint8_t *restrict blue, size_t width, uint8_t *restrict output)
{
    for (size_t x = 0; x < width; x++) {
        output[3 * x] = red[x];
        output[3 * x + 1] = green[x];
        output[3 * x + 2] = blue[x];
    }
}

struct job {
    const struct demosaic *demosaic;
    const struct frame *input;
    struct frame *output;
};

static void read_samples(const struct job *job, const struct scratch *scratch, uint32_t y)
{
    const struct demosaic *demosaic = job->demosaic;
    const struct frame_layout *input = &demosaic->input;

    demosaic->unpack(frame_plane(job->input, 0) + y * input->planes[0].stride, input->width,
                     scratch->unpacked);
    level_samples(&demosaic->levels, input->format, y, scratch->unpacked, input->width,
                  scratch->samples[y % SAMPLE_ROWS]);
}

// The colours of row `y`, which has one above it and one below it.
static void make_colours(const struct job *job, const struct scratch *scratch, uint32_t y)
{
    const struct frame_layout *input = &job->demosaic->input;
    const uint8_t *const rows[] = {scratch->samples[(y - 1) % SAMPLE_ROWS],
                                   scratch->samples[y % SAMPLE_ROWS],
                                   scratch->samples[(y + 1) % SAMPLE_ROWS]};
    bool red = y % 2 == input->format->mosaic.red_y;
    size_t site = red ? input->format->mosaic.red_x : 1U - input->format->mosaic.red_x;
    const uint8_t *sites = job->demosaic->scratch + site * job->demosaic->stride;
    uint8_t *const *colours = scratch->colours;

    interpolate(rows, input->width, sites, colours[red ? 0 : 2], colours[1], colours[red ? 2 : 0]);
    for (unsigned i = 0; i < 3; i++) {
        colours[i][0] = colours[i][1];
        colours[i][input->width - 1] = colours[i][input->width - 2];
    }
}

// The row that row `y` is made as: the outermost ones are those next to them.
static uint32_t inner_row(const struct frame_layout *layout, uint32_t y)
{
    uint32_t last = layout->height - 2;

    return y < 1 ? 1 : y > last ? last : y;
}

static void make_rows(void *context, unsigned worker, uint32_t first, uint32_t end)
{
    const struct job *job = context;
    const struct frame_layout *input = &job->demosaic->input, *output = &job->output->layout;
    const struct scratch scratch = scratch_of(job->demosaic, worker);
    uint32_t next = inner_row(input, first) - 1;

    for (uint32_t y = first; y < end; y++) {
        uint32_t inner = inner_row(input, y);

        for (; next <= inner + 1; next++)
            read_samples(job, &scratch, next);
        make_colours(job, &scratch, inner);
        (job->demosaic->colour ? write_colour : write_gray)(
            scratch.colours[0], scratch.colours[1], scratch.colours[2], input->width,
            frame_plane(job->output, 0) + y * output->planes[0].stride);
    }
}

static void run_on_cpu(struct demosaic *demosaic, const struct frame *input, struct frame *output)
{
    struct job job = {demosaic, input, output};

    if (input->layout.width < 3 || input->layout.height < 3)
        memset(output->data, 0, output->layout.size);
    else
        pool_run(demosaic->pool, input->layout.height, make_rows, &job);
}

static int run_on_gpu(struct demosaic *demosaic, struct frame *input, struct frame *output,
                      struct error *error)
{
    const struct frame_layout *layout = &demosaic->input;
    struct demosaic_cuda parameters = {
        .row_bytes = layout->planes[0].width_bytes,
        .across = gpu_divide_up(layout->width, DEMOSAIC_CUDA_PIXELS),
        .red_x = layout->format->mosaic.red_x,
        .red_y = layout->format->mosaic.red_y,
        .levels = demosaic->levels,
    };
    uint32_t threads = parameters.across * gpu_divide_up(layout->height, DEMOSAIC_CUDA_ROWS);
    struct gpu_grid grid = {gpu_divide_up(threads, DEMOSAIC_CUDA_THREADS), 1, 1};
    struct gpu_pictures pictures;
    int r = gpu_pictures_lend(demosaic->gpu, input, output, error, &pictures);

    if (r < 0)
        return r;
    gpu_job_set(&parameters.job, &pictures.input, &pictures.output);
    return gpu_launch(demosaic->gpu, demosaic->function, grid, DEMOSAIC_CUDA_THREADS, 1,
                      &parameters, error);
}

int demosaic_run(struct demosaic *demosaic, struct frame *input, struct error *error,
                 struct frame **ret_output)
{
    _cleanup_(cleanup_frame) struct frame *output = frame_pool_take_for(demosaic->frames, input);
    int r = 0;

    if (!output)
        return error_set(error, -ENOBUFS, "all frames without a mosaic are in use");
    if (demosaic->gpu)
        r = run_on_gpu(demosaic, input, output, error);
    else
        run_on_cpu(demosaic, input, output);
    if (r == 0)
        *ret_output = TAKE(output);
    return r;
}
