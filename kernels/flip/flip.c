// Bands of rows are converted into memory of the thread's own, where they stay in the cache while
// their columns become rows.
#include "kernels/flip/flip.h"

#include "kernels/convert/convert.h"
#include "kernels/flip/flip_cuda.h"
#include "kernels/gray/gray.h"
#include "kernels/stage/gpu_stage.h"
#include "kernels/stage/pool.h"
#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

// Rows of plane 0 that are turned in one go. Even, and small enough for the nearest cache.
#define BAND_ROWS 16

// How a flip changes a plane: its axes are swapped, so that rows become columns, and then the
// result is mirrored.
struct flip_axes {
    bool swapped;
    bool mirrored_x, mirrored_y; // left and right, top and bottom change places
};

struct flip {
    enum config_flip flip;
    struct frame_layout input;
    const struct frame_allocator *allocator; // not owned
    struct frame_pool *frames;               // owned reference; of the result
    struct gpu *gpu;                         // not owned; NULL: the CPU computes
    struct CUfunc_st *function;
    // Of the CPU.
    struct convert convert;
    struct pool *pool;    // not owned
    size_t stride;        // of a row in the scratch memory
    size_t scratch_bytes; // of one thread
    uint8_t *scratch;     // owned; of all threads
};

static struct flip_axes axes_of(enum config_flip flip)
{
    return (struct flip_axes){
        .swapped = config_flip_is_quarter(flip),
        .mirrored_x = flip == CONFIG_FLIP_HORIZONTAL || flip == CONFIG_FLIP_ROTATE_180 ||
                      flip == CONFIG_FLIP_ROTATE_90,
        .mirrored_y = flip == CONFIG_FLIP_VERTICAL || flip == CONFIG_FLIP_ROTATE_180 ||
                      flip == CONFIG_FLIP_ROTATE_270,
    };
}

static void cleanup_flip(struct flip **flip)
{
    flip_free(*flip);
}

// The format that the camera's picture is brought to before it is turned.
static const char *format_of(const struct pixel_format *input)
{
    return input->luma_step == 0 ? "RGB3" : strcmp(input->name, "GREY") == 0 ? "GREY" : "NV12";
}

void flip_layout_init(struct frame_layout *layout, enum config_flip flip,
                      const struct frame_layout *input)
{
    bool swapped = axes_of(flip).swapped;

    frame_layout_init(layout, pixel_format_by_name(format_of(input->format)),
                      swapped ? input->height : input->width,
                      swapped ? input->width : input->height, FRAME_STRIDE_ALIGN);
    layout->range = input->range;
    layout->colour = input->colour;
}

static int init_convert(struct flip *flip, const struct pixel_format *output, struct error *error)
{
    const struct stage_setup setup = {.input = &flip->input, .output = output};

    if (output->plane_count == 1 && output->luma_step == 1) {
        flip->convert = (struct convert){.row = gray_row_for(output)};
        return 0;
    }
    return convert_init(&flip->convert, &setup, error);
}

static int make_scratch(struct flip *flip, struct error *error)
{
    size_t row = (size_t)flip->input.width * 3;

    flip->stride = (row + SIMD_CACHE_LINE - 1) / SIMD_CACHE_LINE * SIMD_CACHE_LINE;
    flip->scratch_bytes = flip->stride * BAND_ROWS;
    flip->scratch = aligned_alloc(SIMD_CACHE_LINE, flip->scratch_bytes * pool_threads(flip->pool));
    return flip->scratch ? 0 : error_set(error, -ENOMEM, "no memory to flip pictures");
}

static int init_on_cpu(struct flip *flip, const struct flip_setup *setup, struct error *error)
{
    int r = init_convert(flip, flip_layout(flip)->format, error);

    flip->pool = setup->pool;
    return r < 0 ? r : make_scratch(flip, error);
}

static int init_on_gpu(struct flip *flip, const struct flip_setup *setup, struct error *error)
{
    const char *format = flip->input.format->name;
    char name[16] = "flip_";
    int r = gpu_enter(setup->gpu, error);

    for (size_t i = 0; format[i]; i++)
        name[strlen("flip_") + i] = (char)tolower(format[i]);
    flip->gpu = setup->gpu;
    return r < 0 ? r : gpu_kernel(flip->gpu, name, error, &flip->function);
}

int flip_new(const struct flip_setup *setup, struct error *error, struct flip **ret_flip)
{
    _cleanup_(cleanup_flip) struct flip *flip = calloc(1, sizeof *flip);
    struct frame_layout layout;
    int r = -ENOMEM;

    if (flip) {
        flip->flip = setup->flip;
        flip->input = *setup->input;
        flip->allocator = setup->allocator;
        flip_layout_init(&layout, setup->flip, setup->input);
        r = frame_pool_new(&layout, setup->frames, setup->allocator, &flip->frames);
    }
    if (r < 0) {
        return error_set(error, r, "no memory for %u flipped frames of %ux%u", setup->frames,
                         setup->input->width, setup->input->height);
    }
    r = (setup->gpu ? init_on_gpu : init_on_cpu)(flip, setup, error);
    if (r == 0)
        *ret_flip = TAKE(flip);
    return r;
}

void flip_free(struct flip *flip)
{
    if (flip) {
        frame_pool_unref(flip->frames);
        free(flip->scratch);
        free(flip);
    }
}

bool flip_fits(const struct flip *flip, const struct flip_setup *setup)
{
    return flip->flip == setup->flip && flip->gpu == setup->gpu &&
           flip->allocator == setup->allocator && frame_layout_equal(&flip->input, setup->input);
}

const struct frame_layout *flip_layout(const struct flip *flip)
{
    return frame_pool_layout(flip->frames);
}

SIMD_INLINE void copy_sample(uint8_t *to, const uint8_t *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        to[i] = from[i];
}

// Functions for samples of so many `bytes`: reverse_N() mirrors a row of `count`, columns_N()
// writes each column of `rows` rows, `stride` bytes apart, as a row of `output`.
#define DEFINE_SAMPLES(bytes)                                                                      \
    SIMD_CLONES                                                                                    \
    static void reverse_##bytes(const uint8_t *restrict row, size_t count,                         \
                                uint8_t *restrict output)                                          \
    {                                                                                              \
        for (size_t x = 0; x < count; x++) {                                                       \
            copy_sample(output + (bytes)*x, row + (bytes) * (count - 1 - x), bytes);               \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void columns_##bytes(const uint8_t *restrict row, size_t stride, uint32_t rows,         \
                                size_t count, uint8_t *restrict output, ptrdiff_t output_stride)   \
    {                                                                                              \
        for (size_t x = 0; x < count; x++) {                                                       \
            for (uint32_t y = 0; y < rows; y++) {                                                  \
                copy_sample(output + (bytes)*y, row + y * stride + (bytes)*x, bytes);              \
            }                                                                                      \
            output += output_stride;                                                               \
        }                                                                                          \
    }

DEFINE_SAMPLES(1)
DEFINE_SAMPLES(2)
DEFINE_SAMPLES(3)

static void reverse(const uint8_t *row, size_t count, size_t bytes, uint8_t *output)
{
    (bytes == 1 ? reverse_1 : bytes == 2 ? reverse_2 : reverse_3)(row, count, output);
}

// A plane that is being turned.
struct flip_job {
    const struct flip *flip;
    const struct frame *input;
    struct frame *output;
};

struct plane {
    unsigned number;
    size_t bytes;          // of a sample
    uint32_t across, down; // samples, before the turn
    uint8_t *output;       // the first row
    ptrdiff_t stride;
};

static struct plane plane_of(const struct flip_job *job, unsigned number)
{
    const struct frame_layout *output = &job->output->layout;
    size_t bytes = output->format->planes[number].bytes;
    uint32_t across = output->planes[number].width_bytes / (uint32_t)bytes;
    uint32_t down = output->planes[number].rows;
    bool swapped = axes_of(job->flip->flip).swapped;

    return (struct plane){.number = number,
                          .bytes = bytes,
                          .across = swapped ? down : across,
                          .down = swapped ? across : down,
                          .output = frame_plane(job->output, number),
                          .stride = (ptrdiff_t)output->planes[number].stride};
}

// A row of a plane, not turned yet.
static void read_row(const struct flip_job *job, const struct plane *plane, uint32_t y,
                     uint8_t *row)
{
    const struct convert *convert = &job->flip->convert;

    if (plane->number == 0) {
        convert->row(frame_plane(job->input, 0) + y * job->input->layout.planes[0].stride,
                     plane->across, row);
    } else {
        convert->chroma(job->input, y, plane->across, row);
    }
}

static void turn_row(const struct flip_job *job, const struct plane *plane, uint32_t y,
                     uint8_t *scratch)
{
    const struct flip_axes axes = axes_of(job->flip->flip);
    uint8_t *to =
        plane->output + (ptrdiff_t)(axes.mirrored_y ? plane->down - 1 - y : y) * plane->stride;

    read_row(job, plane, y, axes.mirrored_x ? scratch : to);
    if (axes.mirrored_x)
        reverse(scratch, plane->across, plane->bytes, to);
}

// Rows first..end-1 become columns: of a picture that is mirrored in x from the right to the left,
// so that the lowest of them comes first.
static void turn_columns(const struct flip_job *job, const struct plane *plane, uint32_t first,
                         uint32_t end, uint8_t *scratch)
{
    const struct flip_axes axes = axes_of(job->flip->flip);
    size_t stride = job->flip->stride;
    uint32_t column = axes.mirrored_x ? plane->down - end : first;
    uint8_t *to = plane->output + column * plane->bytes +
                  (axes.mirrored_y ? (ptrdiff_t)(plane->across - 1) * plane->stride : 0);

    for (uint32_t y = first; y < end; y++)
        read_row(job, plane, y, scratch + (axes.mirrored_x ? end - 1 - y : y - first) * stride);
    (plane->bytes == 1   ? columns_1
     : plane->bytes == 2 ? columns_2
                         : columns_3)(scratch, stride, end - first, plane->across, to,
                                      axes.mirrored_y ? -plane->stride : plane->stride);
}

static void turn_band(const struct flip_job *job, unsigned number, uint32_t first, uint32_t end,
                      uint8_t *scratch)
{
    const struct plane plane = plane_of(job, number);

    if (axes_of(job->flip->flip).swapped) {
        turn_columns(job, &plane, first, end, scratch);
        return;
    }
    for (uint32_t y = first; y < end; y++)
        turn_row(job, &plane, y, scratch);
}

static void turn_rows(void *context, unsigned worker, uint32_t first, uint32_t end)
{
    const struct flip_job *job = context;
    const struct flip *flip = job->flip;
    uint8_t *scratch = flip->scratch + worker * flip->scratch_bytes;

    for (uint32_t y = first; y < end; y += BAND_ROWS) {
        uint32_t until = end - y < BAND_ROWS ? end : y + BAND_ROWS;

        turn_band(job, 0, y, until, scratch);
        if (flip->convert.chroma)
            turn_band(job, 1, y / 2, (until + 1) / 2, scratch);
    }
}

static int run_on_gpu(struct flip *flip, struct frame *input, struct frame *output,
                      struct error *error)
{
    const struct flip_axes axes = axes_of(flip->flip);
    uint32_t columns = FLIP_CUDA_COLUMNS(axes.swapped), rows = FLIP_CUDA_WARP / columns, warps;
    struct flip_cuda parameters = {
        .swapped = axes.swapped,
        .mirrored_x = axes.mirrored_x,
        .mirrored_y = axes.mirrored_y,
        .across = gpu_divide_up(input->layout.width, columns * FLIP_CUDA_SIDE),
    };
    struct gpu_pictures pictures;
    struct gpu_grid grid;
    int r = gpu_pictures_lend(flip->gpu, input, output, error, &pictures);

    if (r < 0)
        return r;
    gpu_job_set(&parameters.job, &pictures.input, &pictures.output);
    warps = parameters.across * gpu_divide_up(input->layout.height, rows * FLIP_CUDA_SIDE);
    grid = (struct gpu_grid){gpu_divide_up(warps, FLIP_CUDA_THREADS / FLIP_CUDA_WARP), 1, 1};
    return gpu_launch(flip->gpu, flip->function, grid, FLIP_CUDA_THREADS, 1, &parameters, error);
}

int flip_run(struct flip *flip, struct frame *input, struct error *error, struct frame **ret_output)
{
    _cleanup_(cleanup_frame) struct frame *output = frame_pool_take_for(flip->frames, input);
    struct flip_job job = {flip, input, output};
    int r = 0;

    if (!output)
        return error_set(error, -ENOBUFS, "all flipped frames are in use");
    if (flip->gpu)
        r = run_on_gpu(flip, input, output, error);
    else
        pool_run(flip->pool, input->layout.height, turn_rows, &job);
    if (r == 0)
        *ret_output = TAKE(output);
    return r;
}
