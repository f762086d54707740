// What the light does, found among pixels that move; and what is still then, by hand.
#include "tests/unit/unit.h"

#include "kernels/events/light.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ONE (1 << 16)
#define COUNT 6000
#define THRESHOLD 25

struct scene {
    uint8_t previous[COUNT], current[COUNT];
};

static uint8_t level_of(double level)
{
    return (uint8_t)(level < 0 ? 0 : level > 255 ? 255 : lround(level));
}

// Levels from `low` to `high`, in the new light with noise of 2 levels.
static void paint(struct scene *scene, int low, int high, double gain, double offset)
{
    srand(1);
    for (int i = 0; i < COUNT; i++) {
        int level = low + rand() % (high - low + 1);

        scene->previous[i] = level_of(level + rand() % 5 - 2);
        scene->current[i] = level_of(gain * level + offset + rand() % 5 - 2);
    }
}

// `percent` of the samples become something of `level`.
static void move(struct scene *scene, unsigned percent, int level)
{
    for (int i = 0; i < COUNT; i++) {
        if ((unsigned)rand() % 100 < percent) {
            scene->current[i] = (uint8_t)level;
        }
    }
}

// How many samples are outside of what is still.
static int count_moved(const struct scene *scene)
{
    struct light light = light_estimate(scene->previous, scene->current, COUNT);
    struct bits_limits limits;
    bool changed = light_limits(&light, THRESHOLD, &limits);
    int moved = 0;

    for (int i = 0; i < COUNT; i++) {
        uint8_t previous = scene->previous[i], current = scene->current[i];

        moved += changed ? current < limits.low[previous] || current > limits.high[previous]
                         : abs(current - previous) > THRESHOLD;
    }
    return moved;
}

static bool is_changed(const struct scene *scene)
{
    struct light light = light_estimate(scene->previous, scene->current, COUNT);
    struct bits_limits limits;

    return light_limits(&light, THRESHOLD, &limits);
}

TEST(test_any_gain_and_offset_is_found)
{
    static const struct {
        double gain, offset;
    } lights[] = {{1.4, 0},   {0.6, 0},   {1 / 1.4, 0}, {1 / 0.6, 0}, {1, 60},
                  {1, -40},   {2.5, 0},   {0.3, 0},     {1.4, -6.4},  {0.6, 6.4},
                  {1.8, -60}, {0.5, 100}, {1.2, 0},     {0.8, 0}};

    for (size_t i = 0; i < sizeof lights / sizeof lights[0]; i++) {
        struct scene scene;

        paint(&scene, 0, 255, lights[i].gain, lights[i].offset);
        assert_true(is_changed(&scene));
        assert_int_equal(count_moved(&scene), 0);
        paint(&scene, 40, 120, lights[i].gain, lights[i].offset);
        assert_int_equal(count_moved(&scene), 0);
    }
}

TEST(test_the_estimate_is_near)
{
    struct scene scene;
    struct light light;

    paint(&scene, 30, 200, 0.7, 20);
    light = light_estimate(scene.previous, scene.current, COUNT);
    for (int level = 30; level <= 200; level++) {
        double found = ((double)light.gain * level + light.offset) / ONE;

        assert_true(fabs(found - (0.7 * level + 20)) < 2);
    }
}

// Less than half of each group: dark ones before a bright background, or the other way round.
TEST(test_what_moves_pulls_nothing_along)
{
    for (unsigned percent = 0; percent <= 40; percent += 10) {
        struct scene scene;

        paint(&scene, 60, 180, 1.4, 0);
        move(&scene, percent, 20);
        int moved = count_moved(&scene);
        assert_true(moved >= (int)percent * COUNT / 100 - 150);
        assert_true(moved <= (int)percent * COUNT / 100 + 150);

        paint(&scene, 60, 180, 1, 0);
        move(&scene, percent, 250);
        assert_false(is_changed(&scene));
    }
}

TEST(test_steady_light_is_no_change)
{
    struct scene scene;

    paint(&scene, 0, 255, 1, 0);
    assert_false(is_changed(&scene));
    paint(&scene, 100, 104, 1, 0);
    assert_false(is_changed(&scene));
    paint(&scene, 20, 230, 1.01, 1);
    assert_false(is_changed(&scene));
    assert_int_equal(count_moved(&scene), 0);
}

// A wall and something darker that is too small to be a group: the light multiplies both.
TEST(test_light_on_a_bare_wall_multiplies)
{
    struct scene scene;

    paint(&scene, 120, 124, 1.4, 0);
    for (int i = 0; i < 100; i++) {
        scene.previous[i] = 50;
        scene.current[i] = 70;
    }
    struct light light = light_estimate(scene.previous, scene.current, COUNT);
    assert_true(abs(light.gain - (int)(1.4 * ONE)) < ONE / 50);
    assert_int_equal(light.offset, 0);
    assert_int_equal(count_moved(&scene), 0);
}

TEST(test_another_scene_is_no_light)
{
    struct scene scene;

    srand(3);
    for (int i = 0; i < COUNT; i++) {
        scene.previous[i] = (uint8_t)(rand() % 256);
        scene.current[i] = (uint8_t)(rand() % 256);
    }
    assert_true(count_moved(&scene) > COUNT / 2);
    // What was bright is dark and the other way round.
    paint(&scene, 0, 255, -1, 255);
    assert_false(is_changed(&scene));
    assert_true(count_moved(&scene) > COUNT / 2);
}

// All samples that tell of the light are those of a lamp.
TEST(test_a_lamp_in_the_dark_is_not_the_light)
{
    struct scene scene;

    paint(&scene, 6, 12, 1, 0);
    for (int i = 0; i < COUNT / 5; i++) {
        scene.previous[i] = (uint8_t)(25 + i % 10);
        scene.current[i] = (uint8_t)(5 * scene.previous[i]);
    }
    assert_false(is_changed(&scene));
    assert_int_equal(count_moved(&scene), COUNT / 5);
}

TEST(test_too_few_samples_tell_nothing)
{
    struct scene scene;

    paint(&scene, 40, 120, 1.4, 0);
    struct light light = light_estimate(scene.previous, scene.current, 63);
    assert_int_equal(light.gain, ONE);
    assert_int_equal(light.offset, 0);
    light = light_estimate(scene.previous, scene.current, 0);
    assert_int_equal(light.gain, ONE);
    // Night, and a picture all white.
    paint(&scene, 0, 12, 1, 0);
    assert_false(is_changed(&scene));
    paint(&scene, 245, 255, 1, 0);
    assert_false(is_changed(&scene));
}

static void assert_still(const struct bits_limits *limits, int level, int low, int high)
{
    assert_int_equal(limits->low[level], low);
    assert_int_equal(limits->high[level], high);
}

TEST(test_what_is_still_by_hand)
{
    const struct light twice = {2 * ONE, 0}, half = {ONE / 2, 0}, more = {ONE, 6 * ONE};
    struct bits_limits limits;

    assert_true(light_limits(&twice, 10, &limits));
    assert_still(&limits, 50, 90, 110);
    assert_still(&limits, 120, 225, 255); // 240 is white: all that is as white or whiter
    assert_still(&limits, 255, 225, 255);
    assert_still(&limits, 10, 0, 30); // was black, or darker still
    assert_still(&limits, 8, 0, 26);
    assert_still(&limits, 17, 24, 44);

    assert_true(light_limits(&half, 10, &limits));
    assert_still(&limits, 100, 40, 60);
    assert_still(&limits, 101, 41, 61); // 50.5
    assert_still(&limits, 234, 107, 127);
    assert_still(&limits, 235, 108, 255); // was white, or brighter still
    assert_still(&limits, 255, 118, 255);
    assert_still(&limits, 30, 0, 26); // 15 is black

    assert_false(light_limits(&more, 24, &limits)); // 6 is a quarter
    assert_true(light_limits(&more, 23, &limits));
    assert_still(&limits, 100, 83, 129);
}

RUN_TESTS(NULL, NULL)
