// direction.cu, pixel by pixel.
#include "kernels/direction/direction.h"
#include "kernels/direction/direction_cuda.h"

#include "tests/fakes/cuda/kernel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// A picture's gray.
struct grays {
    uint8_t *pixels; // owned
    int width, height;
};

static struct grays make_grays(const uint8_t *plane, size_t stride, struct kernel_luma luma,
                               uint32_t width, uint32_t height)
{
    struct grays grays = {malloc((size_t)width * height), (int)width, (int)height};

    for (size_t y = 0; plane && grays.pixels && y < height; y++) {
        luma.row(plane + y * stride, width, grays.pixels + y * width);
    }
    return grays;
}

static int at(const struct grays *grays, int x, int y)
{
    x = x < 0 ? 0 : x < grays->width ? x : grays->width - 1;
    y = y < 0 ? 0 : y < grays->height ? y : grays->height - 1;
    return grays->pixels[(size_t)y * (size_t)grays->width + (size_t)x];
}

// What a filter `across` in x and `along` in y makes of the pixel at (x, y).
static int filter(const struct grays *grays, const int32_t across[5], const int32_t along[5], int x,
                  int y)
{
    int sum = 0;

    for (int i = -2; i <= 2; i++) {
        for (int k = -2; k <= 2; k++) {
            sum += along[i + 2] * across[k + 2] * at(grays, x + k, y + i);
        }
    }
    return sum;
}

static const int32_t sobel_smooth[] = {0, 1, 2, 1, 0}, sobel_derive[] = {0, -1, 0, 1, 0};

static uint32_t strength(bool l1, int gx, int gy)
{
    return (uint32_t)(l1 ? abs(gx) + abs(gy) : gx * gx + gy * gy);
}

// What a kernel for directions reads and writes.
struct planes {
    const uint32_t *thresholds;
    const struct direction_cuda_colours *colours;
    uint8_t *luma, *chroma; // of RGB3 no chroma
};

// Of a normal one.
static float float_of(uint32_t half)
{
    float size = ldexpf((float)(1024 + (half & 0x3ff)), (int)(half >> 10 & 31) - 25);

    return half & 1 << 15 ? -size : size;
}

static uint8_t weigh(uint32_t factor, uint32_t m, float base)
{
    return (uint8_t)lrintf((float)m * float_of(factor) + base);
}

static void write_colour(const struct direction_cuda *p, const struct planes *planes,
                         unsigned place, uint32_t m, uint32_t x, uint32_t y)
{
    uint8_t *row = planes->luma + (size_t)y * p->job.output_stride[0];
    uint32_t colour = planes->colours->rgb[place];
    uint32_t sources[2] = {m * (colour >> 16) + 128, m};

    if (planes->chroma) {
        uint8_t *pair = planes->chroma + (size_t)(y / 2) * p->job.output_stride[1] + x / 2 * 2;
        uint32_t uv = planes->colours->uv[place];

        row[x] = weigh(planes->colours->y[place], m, 16);
        if (x % 2 == 0 && y % 2 == 0) {
            pair[0] = weigh(uv & 0xffff, m, 128);
            pair[1] = weigh(uv >> 16, m, 128);
        }
        return;
    }
    for (unsigned i = 0; i < 3; i++) {
        row[3 * (size_t)x + i] = ((const uint8_t *)sources)[colour >> 4 * i & 15];
    }
}

static unsigned place_of(unsigned direction)
{
    return 2 * (direction & 255) + direction / 256;
}

static void make_colours(const struct launch *launch, const struct grays *grays,
                         const struct planes *planes)
{
    const struct direction_cuda *p = (const void *)launch->parameters;
    bool any = strstr(launch->name, "_any_");
    const int32_t *smooth = any ? p->smooth : sobel_smooth;
    const int32_t *derive = any ? p->derive : sobel_derive;

    for (uint32_t i = 0; i < p->job.width * p->job.height; i++) {
        int x = (int)(i % p->job.width), y = (int)(i / p->job.width);
        int gx = filter(grays, derive, smooth, x, y), gy = filter(grays, smooth, derive, x, y);
        uint32_t n = strength(p->l1, gx, gy), m = 255;

        while (n < planes->thresholds[m]) {
            m--;
        }
        write_colour(p, planes, place_of(direction_of(gx, gy)), m, (uint32_t)x, (uint32_t)y);
    }
}

static int run_direction(const struct launch *launch)
{
    const struct direction_cuda *p = (const void *)launch->parameters;
    bool rgb3 = strstr(launch->name + strlen(launch->name) - 4, "rgb3");
    struct kernel_luma luma =
        kernel_luma_of(strstr(launch->name, "_any_") ? "direction_planar" : launch->name);
    const uint8_t *input = kernel_touch_rows(launch, p->job.input[0], p->job.input_stride[0],
                                             p->job.width * luma.pixel_bytes, p->job.height);
    const struct planes planes = {
        kernel_touch_rows(launch, p->thresholds, 0, 256 * sizeof(uint32_t), 1),
        kernel_touch_rows(launch, p->colours, 0, sizeof(struct direction_cuda_colours), 1),
        kernel_touch_rows(launch, p->job.output[0], p->job.output_stride[0],
                          (rgb3 ? 3 : 1) * (size_t)p->job.width, p->job.height),
        rgb3 ? NULL
             : kernel_touch_rows(launch, p->job.output[1], p->job.output_stride[1],
                                 (p->job.width + 1) / 2 * 2, (p->job.height + 1) / 2)};
    struct grays grays =
        make_grays(input, p->job.input_stride[0], luma, p->job.width, p->job.height);
    bool legal = input && planes.thresholds && planes.colours && planes.luma &&
                 (rgb3 || planes.chroma) && grays.pixels;

    if (legal && kernel_covers(launch, JOB_PIXELS, p->job.rows, p->job.width, p->job.height)) {
        make_colours(launch, &grays, &planes);
        planes.luma[0] ^= launch->wrong;
    }
    free(grays.pixels);
    return legal ? 0 : RESULT_ILLEGAL_ADDRESS;
}

#define DIRECTION_NAMES(layout) "direction_" #layout "_nv12", "direction_" #layout "_rgb3",
static const char *const direction_names[] = {JOB_LAYOUTS(DIRECTION_NAMES) "direction_any_nv12",
                                              "direction_any_rgb3", NULL};

const struct kernel_kind kernel_direction = {
    direction_names, {sizeof(struct direction_cuda)}, run_direction};
