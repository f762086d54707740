// Every kernel of edged's. Pixels come from the readers and formulas of the CPU's stages, rows and
// borders from simple loops here.
#include "tests/fake_cuda/kernel.h"

#include "capture/pixel_format.h"
#include "kernels/gradient.h"
#include "kernels/gradient_cuda.h"
#include "kernels/gray.h"
#include "tests/fake_cuda/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THRESHOLDS 256

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static void *touch(const struct launch *launch, uint64_t address, size_t size)
{
    return memory_touch(launch->stream, launch->name, address, size);
}

// Rows of a plane: from the first byte of the first to the last byte of the last.
static void *touch_rows(const struct launch *launch, uint64_t address, size_t stride, size_t bytes,
                        uint32_t rows)
{
    return touch(launch, address, (rows - 1) * stride + bytes);
}

static int run_probe(const struct launch *launch)
{
    const struct {
        uint64_t input, output;
        uint32_t count;
    } *p = (const void *)launch->parameters;
    uint32_t count = smaller(p->count, launch->threads_x);
    const uint32_t *input = touch(launch, p->input, count * sizeof *input);
    uint32_t *output = touch(launch, p->output, count * sizeof *output);

    if (!input || !output) {
        return RESULT_ILLEGAL_ADDRESS;
    }
    for (uint32_t i = 0; i < count; i++) {
        output[i] = ~input[i];
    }
    return 0;
}

// What a kernel's name says after "<prefix>_": layout, and what the layout's first plane is like.
struct luma {
    gray_row *row;
    size_t pixel_bytes;
};

static struct luma luma_of(const char *name)
{
    static const struct {
        const char *layout, *format;
        size_t pixel_bytes;
    } layouts[] = {
        {"planar", "GREY", 1}, {"yuyv", "YUYV", 2}, {"uyvy", "UYVY", 2},
        {"rgb3", "RGB3", 3},   {"bgr3", "BGR3", 3}, {"xr24", "XR24", 4},
    };
    const char *layout = strchr(name, '_') + 1;

    for (size_t i = 0; i < ARRAY_LENGTH(layouts); i++) {
        if (strncmp(layout, layouts[i].layout, strlen(layouts[i].layout)) == 0) {
            return (struct luma){gray_row_for(pixel_format_by_name(layouts[i].format)),
                                 layouts[i].pixel_bytes};
        }
    }
    abort(); // no name of the table is so
}

static uint8_t in_range(bool limited, uint32_t gray)
{
    return (uint8_t)(limited ? 16 + (219 * gray + 127) / 255 : gray);
}

// The largest result whose threshold `n` has reached. No square root of an integer is halfway
// between two integers, so that of a float rounds as it would exactly.
static uint32_t magnitude(const struct gradient_cuda *p, const uint32_t *thresholds, bool l2,
                          uint32_t n)
{
    uint32_t low = 0, high = THRESHOLDS - 1;

    if (p->unity) {
        return smaller(l2 ? (uint32_t)(sqrtf((float)n) + 0.5F) : n, 255);
    }
    while (low < high) {
        uint32_t middle = (low + high + 1) / 2;

        if (thresholds[middle] <= n) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

// rows: gray of the row above, the row, and the row below, each with a pixel more on either side.
static void make_row(const struct launch *launch, const uint32_t *thresholds,
                     const uint8_t *const rows[3], uint32_t width, uint8_t *output)
{
    const struct gradient_cuda *p = (const void *)launch->parameters;
    bool l2 = strstr(launch->name, "_l2_"), limited = strstr(launch->name, "_limited");
    const uint8_t *t = rows[0], *m = rows[1], *b = rows[2];

    for (uint32_t x = 0; x < width; x++) {
        int gx = (t[x + 2] + 2 * m[x + 2] + b[x + 2]) - (t[x] + 2 * m[x] + b[x]);
        int gy = (b[x] + 2 * b[x + 1] + b[x + 2]) - (t[x] + 2 * t[x + 1] + t[x + 2]);
        uint32_t n = (uint32_t)(l2 ? gx * gx + gy * gy : abs(gx) + abs(gy));

        output[x] = in_range(limited, magnitude(p, thresholds, l2, n));
    }
}

// A row of gray with its border.
static void read_row(const struct luma *luma, const uint8_t *row, uint32_t width, uint8_t *gray)
{
    luma->row(row, width, gray + 1);
    gray[0] = gray[1];
    gray[width + 1] = gray[width];
}

static int run_gradient(const struct launch *launch)
{
    const struct gradient_cuda *p = (const void *)launch->parameters;
    struct luma luma = luma_of(launch->name);
    uint32_t width = smaller(p->width, launch->threads_x * GRADIENT_CUDA_PIXELS);
    uint32_t height = smaller(p->height, launch->threads_y * GRADIENT_CUDA_ROWS);
    const uint32_t *thresholds = touch(launch, p->thresholds, THRESHOLDS * sizeof *thresholds);
    const uint8_t *input =
        touch_rows(launch, p->input, p->input_stride, p->width * luma.pixel_bytes, p->height);
    uint8_t *output = touch_rows(launch, p->output, p->output_stride, p->width, p->height);
    size_t pitch = (size_t)p->width + 2;
    uint8_t *gray = malloc(p->height * pitch);

    if (!thresholds || !input || !output || !gray) {
        free(gray);
        return RESULT_ILLEGAL_ADDRESS;
    }
    for (uint32_t y = 0; y < p->height; y++) {
        read_row(&luma, input + (size_t)y * p->input_stride, p->width, gray + y * pitch);
    }
    for (uint32_t y = 0; y < height; y++) {
        const uint8_t *rows[] = {gray + (y > 0 ? y - 1 : 0) * pitch, gray + y * pitch,
                                 gray + smaller(y + 1, p->height - 1) * pitch};

        make_row(launch, thresholds, rows, width, output + (size_t)y * p->output_stride);
    }
    free(gray);
    return 0;
}

#define GRADIENT_NAMES(layout)                                                                     \
    "gradient_" #layout "_l2_full", "gradient_" #layout "_l2_limited",                             \
        "gradient_" #layout "_l1_full", "gradient_" #layout "_l1_limited",

static const char *const probe_names[] = {"gpu_probe", NULL};
static const char *const gradient_names[] = {GRADIENT_CUDA_KERNELS(GRADIENT_NAMES) NULL};

static const struct kernel_kind kinds[] = {
    {"gpu_probe", probe_names, {8, 8, 4}, run_probe},
    {"gradient", gradient_names, {sizeof(struct gradient_cuda)}, run_gradient},
};

const struct kernel_kind *kernel_kind_at(unsigned index)
{
    return index < ARRAY_LENGTH(kinds) ? &kinds[index] : NULL;
}

const struct kernel_kind *kernel_find(const char *name)
{
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        for (const char *const *known = kinds[i].names; *known; known++) {
            if (strcmp(*known, name) == 0) {
                return &kinds[i];
            }
        }
    }
    return NULL;
}
