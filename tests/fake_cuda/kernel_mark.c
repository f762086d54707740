// mark.cu, pixel by pixel.
#include "kernels/mark_cuda.h"

#include "tests/fake_cuda/kernel.h"

#include <string.h>

// What a kernel reads and writes.
struct planes {
    const uint8_t *mask, *input;
    uint8_t *luma, *chroma;
};

static bool is_set(const struct launch *launch, const uint8_t *mask, int64_t x, int64_t y)
{
    const struct mark_cuda *p = (const void *)launch->parameters;
    size_t row = (size_t)y * p->mask_stride;

    if (x < 0 || y < 0 || x >= p->width || y >= p->height) {
        return true;
    }
    return strstr(launch->name, "_bytes") ? mask[row + (size_t)x] != 0
                                          : mask[row + (size_t)x / 8] >> x % 8 & 1;
}

static bool survives(const struct launch *launch, const uint8_t *mask, int64_t x, int64_t y)
{
    const struct mark_cuda *p = (const void *)launch->parameters;
    int reach = strstr(launch->name, "_bytes") ? 0 : (int)p->erode;

    for (int dy = -reach; dy <= reach; dy++) {
        for (int dx = -reach; dx <= reach; dx++) {
            if (!is_set(launch, mask, x + dx, y + dy)) {
                return false;
            }
        }
    }
    return true;
}

static int32_t limit(int32_t value)
{
    return value < 0 ? 0 : value > 255 ? 255 : value;
}

// A pixel of NV12, given the chroma it had at first.
static void mark_nv12(const struct launch *launch, const struct planes *at, uint32_t x, uint32_t y,
                      const uint8_t *before)
{
    const struct mark_cuda *p = (const void *)launch->parameters;
    const struct mark_cuda_space *space = &p->space;
    uint8_t *luma = at->luma + (size_t)y * p->output_stride[0] + x;
    uint8_t *chroma = at->chroma + (size_t)(y / 2) * p->output_stride[1] + x / 2 * 2;
    int32_t green, blue;

    if (strstr(launch->name, "_rgb_")) {
        const uint8_t *pixel = at->input + (size_t)y * p->input_stride + (size_t)x * p->input_step;

        green = pixel[1] >> space->shift;
        blue = pixel[p->blue_first ? 0 : 2] >> space->shift;
    } else {
        int32_t above = *luma > space->black ? *luma - space->black : 0, u = before[0] - 128,
                v = before[1] - 128;

        green = limit((space->luma * above + space->u_green * u + space->v_green * v + (1 << 19)) >>
                      20) >>
                space->shift;
        blue = limit((space->luma * above + space->u_blue * u + (1 << 19)) >> 20) >> space->shift;
    }
    *luma = (uint8_t)((space->y_constant + space->y_green * green + space->y_blue * blue) >> 20);
    if (x % 2 == 0 && y % 2 == 0) {
        chroma[0] = (uint8_t)limit(
            (space->u_constant + space->u_green_out * green + space->u_blue_out * blue) >> 20);
        chroma[1] = (uint8_t)limit(
            (space->v_constant + space->v_green_out * green + space->v_blue_out * blue) >> 20);
    }
}

static void mark_two_by_two(const struct launch *launch, const struct planes *at, uint32_t x,
                            uint32_t y)
{
    const struct mark_cuda *p = (const void *)launch->parameters;
    bool rgb3 = strstr(launch->name, "_rgb3_");
    uint8_t before[2] = {0};

    if (!rgb3) {
        memcpy(before, at->chroma + (size_t)(y / 2) * p->output_stride[1] + x, 2);
    }
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t px = x + i % 2, py = y + i / 2;

        if (px >= p->width || py >= p->height || !survives(launch, at->mask, px, py)) {
            continue;
        }
        if (rgb3) {
            uint8_t *pixel = at->luma + (size_t)py * p->output_stride[0] + 3 * (size_t)px;

            pixel[0] = 255;
            pixel[1] >>= p->space.shift;
            pixel[2] >>= p->space.shift;
        } else {
            mark_nv12(launch, at, px, py, before);
        }
    }
}

static void mark_picture(const struct launch *launch, const struct planes *at)
{
    const struct mark_cuda *p = (const void *)launch->parameters;

    for (uint32_t y = 0; y < p->height; y += 2) {
        for (uint32_t x = 0; x < p->width; x += 2) {
            mark_two_by_two(launch, at, x, y);
        }
    }
}

static int run(const struct launch *launch)
{
    const struct mark_cuda *p = (const void *)launch->parameters;
    bool bytes = strstr(launch->name, "_bytes"), rgb3 = strstr(launch->name, "_rgb3_");
    bool rgb = strstr(launch->name, "_rgb_");
    const struct planes at = {
        kernel_touch_rows(launch, p->mask, p->mask_stride, bytes ? p->width : (p->width + 7) / 8,
                          p->height),
        rgb ? kernel_touch_rows(launch, p->input, p->input_stride, (size_t)p->width * p->input_step,
                                p->height)
            : NULL,
        kernel_touch_rows(launch, p->output[0], p->output_stride[0], (rgb3 ? 3 : 1) * p->width,
                          p->height),
        rgb3 ? NULL
             : kernel_touch_rows(launch, p->output[1], p->output_stride[1], (p->width + 1) / 2 * 2,
                                 (p->height + 1) / 2),
    };

    if (!at.mask || (rgb && !at.input) || !at.luma || (!rgb3 && !at.chroma)) {
        return RESULT_ILLEGAL_ADDRESS;
    }
    if (!kernel_covers(launch, TILE_CUDA_PIXELS, MARK_CUDA_ROWS, p->width, p->height)) {
        return 0;
    }
    mark_picture(launch, &at);
    return 0;
}

void kernel_mark_nv12(const struct mark_cuda *parameters, const uint8_t *bits, uint8_t *luma,
                      uint8_t *chroma)
{
    const struct planes at = {.mask = bits, .luma = luma, .chroma = chroma};
    struct launch launch = {.name = "mark_yuv_bits"};

    memcpy(launch.parameters, parameters, sizeof *parameters);
    mark_picture(&launch, &at);
}

#define NAME(target, form) "mark_" #target "_" #form,
static const char *const names[] = {MARK_CUDA_KERNELS(NAME) NULL};

const struct kernel_kind kernel_mark = {names, {sizeof(struct mark_cuda)}, run};
