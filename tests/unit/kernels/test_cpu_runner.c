// Nodes run together against the same nodes run one at a time, each over a whole plane.
#include "tests/unit/unit.h"

#include "kernels/graph/cpu_runner.h"

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

static void get_nodes(const struct plan_step *list, unsigned count,
                      const struct frame_layout *layout, struct node **nodes, struct node **ret)
{
    struct node_setup setup = {.camera = layout, .output = pixel_format_by_name("NV12")};

    for (unsigned i = 0; i < count; i++) {
        setup.step = list[i];
        assert_int_equal(node_get(nodes, &setup, NULL, &ret[i]), 0);
        setup.input = ret[i];
    }
}

static void put_nodes(struct node **nodes, unsigned count)
{
    while (count > 0) {
        node_unref(nodes[--count]);
    }
}

static struct picture run(struct node *const *nodes, unsigned count, const struct picture *input)
{
    struct picture output = {{{0}}};
    const struct frame camera = {.layout = nodes[0]->camera};
    struct cpu_runner *runner;

    assert_int_equal(cpu_runner_new(nodes, count, NULL, NULL, &runner), 0);
    cpu_runner_run(runner, input->rows[0], sizeof input->rows[0], output.rows[0],
                   sizeof output.rows[0], &camera, NULL);
    cpu_runner_free(runner);
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
    struct node *nodes = NULL, *path[STEPS];

    get_nodes(list, count, &layout, &nodes, path);
    for (unsigned i = 0; i < count; i++) {
        at[i + 1] = run(&path[i], 1, &at[i]);
    }
    for (unsigned i = 0; i < count; i++) {
        output = run(&path[i], count - i, &at[i]);
        assert_memory_equal(&output, &at[count], sizeof output);
    }
    put_nodes(path, count);
    assert_null(nodes);
}

TEST(test_nodes_from_any_one_on_equal_the_same_one_at_a_time)
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

TEST(test_the_frame_before_stays_with_the_nodes_that_another_runner_runs)
{
    static const struct plan_step motion[] = {{STAGE_GRAY, {0}},
                                              {STAGE_DIFFERENCE, {.threshold = 1}}};
    struct picture picture, gray, output;
    struct frame_layout layout = draw(WIDTH_MAX, HEIGHT_MAX, &picture);
    struct node *nodes = NULL, *path[2];

    get_nodes(motion, 2, &layout, &nodes, path);

    for (unsigned i = 0; i < HEIGHT_MAX * WIDTH_MAX; i++) {
        gray.rows[i / WIDTH_MAX][i % WIDTH_MAX] = picture.rows[i / WIDTH_MAX][i % WIDTH_MAX * 2];
    }
    run(path, 2, &picture);
    gray.rows[3][5] ^= 2;
    output = run(&path[1], 1, &gray);
    for (unsigned i = 0; i < HEIGHT_MAX * WIDTH_MAX; i++) {
        assert_int_equal(output.rows[i / WIDTH_MAX][i % WIDTH_MAX],
                         i == 3 * WIDTH_MAX + 5 ? 255 : 0);
    }
    put_nodes(path, 2);
    cpu_runner_free(NULL);
}

RUN_TESTS(NULL, NULL)
