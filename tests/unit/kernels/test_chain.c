// Chains against their steps taken one at a time, each over a whole plane.
#include "tests/unit/unit.h"

#include "kernels/graph/chain.h"

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

static struct chain *new_chain(const struct plan_step *first, unsigned count,
                               const struct frame_layout *layout)
{
    const struct stage_setup setup = {.input = layout, .output = pixel_format_by_name("NV12")};
    struct chain *chain;

    assert_int_equal(chain_new(first, count, &setup, NULL, &chain), 0);
    return chain;
}

static struct picture run(struct chain *chain, const struct picture *input)
{
    struct picture output = {{{0}}};

    chain_run(chain, input->rows[0], sizeof input->rows[0], output.rows[0], sizeof output.rows[0],
              NULL, NULL);
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

// A chain of `count` steps, and from each of them on, on pictures of `width` x `height`.
static void check(const struct plan_step *first, unsigned count, uint32_t width, uint32_t height)
{
    struct picture at[STEPS + 1], output;
    struct frame_layout layout = draw(width, height, &at[0]);
    struct chain *chain = new_chain(first, count, &layout);

    for (unsigned i = 0; i < count; i++) {
        struct chain *alone = new_chain(&first[i], 1, &layout);

        at[i + 1] = run(alone, &at[i]);
        chain_free(alone);
    }
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(chain_set_start(chain, i), 0);
        for (unsigned again = 0; again < 2; again++) {
            output = run(chain, &at[i]);
            assert_memory_equal(&output, &at[count], sizeof output);
        }
    }
    chain_free(chain);
}

TEST(test_a_chain_from_any_step_on_equals_its_steps_one_at_a_time)
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

TEST(test_the_frame_before_stays_when_the_start_changes)
{
    static const struct plan_step motion[] = {{STAGE_GRAY, {0}},
                                              {STAGE_DIFFERENCE, {.threshold = 1}}};
    struct picture picture, gray, output;
    struct frame_layout layout = draw(WIDTH_MAX, HEIGHT_MAX, &picture);
    struct chain *chain = new_chain(motion, 2, &layout);

    for (unsigned i = 0; i < HEIGHT_MAX * WIDTH_MAX; i++) {
        gray.rows[i / WIDTH_MAX][i % WIDTH_MAX] = picture.rows[i / WIDTH_MAX][i % WIDTH_MAX * 2];
    }
    run(chain, &picture);
    assert_int_equal(chain_set_start(chain, 1), 0);
    gray.rows[3][5] ^= 2;
    output = run(chain, &gray);
    for (unsigned i = 0; i < HEIGHT_MAX * WIDTH_MAX; i++) {
        assert_int_equal(output.rows[i / WIDTH_MAX][i % WIDTH_MAX],
                         i == 3 * WIDTH_MAX + 5 ? 255 : 0);
    }
    chain_free(chain);
    chain_free(NULL);
}

RUN_TESTS(NULL, NULL)
