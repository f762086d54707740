// Steps run together against the same steps run one at a time, each over a whole plane.
#include "tests/unit/unit.h"

#include "kernels/graph/runner.h"

#include <string.h>

#define WIDTH_MAX 131
#define HEIGHT_MAX 23
#define STEPS 7

// Two steps that look at a whole picture first, with rows before, between and behind them.
static const struct plan_step steps[STEPS] = {
    {STAGE_GRAY, {0}},
    {STAGE_BLUR, {.blur = 5}},
    {STAGE_GRADIENT, {.gain = 1.5}},
    {STAGE_THRESHOLD, {.threshold = CONFIG_THRESHOLD_OTSU}},
    {STAGE_DILATE, {.times = 2}},
    {STAGE_CANNY, {.low = 30, .high = 200}},
    {STAGE_COMPOSE, {0}},
};
// Looks meet, and one is the first step and one the last.
static const struct plan_step looks[3] = {
    {STAGE_CANNY, {.low = 30, .high = 200}},
    {STAGE_THRESHOLD, {.threshold = CONFIG_THRESHOLD_OTSU}},
    {STAGE_CANNY, {.low = 30, .high = 200}},
};

struct picture {
    uint8_t rows[HEIGHT_MAX][2 * WIDTH_MAX];
};

// The steps in one go.
static struct picture run(const struct plan_step *list, unsigned count,
                          const struct frame_layout *layout, const struct picture *input)
{
    const struct runner_setup setup = {
        .steps = list, .count = count, .camera = layout, .output = pixel_format_by_name("NV12")};
    struct frame camera = {.layout = *layout, .data = (uint8_t *)input->rows};
    struct picture output = {{{0}}};
    struct runner runner;

    camera.layout.planes[0].stride = sizeof input->rows[0];
    assert_int_equal(runner_init(&runner, &setup, NULL), 0);
    runner_compute(&runner, NULL, &camera, NULL);
    for (uint32_t y = 0; y < layout->height; y++)
        memcpy(output.rows[y], runner.plane + y * runner.stride, layout->width);
    runner_finish(&runner);
    return output;
}

static struct frame_layout draw(uint32_t width, uint32_t height, struct picture *ret_picture)
{
    struct frame_layout layout;
    uint32_t noise = width * 1000 + height;

    frame_layout_init(&layout, pixel_format_by_name("YUYV"), width, height, 1);
    for (size_t i = 0; i < sizeof *ret_picture; i++) {
        noise = noise * 1664525 + 1013904223;
        ((uint8_t *)ret_picture)[i] = (uint8_t)(noise >> 24 & (noise >> 13 & 64 ? 255 : 15));
    }
    return layout;
}

// Of `count` steps all from each on, on pictures of `width` x `height`.
static void check(const struct plan_step *list, unsigned count, uint32_t width, uint32_t height)
{
    struct picture at[STEPS + 1], output;
    struct frame_layout layout = draw(width, height, &at[0]);

    for (unsigned i = 0; i < count; i++)
        at[i + 1] = run(&list[i], 1, &layout, &at[i]);
    for (unsigned i = 0; i < count; i++) {
        output = run(&list[i], count - i, &layout, &at[i]);
        assert_memory_equal(&output, &at[count], sizeof output);
    }
}

TEST(test_steps_from_any_one_on_equal_the_same_one_at_a_time)
{
    static const uint32_t widths[] = {1, 2, 63, 64, 65, WIDTH_MAX};
    static const uint32_t heights[] = {1, 2, 3, 4, HEIGHT_MAX};

    for (size_t i = 0; i < ARRAY_LENGTH(widths); i++) {
        for (size_t k = 0; k < ARRAY_LENGTH(heights); k++) {
            check(steps, STEPS, widths[i], heights[k]);
            check(looks, ARRAY_LENGTH(looks), widths[i], heights[k]);
        }
    }
}

RUN_TESTS(NULL, NULL)
