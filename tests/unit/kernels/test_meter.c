// The meter on pictures whose cells are pixels, drawn by hand. tests/golden has real ones, beside
// the definition in numpy.
#include "tests/unit/unit.h"

#include "kernels/events/meter.h"

#include <math.h>
#include <string.h>

#define WIDTH 160
#define HEIGHT 90
#define LOOK_NS (100 * NS_PER_MS)

static uint8_t picture[HEIGHT][WIDTH];
static struct region_reading readings[4];

static struct meter *new_meter(const struct config_region *settings, size_t count)
{
    struct watched_region regions[4] = {{0}};
    struct meter *meter;

    for (size_t i = 0; i < count; i++)
        regions[i].settings = &settings[i];
    assert_int_equal(meter_new(WIDTH, HEIGHT, &meter), 0);
    assert_int_equal(meter_set_regions(meter, regions, count), 0);
    return meter;
}

static struct config_region whole(int threshold, int erode)
{
    return (struct config_region){.threshold = threshold, .erode = erode};
}

static void fill(uint8_t level)
{
    memset(picture, level, sizeof picture);
}

static void draw(unsigned x, unsigned y, unsigned width, unsigned height, uint8_t level)
{
    for (unsigned v = y; v < y + height; v++)
        memset(&picture[v][x], level, width);
}

static bool look(struct meter *meter, int64_t pts_ns)
{
    assert_true(meter_is_due(meter, pts_ns));
    return meter_look(meter, pts_ns, picture[0], readings);
}

static void assert_reading(size_t index, uint32_t moving, uint32_t x, uint32_t y, uint32_t width,
                           uint32_t height)
{
    const struct region_reading *reading = &readings[index];

    assert_int_equal(reading->moving, moving);
    assert_int_equal(reading->x, x);
    assert_int_equal(reading->y, y);
    assert_int_equal(reading->width, width);
    assert_int_equal(reading->height, height);
}

TEST(test_what_comes_is_counted_with_its_rim_and_bounded_without)
{
    const struct config_region settings[] = {whole(25, 1), whole(99, 1), whole(100, 1)};
    struct meter *meter = new_meter(settings, 3);

    fill(100);
    assert_false(look(meter, 0));
    assert_true(look(meter, LOOK_NS));
    assert_reading(0, 0, 0, 0, 0, 0);
    assert_int_equal(readings[0].cells, WIDTH * HEIGHT);
    draw(30, 20, 10, 6, 200);
    assert_true(look(meter, 2 * LOOK_NS));
    assert_reading(0, (10 + 8) * (6 + 8), 30, 20, 10, 6);
    assert_reading(1, (10 + 8) * (6 + 8), 30, 20, 10, 6);
    assert_reading(2, 0, 0, 0, 0, 0);
    meter_free(meter);
}

TEST(test_a_rim_ends_where_the_picture_does)
{
    const struct config_region settings = whole(25, 1);
    struct meter *meter = new_meter(&settings, 1);

    fill(100);
    look(meter, 0);
    draw(0, 0, 3, 3, 200);
    draw(WIDTH - 4, HEIGHT - 5, 4, 5, 0);
    assert_true(look(meter, LOOK_NS));
    assert_reading(0, 7 * 7 + 8 * 9, 0, 0, WIDTH, HEIGHT);
    meter_free(meter);
}

TEST(test_erode_is_how_large_a_group_has_to_be)
{
    static const struct {
        int erode;
        unsigned side; // of the least square that moves
    } cases[] = {{0, 1}, {1, 3}, {2, 5}, {8, 17}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        for (unsigned less = 0; less < 2; less++) {
            const struct config_region settings = whole(25, cases[i].erode);
            struct meter *meter = new_meter(&settings, 1);

            fill(100);
            look(meter, 0);
            draw(50, 40, cases[i].side - less, cases[i].side - less, 200);
            assert_true(look(meter, LOOK_NS));
            assert_int_equal(readings[0].moving > 0, !less);
            meter_free(meter);
        }
    }
}

TEST(test_cells_that_touch_at_a_corner_are_one_group)
{
    const struct config_region settings = whole(25, 1);
    struct meter *meter = new_meter(&settings, 1);

    fill(100);
    look(meter, 0);
    for (unsigned i = 0; i < 9; i++)
        draw(20 + i, 20 + i, 1, 1, 200);
    for (unsigned i = 0; i < 40; i++) // as many more, each by itself
        draw(60 + i % 10 * 4, 40 + i / 10 * 4, 1, 1, 200);
    assert_true(look(meter, LOOK_NS));
    assert_int_equal(readings[0].x, 20);
    assert_int_equal(readings[0].width, 9);
    assert_int_equal(readings[0].height, 9);
    meter_free(meter);
}

#define RECTANGLE(left, top, right, bottom)                                                        \
    {                                                                                              \
        {left, top}, {right, top}, {right, bottom},                                                \
        {                                                                                          \
            left, bottom                                                                           \
        }                                                                                          \
    }

TEST(test_a_region_counts_its_own_cells_and_no_neighbours)
{
    struct config_point left[] = RECTANGLE(0, 0, 0.5, 1), right[] = RECTANGLE(0.5, 0, 1, 1);
    const struct config_region settings[] = {
        {.polygon = left, .polygon_count = 4, .threshold = 25, .erode = 1},
        {.polygon = right, .polygon_count = 4, .threshold = 25, .erode = 1},
    };
    struct meter *meter = new_meter(settings, 2);

    assert_int_equal(meter_cells(meter, 0), WIDTH * HEIGHT / 2);
    fill(100);
    look(meter, 0);
    draw(76, 40, 4, 4, 200); // beside the border
    look(meter, LOOK_NS);
    assert_reading(0, 8 * 12, 76, 40, 4, 4);
    assert_reading(1, 0, 0, 0, 0, 0);
    draw(80, 40, 1, 4, 200); // over it: of one group, whatever its share here
    look(meter, 2 * LOOK_NS);
    assert_reading(1, 5 * 12, 80, 40, 1, 4);
    meter_free(meter);
}

TEST(test_a_region_without_cells_never_moves)
{
    struct config_point line[] = {{0.1, 0.1}, {0.102, 0.1}, {0.101, 0.102}};
    struct config_region settings[] = {
        {.polygon = line, .polygon_count = 3, .threshold = 1, .erode = 0}, whole(1, 0)};
    struct watched_region regions[] = {{&settings[0], NULL, false}, {&settings[1], NULL, true}};
    struct meter *meter;

    assert_int_equal(meter_new(WIDTH, HEIGHT, &meter), 0);
    assert_int_equal(meter_set_regions(meter, regions, 2), 0);
    fill(100);
    look(meter, 0);
    draw(10, 5, 30, 20, 200);
    look(meter, LOOK_NS);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(meter_cells(meter, i), 0);
        assert_reading(i, 0, 0, 0, 0, 0);
    }
    meter_free(meter);
}

// A ramp, so that there is structure in the picture, times `gain`.
static void light(double gain)
{
    for (unsigned y = 0; y < HEIGHT; y++) {
        for (unsigned x = 0; x < WIDTH; x++)
            picture[y][x] = (uint8_t)fmin(lrint(gain * (30 + x / 2 + 20 * (y / 9 % 2))), 255);
    }
}

TEST(test_other_light_tells_nothing_and_is_where_motion_goes_on_from)
{
    const struct config_region settings = whole(25, 1);
    struct meter *meter = new_meter(&settings, 1);

    light(1);
    look(meter, 0);
    light(2);
    assert_false(look(meter, LOOK_NS));
    assert_true(look(meter, 2 * LOOK_NS));
    assert_reading(0, 0, 0, 0, 0, 0);
    draw(100, 30, 6, 12, 10);
    assert_true(look(meter, 3 * LOOK_NS));
    assert_int_equal(readings[0].moving, 14 * 20);
    meter_free(meter);
}

// It lights up less than two fifths of the picture, by up to 90 levels.
TEST(test_a_lamp_is_no_motion_and_a_figure_in_it_is)
{
    const struct config_region settings = whole(25, 1);
    struct meter *meter = new_meter(&settings, 1);

    light(1);
    look(meter, 0);
    for (unsigned y = 0; y < HEIGHT; y++) {
        for (unsigned x = 0; x < WIDTH; x++) {
            double away = hypot((double)x - 110, (double)y - 40) / 16;

            picture[y][x] = (uint8_t)lrint(picture[y][x] * (1 + exp(-away * away / 2)));
        }
    }
    assert_true(look(meter, LOOK_NS));
    assert_reading(0, 0, 0, 0, 0, 0);
    draw(108, 34, 5, 14, 20);
    assert_true(look(meter, 2 * LOOK_NS));
    assert_true(readings[0].moving >= 13 * 22);
    meter_free(meter);
}

// It makes the middle of its light white, where all structure goes.
TEST(test_a_lamp_that_blinds_the_camera_is_no_motion)
{
    const struct config_region settings = whole(25, 1);
    struct meter *meter = new_meter(&settings, 1);

    light(1.4);
    look(meter, 0);
    for (unsigned turn = 1; turn < 20; turn++) {
        light(1.4);
        for (unsigned y = 0; y < HEIGHT; y++) {
            for (unsigned x = 0; x < WIDTH && turn % 10 < 5; x++) {
                double away = hypot((double)x - 110, (double)y - 40) / 14;

                picture[y][x] =
                    (uint8_t)fmin(lrint(picture[y][x] * (1 + 1.5 * exp(-away * away / 2))), 255);
            }
        }
        assert_true(look(meter, turn * LOOK_NS));
        assert_reading(0, 0, 0, 0, 0, 0);
    }
    meter_free(meter);
}

// Stripes that move by a part of their distance in each look.
TEST(test_motion_that_fills_the_picture_is_motion)
{
    const struct config_region settings = whole(25, 1);
    struct meter *meter = new_meter(&settings, 1);

    for (unsigned number = 0; number < 5; number++) {
        for (unsigned y = 0; y < HEIGHT; y++) {
            for (unsigned x = 0; x < WIDTH; x++)
                picture[y][x] = (x + 5 * number) / 8 % 2 ? 180 : 60;
        }
        assert_int_equal(look(meter, number * LOOK_NS), number >= 2);
    }
    assert_true(readings[0].moving * 2 > readings[0].cells);
    meter_free(meter);
}

TEST(test_what_stays_is_part_of_the_picture_after_some_seconds)
{
    const struct config_region settings = whole(25, 1);
    struct meter *meter = new_meter(&settings, 1);
    int64_t number = 1;

    fill(100);
    look(meter, 0);
    draw(30, 20, 10, 10, 180);
    do
        look(meter, number++ * LOOK_NS);
    while (readings[0].moving > 0);
    assert_in_range(number, 15, 40);
    meter_free(meter);
}

// A patch whose bars change their levels with each look, back and forth.
TEST(test_what_never_rests_stops_to_count_and_a_figure_still_does)
{
    const struct config_region settings = whole(25, 1);
    struct meter *meter = new_meter(&settings, 1);

    fill(100);
    for (int64_t number = 0; number < 300; number++) {
        for (unsigned y = 50; y < 70; y++) {
            for (unsigned x = 20; x < 60; x++)
                picture[y][x] = number % 2 == x / 4 % 2 ? 100 : 160;
        }
        look(meter, number * LOOK_NS);
        if (number == 1)
            assert_true(readings[0].moving > 0);
    }
    assert_reading(0, 0, 0, 0, 0, 0);
    draw(100, 50, 5, 12, 150);
    look(meter, 300 * LOOK_NS);
    assert_int_equal(readings[0].moving, 13 * 20);
    meter_free(meter);
}

// Of 60 levels, there for a second of every five.
TEST(test_everybody_on_a_busy_path_is_found)
{
    const struct config_region settings = whole(25, 1);
    struct meter *meter = new_meter(&settings, 1);

    for (int64_t number = 0; number < 1800; number++) {
        fill(100);
        if (number % 50 >= 40)
            draw(60, 40, 6, 14, 160);
        look(meter, number * LOOK_NS);
        if (number % 50 == 40)
            assert_int_equal(readings[0].moving, 14 * 22);
    }
    meter_free(meter);
}

TEST(test_there_are_ten_looks_a_second_whatever_the_rate)
{
    static const unsigned rates[] = {2, 5, 10, 15, 25, 30, 60, 120};

    for (size_t i = 0; i < ARRAY_LENGTH(rates); i++) {
        const struct config_region settings = whole(25, 1);
        struct meter *meter = new_meter(&settings, 1);
        unsigned looks = 0, expected = rates[i] < 10 ? rates[i] : 10;

        for (unsigned number = 0; number < 10 * rates[i]; number++) {
            int64_t pts_ns = number * NS_PER_S / rates[i];

            if (meter_is_due(meter, pts_ns)) {
                meter_look(meter, pts_ns, picture[0], readings);
                looks++;
            }
        }
        assert_in_range(looks, 10 * expected - 1, 10 * expected);
        meter_free(meter);
    }
}

TEST(test_a_camera_of_a_frame_a_second_or_in_three_seconds_is_measured)
{
    for (int64_t period_ns = NS_PER_S; period_ns <= 3 * NS_PER_S; period_ns += 2 * NS_PER_S) {
        const struct config_region settings = whole(25, 1);
        struct meter *meter = new_meter(&settings, 1);

        for (unsigned number = 0; number < 5; number++) {
            fill(100);
            draw(20 * number, 20, 10, 10, 180);
            assert_int_equal(look(meter, number * period_ns), number > 0);
            assert_true(number == 0 || readings[0].moving > 0);
        }
        meter_free(meter);
    }
}

TEST(test_after_a_gap_or_a_step_back_the_picture_is_new)
{
    static const int64_t times_ns[] = {5 * NS_PER_S + LOOK_NS, LOOK_NS, 0, -5 * NS_PER_S};

    for (size_t i = 0; i < ARRAY_LENGTH(times_ns); i++) {
        const struct config_region settings = whole(25, 1);
        struct meter *meter = new_meter(&settings, 1);

        fill(100);
        look(meter, 0);
        look(meter, LOOK_NS);
        draw(30, 20, 10, 10, 180);
        assert_false(look(meter, times_ns[i]));
        assert_true(look(meter, times_ns[i] + LOOK_NS));
        assert_reading(0, 0, 0, 0, 0, 0);
        meter_free(meter);
    }
}

TEST(test_other_regions_are_compared_with_the_same_picture)
{
    const struct config_region settings[] = {whole(25, 1), whole(10, 0)};
    const struct watched_region other = {.settings = &settings[1]};
    struct meter *meter = new_meter(settings, 1);

    fill(100);
    look(meter, 0);
    assert_int_equal(meter_set_regions(meter, &other, 1), 0);
    draw(30, 20, 10, 10, 115);
    assert_true(look(meter, LOOK_NS));
    assert_reading(0, 18 * 18, 30, 20, 10, 10);
    meter_free(meter);
}

RUN_TESTS(NULL, NULL)
