// canny.cu: n = gx² + gy² of the whole picture, then marks of the pixels whose neighbours across
// the edge are not larger.
#include "kernels/canny_cuda.h"

#include "tests/fake_cuda/kernel.h"

#include <stdlib.h>
#include <string.h>

// A picture with a border of a pixel around it: of gray replicated, of n 0.
struct field {
    uint32_t pitch;
    uint8_t *gray;
    int32_t *n;
};

static int gray_at(const struct field *field, int64_t x, int64_t y)
{
    return field->gray[(y + 1) * field->pitch + x + 1];
}

static int32_t n_at(const struct field *field, int64_t x, int64_t y)
{
    return field->n[(y + 1) * field->pitch + x + 1];
}

static void read_gray(const struct launch *launch, const uint8_t *input, const struct field *field)
{
    const struct canny_cuda *p = (const void *)launch->parameters;
    struct kernel_luma luma = kernel_luma_of(launch->name);

    for (uint32_t y = 0; y < p->height + 2; y++) {
        uint32_t inside = y == 0 ? 0 : y > p->height ? p->height - 1 : y - 1;
        uint8_t *row = field->gray + (size_t)y * field->pitch;

        luma.row(input + (size_t)inside * p->input_stride, p->width, row + 1);
        row[0] = row[1];
        row[p->width + 1] = row[p->width];
    }
}

static void gradient_at(const struct field *field, int64_t x, int64_t y, int *ret_gx, int *ret_gy)
{
    int g[3][3];

    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            g[i][k] = gray_at(field, x + k - 1, y + i - 1);
        }
    }
    *ret_gx = g[0][2] + 2 * g[1][2] + g[2][2] - g[0][0] - 2 * g[1][0] - g[2][0];
    *ret_gy = g[2][0] + 2 * g[2][1] + g[2][2] - g[0][0] - 2 * g[0][1] - g[0][2];
}

// As OpenCV has it: the tangents times 2^15.
static bool is_largest(const struct field *field, int64_t x, int64_t y)
{
    int32_t n = n_at(field, x, y);
    int gx, gy, step;
    int64_t flat, steep;

    gradient_at(field, x, y, &gx, &gy);
    flat = (int64_t)abs(gx) * 13573;
    steep = flat + ((int64_t)abs(gx) << 16);
    if ((int64_t)abs(gy) << 15 < flat) {
        return n > n_at(field, x - 1, y) && n >= n_at(field, x + 1, y);
    }
    if ((int64_t)abs(gy) << 15 > steep) {
        return n > n_at(field, x, y - 1) && n >= n_at(field, x, y + 1);
    }
    step = (gx ^ gy) < 0 ? -1 : 1;
    return n > n_at(field, x - step, y - 1) && n > n_at(field, x + step, y + 1);
}

static void mark_row(const struct canny_cuda *p, const struct canny_cuda_limits *limits,
                     const struct field *field, uint32_t y, uint8_t *marks)
{
    for (uint32_t x = 0; x < p->width; x++) {
        uint8_t *mark = &marks[x / CANNY_CUDA_PIXELS];
        uint32_t bit = x % CANNY_CUDA_PIXELS;
        float n = (float)n_at(field, x, y) * 0x1p-48F;

        if (bit == 0) {
            *mark = 0;
        }
        if (n > limits->low && is_largest(field, x, y)) {
            *mark |= (uint8_t)((1U | (n > limits->high) << CANNY_CUDA_PIXELS) << bit);
        }
    }
}

static void make_marks(const struct launch *launch, const struct canny_cuda_limits *limits,
                       const uint8_t *input, uint8_t *marks, const struct field *field)
{
    const struct canny_cuda *p = (const void *)launch->parameters;

    read_gray(launch, input, field);
    for (uint32_t y = 0; y < p->height; y++) {
        for (uint32_t x = 0; x < p->width; x++) {
            int gx, gy;

            gradient_at(field, x, y, &gx, &gy);
            field->n[(size_t)(y + 1) * field->pitch + x + 1] = gx * gx + gy * gy;
        }
    }
    for (uint32_t y = 0; y < p->height; y++) {
        mark_row(p, limits, field, y, marks + (size_t)y * p->marks_stride);
    }
}

static int run(const struct launch *launch)
{
    const struct canny_cuda *p = (const void *)launch->parameters;
    struct field field = {.pitch = p->width + 2};
    size_t row_bytes = p->width * kernel_luma_of(launch->name).pixel_bytes;
    size_t mark_bytes = (p->width + CANNY_CUDA_PIXELS - 1) / CANNY_CUDA_PIXELS;
    size_t pixels = (size_t)field.pitch * (p->height + 2);
    const uint8_t *input =
        kernel_touch_rows(launch, p->input, p->input_stride, row_bytes, p->height);
    uint8_t *marks = kernel_touch_rows(launch, p->marks, p->marks_stride, mark_bytes, p->height);
    const struct canny_cuda_limits *limits =
        strstr(launch->name, "_median")
            ? kernel_touch_rows(launch, p->found, 0, sizeof p->limits, 1)
            : &p->limits;
    bool legal;

    field.gray = malloc(pixels);
    field.n = calloc(pixels, sizeof *field.n);
    legal = input && marks && limits && field.gray && field.n;
    if (legal && kernel_covers(launch, CANNY_CUDA_PIXELS, p->rows, p->width, p->height)) {
        make_marks(launch, limits, input, marks, &field);
    }
    free(field.gray);
    free(field.n);
    return legal ? 0 : RESULT_ILLEGAL_ADDRESS;
}

#define NAME(layout) "canny_" #layout,
static const char *const names[] = {CANNY_CUDA_KERNELS(NAME) "canny_planar_median", NULL};

const struct kernel_kind kernel_canny = {names, {sizeof(struct canny_cuda)}, run};
