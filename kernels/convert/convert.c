#include "kernels/convert/convert.h"

#include "kernels/convert/colour.h"
#include "kernels/gray/gray.h"
#include "kernels/stage/pool.h"
#include "kernels/stage/simd.h"
#include "kernels/stage/stage.h"

#include <errno.h>
#include <string.h>

static const uint8_t *plane_row(const struct frame *frame, unsigned plane, uint32_t y)
{
    uint32_t last = frame->layout.planes[plane].rows - 1;

    return frame_plane(frame, plane) + (y < last ? y : last) * frame->layout.planes[plane].stride;
}

SIMD_CLONES
static void interleave(const uint8_t *restrict u, const uint8_t *restrict v, size_t pairs,
                       uint8_t *restrict output)
{
    for (size_t x = 0; x < pairs; x++) {
        output[2 * x] = u[x];
        output[2 * x + 1] = v[x];
    }
}

static void chroma_yu12(const struct frame *input, uint32_t y, size_t pairs,
                        uint8_t *restrict output)
{
    interleave(plane_row(input, 1, y), plane_row(input, 2, y), pairs, output);
}

static void chroma_nv12(const struct frame *input, uint32_t y, size_t pairs,
                        uint8_t *restrict output)
{
    memcpy(output, plane_row(input, 1, y), 2 * pairs);
}

SIMD_CLONES
static void swap_pairs(const uint8_t *restrict vu, size_t pairs, uint8_t *restrict output)
{
    for (size_t x = 0; x < pairs; x++) {
        output[2 * x] = vu[2 * x + 1];
        output[2 * x + 1] = vu[2 * x];
    }
}

static void chroma_nv21(const struct frame *input, uint32_t y, size_t pairs,
                        uint8_t *restrict output)
{
    swap_pairs(plane_row(input, 1, y), pairs, output);
}

SIMD_INLINE uint8_t mean2(unsigned a, unsigned b)
{
    return (uint8_t)((a + b + 1) >> 1);
}

// `top` and `bottom` point at the first U of packed 4:2:2 rows.
SIMD_CLONES
static void average_packed(const uint8_t *restrict top, const uint8_t *restrict bottom,
                           size_t pairs, uint8_t *restrict output)
{
    for (size_t x = 0; x < pairs; x++) {
        output[2 * x] = mean2(top[4 * x], bottom[4 * x]);
        output[2 * x + 1] = mean2(top[4 * x + 2], bottom[4 * x + 2]);
    }
}

static void chroma_yuyv(const struct frame *input, uint32_t y, size_t pairs,
                        uint8_t *restrict output)
{
    average_packed(plane_row(input, 0, 2 * y) + 1, plane_row(input, 0, 2 * y + 1) + 1, pairs,
                   output);
}

static void chroma_uyvy(const struct frame *input, uint32_t y, size_t pairs,
                        uint8_t *restrict output)
{
    average_packed(plane_row(input, 0, 2 * y), plane_row(input, 0, 2 * y + 1), pairs, output);
}

// One of U and V, into every second byte of `output`.
SIMD_CLONES
static void average_rows(const uint8_t *restrict top, const uint8_t *restrict bottom, size_t pairs,
                         uint8_t *restrict output)
{
    for (size_t x = 0; x < pairs; x++)
        output[2 * x] = mean2(top[x], bottom[x]);
}

static void chroma_422p(const struct frame *input, uint32_t y, size_t pairs,
                        uint8_t *restrict output)
{
    for (unsigned i = 0; i < 2; i++) {
        average_rows(plane_row(input, 1 + i, 2 * y), plane_row(input, 1 + i, 2 * y + 1), pairs,
                     output + i);
    }
}

SIMD_CLONES
static void average_squares(const uint8_t *restrict top, const uint8_t *restrict bottom,
                            size_t squares, uint8_t *restrict output)
{
    for (size_t x = 0; x < squares; x++) {
        unsigned sum = top[2 * x] + top[2 * x + 1] + bottom[2 * x] + bottom[2 * x + 1];

        output[2 * x] = (uint8_t)((sum + 2) >> 2);
    }
}

static void chroma_444p(const struct frame *input, uint32_t y, size_t pairs,
                        uint8_t *restrict output)
{
    uint32_t width = input->layout.width, last = width - 1;

    for (unsigned i = 0; i < 2; i++) {
        const uint8_t *top = plane_row(input, 1 + i, 2 * y);
        const uint8_t *bottom = plane_row(input, 1 + i, 2 * y + 1);

        average_squares(top, bottom, width / 2, output + i);
        if (width % 2 == 1)
            output[2 * (pairs - 1) + i] = mean2(top[last], bottom[last]);
    }
}

static void chroma_grey(const struct frame *input, uint32_t y, size_t pairs,
                        uint8_t *restrict output)
{
    (void)input;
    (void)y;
    memset(output, 128, 2 * pairs);
}

struct rgb_sample {
    int red, green, blue;
};

SIMD_INLINE uint8_t luma_of(struct rgb_sample p)
{
    return (
        uint8_t)((269484 * p.red + 528482 * p.green + 102760 * p.blue + (16 << 20) + (1 << 19)) >>
                 20);
}

SIMD_INLINE void chroma_of(struct rgb_sample p, uint8_t *uv)
{
    const int half = (128 << 20) + (1 << 19);

    uv[0] = (uint8_t)((-155188 * p.red - 305135 * p.green + 460324 * p.blue + half) >> 20);
    uv[1] = (uint8_t)((460324 * p.red - 385875 * p.green - 74448 * p.blue + half) >> 20);
}

SIMD_INLINE struct rgb_sample rgb_at(const uint8_t *p)
{
    return (struct rgb_sample){p[0], p[1], p[2]};
}

SIMD_INLINE struct rgb_sample bgr_at(const uint8_t *p)
{
    return (struct rgb_sample){p[2], p[1], p[0]};
}

// Luma and chroma rows of pictures whose pixels are `step` bytes, read by `pixel_at`.
#define DEFINE_RGB_ROWS(name, step, pixel_at)                                                      \
    SIMD_CLONES                                                                                    \
    static void luma_##name(const uint8_t *restrict row, size_t width, uint8_t *restrict output)   \
    {                                                                                              \
        for (size_t x = 0; x < width; x++) {                                                       \
            output[x] = luma_of(pixel_at(row + (step)*x));                                         \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    SIMD_CLONES                                                                                    \
    static void pairs_##name(const uint8_t *restrict row, size_t pairs, uint8_t *restrict output)  \
    {                                                                                              \
        for (size_t x = 0; x < pairs; x++) {                                                       \
            chroma_of(pixel_at(row + 2 * (step)*x), output + 2 * x);                               \
        }                                                                                          \
    }                                                                                              \
                                                                                                   \
    static void chroma_##name(const struct frame *input, uint32_t y, size_t pairs,                 \
                              uint8_t *restrict output)                                            \
    {                                                                                              \
        pairs_##name(plane_row(input, 0, 2 * y), pairs, output);                                   \
    }

DEFINE_RGB_ROWS(rgb3, 3, rgb_at)
DEFINE_RGB_ROWS(bgr3, 3, bgr_at)
DEFINE_RGB_ROWS(xr24, 4, bgr_at)

SIMD_CLONES
static void reorder_bgr3(const uint8_t *restrict row, size_t width, uint8_t *restrict output)
{
    for (size_t x = 0; x < width; x++) {
        output[3 * x] = row[3 * x + 2];
        output[3 * x + 1] = row[3 * x + 1];
        output[3 * x + 2] = row[3 * x];
    }
}

SIMD_CLONES
static void reorder_xr24(const uint8_t *restrict row, size_t width, uint8_t *restrict output)
{
    for (size_t x = 0; x < width; x++) {
        output[3 * x] = row[4 * x + 2];
        output[3 * x + 1] = row[4 * x + 1];
        output[3 * x + 2] = row[4 * x];
    }
}

SIMD_CLONES
static void repeat_grey(const uint8_t *restrict row, size_t width, uint8_t *restrict output)
{
    for (size_t x = 0; x < width; x++)
        output[3 * x] = output[3 * x + 1] = output[3 * x + 2] = row[x];
}

static void copy_rgb3(const uint8_t *restrict row, size_t width, uint8_t *restrict output)
{
    memcpy(output, row, 3 * width);
}

static const struct conversion {
    const char *input, *output;
    convert_row *row; // NULL: luma as it is
    convert_chroma *chroma;
} table[] = {
    {"YU12", "NV12", NULL, chroma_yu12},      {"NV21", "NV12", NULL, chroma_nv21},
    {"YUYV", "NV12", NULL, chroma_yuyv},      {"UYVY", "NV12", NULL, chroma_uyvy},
    {"422P", "NV12", NULL, chroma_422p},      {"444P", "NV12", NULL, chroma_444p},
    {"GREY", "NV12", NULL, chroma_grey},      {"RGB3", "NV12", luma_rgb3, chroma_rgb3},
    {"BGR3", "NV12", luma_bgr3, chroma_bgr3}, {"XR24", "NV12", luma_xr24, chroma_xr24},
    {"BGR3", "RGB3", reorder_bgr3, NULL},     {"XR24", "RGB3", reorder_xr24, NULL},
    {"GREY", "RGB3", repeat_grey, NULL},      {"RGB3", "RGB3", copy_rgb3, NULL},
    {"NV12", "NV12", NULL, chroma_nv12},
};

static const struct conversion *find(const struct stage_setup *setup, struct error *error)
{
    const char *input = setup->input->format->name, *output = setup->output->name;

    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        if (strcmp(table[i].input, input) == 0 && strcmp(table[i].output, output) == 0)
            return &table[i];
    }
    error_set(error, -ENOTSUP, "no conversion of %s pictures to %s", input, output);
    return NULL;
}

int convert_check(const struct stage_setup *setup, struct error *error)
{
    return find(setup, error) ? 0 : -ENOTSUP;
}

int convert_init(struct convert *convert, const struct stage_setup *setup, struct error *error)
{
    const struct conversion *conversion = find(setup, error);

    if (!conversion)
        return -ENOTSUP;
    convert->row = conversion->row ? conversion->row : gray_row_for(setup->input->format);
    convert->chroma = conversion->chroma;
    return 0;
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    struct convert *convert = stage->state;

    convert->pool = setup->pool;
    return convert_init(convert, setup, error);
}

struct convert_job {
    const struct convert *convert;
    const struct frame *input;
    struct frame *output;
    uint32_t first; // row of the picture that is row 0 of the job
};

static void convert_rows(void *context, unsigned worker, uint32_t first, uint32_t end)
{
    const struct convert_job *job = context;
    const struct convert *convert = job->convert;
    const struct frame_layout *output = &job->output->layout;

    (void)worker;
    for (uint32_t y = job->first + first; y < job->first + end; y++) {
        convert->row(plane_row(job->input, 0, y), output->width,
                     frame_plane(job->output, 0) + y * output->planes[0].stride);
        if (convert->chroma && y % 2 == 0) {
            convert->chroma(job->input, y / 2, output->planes[1].width_bytes / 2,
                            frame_plane(job->output, 1) + y / 2 * output->planes[1].stride);
        }
    }
}

static void run_frame(const struct stage *stage, const struct frame *input, struct frame *output,
                      uint32_t first, uint32_t end)
{
    const struct convert *convert = stage->state;
    struct convert_job job = {convert, input, output, first};

    pool_run(convert->pool, end - first, convert_rows, &job);
}

const struct stage_ops convert_ops = {
    .state_bytes = sizeof(struct convert),
    .init = init,
    .run_frame = run_frame,
};

// The camera view on the GPU: convert.cu with its name and its tile.

extern const struct gpu_stage_ops convert_gpu_ops;

static int add_kernel(struct gpu_stage *stage, const char *input, const char *output,
                      const char *range, struct error *error)
{
    return gpu_stage_add_kernel(stage, CONFIG_KERNEL_CONVERT,
                                (struct gpu_tile){JOB_PIXELS, JOB_ROWS_CHROMA}, error,
                                "convert_%s_%s%s", input, output, range);
}

int convert_gpu_add_kernel(struct gpu_stage *stage, const struct pixel_format *input,
                           const struct pixel_format *output, struct error *error)
{
    return add_kernel(stage, input->name, output->name, "", error);
}

int convert_gpu_init_side(struct gpu_stage *stage, struct gpu *gpu,
                          const struct pixel_format *input, const struct frame_layout *output,
                          struct error *error)
{
    bool full = strcmp(input->name, "RGB3") == 0 && strcmp(output->format->name, "NV12") == 0;
    struct colour_space space =
        colour_space_of(colour_matrix_number(output->colour.matrix), FRAME_RANGE_FULL);
    struct convert_cuda *parameters = calloc(1, sizeof *parameters);
    int r;

    *stage = (struct gpu_stage){.ops = &convert_gpu_ops, .gpu = gpu, .state = parameters};
    if (!parameters)
        return error_set(error, -ENOMEM, "no memory for a conversion");
    memcpy(parameters->y, space.y, sizeof parameters->y);
    memcpy(parameters->u, space.u, sizeof parameters->u);
    memcpy(parameters->v, space.v, sizeof parameters->v);
    r = add_kernel(stage, input->name, output->format->name, full ? "_full" : "", error);
    if (r == 0)
        gpu_stage_join(stage);
    return r;
}

static unsigned fuses(const struct gpu_stage_setup *setup)
{
    return setup->first && setup->steps[0].kind == STAGE_CONVERT;
}

static int init_gpu(struct gpu_stage *stage, const struct gpu_stage_setup *setup,
                    struct error *error)
{
    const struct stage_setup conversion = {.input = setup->camera, .output = setup->output};
    int r = convert_check(&conversion, error);

    return r < 0 ? r : convert_gpu_add_kernel(stage, setup->camera->format, setup->output, error);
}

const struct gpu_stage_ops convert_gpu_ops = {.name = "convert",
                                              .state_size = sizeof(struct convert_cuda),
                                              .fuses = fuses,
                                              .init = init_gpu,
                                              .launch = gpu_stage_launch};
