// The meter on small frames drawn by hand, and on random ones against its definition.
#include "tests/unit/view_pictures.h"

#include "kernels/events/meter.h"
#include "kernels/graph/graph.h"

#include <stdlib.h>

#define RECTANGLE(left, top, right, bottom)                                                        \
    {                                                                                              \
        {left, top}, {right, top}, {right, bottom},                                                \
        {                                                                                          \
            left, bottom                                                                           \
        }                                                                                          \
    }

static struct config_region whole(int threshold, int erode)
{
    return (struct config_region){.threshold = threshold, .erode = erode};
}

static struct graph *graph;

static int begin(void **state)
{
    (void)state;
    return graph_new(&graph);
}

static int end(void **state)
{
    (void)state;
    graph_free(graph);
    return 0;
}

static void run(struct meter *meter, const struct frame *frame, struct region_reading *ret_readings)
{
    graph_begin(graph);
    meter_begin(meter, frame);
    meter_run(meter, frame, ret_readings);
}

static struct meter *new_meter(const struct frame *frame, const struct config_region *settings,
                               size_t count)
{
    struct watched_region regions[8] = {{0}};
    struct meter *meter;

    for (size_t i = 0; i < count; i++) {
        regions[i].settings = &settings[i];
    }
    assert_int_equal(meter_new(graph, &frame->layout, regions, count, &meter), 0);
    return meter;
}

// A frame whose gray is 100 and, where drawn with '#', 200.
static void draw(struct frame *frame, const char *const *rows)
{
    const struct pixel_format *format = frame->layout.format;
    size_t group = format->planes[0].bytes >> format->planes[0].shift_x;

    for (uint32_t y = 0; y < frame->layout.height; y++) {
        uint8_t *row = frame_plane(frame, 0) + y * frame->layout.planes[0].stride;

        for (uint32_t x = 0; x < frame->layout.width; x++) {
            uint8_t gray = rows[y][x] == '#' ? 200 : 100;

            for (size_t i = 0; i < group; i++) {
                bool is_luma = format->luma_step < 2 || i % 2 == format->luma_offset;

                row[x * group + i] = is_luma ? gray : (uint8_t)(y * 31 + x * 7 + gray / 3);
            }
        }
    }
}

static void assert_reading(const struct region_reading *reading, uint32_t moving, uint32_t x,
                           uint32_t y, uint32_t width, uint32_t height)
{
    assert_int_equal(reading->moving, moving);
    assert_int_equal(reading->x, x);
    assert_int_equal(reading->y, y);
    assert_int_equal(reading->width, width);
    assert_int_equal(reading->height, height);
}

static const char *const empty[] = {"........", "........", "........",
                                    "........", "........", "........"};
static const char *const block[] = {"........", "..####..", "..####..",
                                    "..###...", "........", ".......#"};

TEST(test_what_moves_is_counted_and_bounded)
{
    static const char *const formats[] = {"GREY", "NV12", "YUYV", "UYVY", "RGB3",
                                          "BGR3", "XR24", "YU12", "444P"};
    const struct config_region settings[] = {whole(25, 0), whole(25, 1), whole(99, 0),
                                             whole(100, 0)};

    for (size_t i = 0; i < ARRAY_LENGTH(formats); i++) {
        struct frame *frame = new_frame(formats[i], 8, 6, i % 3 * 5);
        struct meter *meter = new_meter(frame, settings, 4);
        struct region_reading readings[4];

        draw(frame, empty);
        run(meter, frame, readings);
        for (size_t j = 0; j < 4; j++) {
            assert_int_equal(readings[j].pixels, 48);
            assert_reading(&readings[j], 0, 0, 0, 0, 0);
        }
        for (unsigned turn = 0; turn < 2; turn++) {
            draw(frame, turn == 0 ? block : empty);
            run(meter, frame, readings);
            assert_reading(&readings[0], 12, 2, 1, 6, 5);
            assert_reading(&readings[1], 1, 3, 2, 1, 1);
            assert_reading(&readings[2], 12, 2, 1, 6, 5);
            assert_reading(&readings[3], 0, 0, 0, 0, 0);
        }
        run(meter, frame, readings);
        assert_reading(&readings[0], 0, 0, 0, 0, 0);
        meter_free(meter);
        frame_unref(frame);
    }
}

TEST(test_erosion_looks_at_what_lies_around_a_region)
{
    struct config_point corner[] = RECTANGLE(0.5, 0.5, 1, 1);
    struct config_region settings = {
        .polygon = corner, .polygon_count = 4, .threshold = 25, .erode = 1};
    struct frame *frame = new_frame("GREY", 8, 6, 0);
    struct meter *meter = new_meter(frame, &settings, 1);
    static const char *const large[] = {"........", ".######.", ".######.",
                                        ".######.", ".#####..", "........"};
    struct region_reading reading;

    draw(frame, empty);
    run(meter, frame, &reading);
    assert_int_equal(reading.pixels, 12);
    draw(frame, large);
    run(meter, frame, &reading);
    // Of the eroded rows 2 and 3, 2 to 5 and 2 to 4, those in the region: row 3, column 4.
    assert_reading(&reading, 1, 4, 3, 1, 1);
    meter_free(meter);
    frame_unref(frame);
}

TEST(test_regions_do_not_mix)
{
    struct config_point left[] = RECTANGLE(0, 0, 0.5, 1), right[] = RECTANGLE(0.5, 0, 1, 1);
    struct config_region settings[] = {
        {.polygon = left, .polygon_count = 4, .threshold = 25},
        {.polygon = right, .polygon_count = 4, .threshold = 25},
    };
    struct frame *frame = new_frame("NV12", 8, 6, 0);
    struct meter *meter = new_meter(frame, settings, 2);
    struct region_reading readings[2];

    draw(frame, empty);
    run(meter, frame, readings);
    draw(frame, block);
    run(meter, frame, readings);
    assert_reading(&readings[0], 6, 2, 1, 2, 3);
    assert_reading(&readings[1], 6, 4, 1, 4, 5);
    assert_int_equal(meter_pixels(meter, 0), 24);
    meter_free(meter);
    frame_unref(frame);
}

TEST(test_a_region_without_pixels_never_moves)
{
    struct config_point line[] = {{0.1, 0.1}, {0.12, 0.1}, {0.11, 0.12}};
    struct config_region settings[] = {
        {.polygon = line, .polygon_count = 3, .threshold = 1, .erode = 2}, whole(1, 2)};
    struct watched_region regions[] = {{&settings[0], NULL, false}, {&settings[1], NULL, true}};
    struct frame *frame = new_frame("GREY", 8, 6, 0);
    struct region_reading readings[2];
    struct meter *meter;

    assert_int_equal(meter_new(graph, &frame->layout, regions, 2, &meter), 0);
    draw(frame, empty);
    run(meter, frame, readings);
    draw(frame, block);
    run(meter, frame, readings);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(readings[i].pixels, 0);
        assert_reading(&readings[i], 0, 0, 0, 0, 0);
    }
    meter_free(meter);
    frame_unref(frame);
}

struct picture {
    uint32_t width, height;
    uint8_t *gray;
};

// Whether a pixel has moved and erosion leaves it, by the definition.
static bool is_left(const struct picture *now, const struct picture *before, int threshold,
                    int erode, long x, long y)
{
    for (long v = y - erode; v <= y + erode; v++) {
        for (long u = x - erode; u <= x + erode; u++) {
            bool inside = u >= 0 && v >= 0 && u < now->width && v < now->height;
            size_t at = (size_t)v * now->width + (size_t)u;

            if (inside && abs(now->gray[at] - before->gray[at]) <= threshold) {
                return false;
            }
        }
    }
    return true;
}

static struct region_reading measure(const struct picture *now, const struct picture *before,
                                     const struct config_region *settings)
{
    uint32_t left = UINT32_MAX, right = 0, top = UINT32_MAX, bottom = 0;
    struct region_reading reading = {0};
    uint64_t bits[8];

    for (uint32_t y = 0; y < now->height; y++) {
        region_draw_polygon(settings->polygon, settings->polygon_count, now->width, now->height, y,
                            bits);
        for (uint32_t x = 0; x < now->width; x++) {
            bool inside = bits[x / 64] >> x % 64 & 1;

            reading.pixels += inside;
            if (inside && is_left(now, before, settings->threshold, settings->erode, x, y)) {
                reading.moving++;
                left = x < left ? x : left;
                right = x + 1 > right ? x + 1 : right;
                top = y < top ? y : top;
                bottom = y + 1;
            }
        }
    }
    if (reading.moving) {
        reading.x = left;
        reading.y = top;
        reading.width = right - left;
        reading.height = bottom - top;
    }
    return reading;
}

// Blocks that move over a ground that does not, so that erosion leaves something; the frame shows
// them in GREY. All is too dark or too bright to tell of the light, which so is steady.
static void paint(struct picture *picture, struct frame *frame)
{
    for (size_t i = 0; i < (size_t)picture->width * picture->height; i++) {
        picture->gray[i] = (uint8_t)(i % 7);
    }
    for (int i = 0; i < 3; i++) {
        uint32_t left = (uint32_t)rand() % picture->width, top = (uint32_t)rand() % picture->height;
        uint32_t right = left + 1 + (uint32_t)rand() % 30, bottom = top + 1 + (uint32_t)rand() % 9;
        uint8_t gray = (uint8_t)(rand() % 40 - 20);

        for (uint32_t y = top; y < bottom && y < picture->height; y++) {
            for (uint32_t x = left; x < right && x < picture->width; x++) {
                picture->gray[(size_t)y * picture->width + x] = gray;
            }
        }
    }
    for (uint32_t y = 0; y < picture->height; y++) {
        set_row(frame, 0, y, picture->gray + (size_t)y * picture->width);
    }
}

static void check_random(uint32_t width, uint32_t height)
{
    struct config_point corners[3][5];
    struct config_region settings[3];
    struct picture pictures[2] = {{width, height, malloc((size_t)width * height)},
                                  {width, height, malloc((size_t)width * height)}};
    struct frame *frame = new_frame("GREY", width, height, (size_t)rand() % 9);
    struct region_reading readings[3];

    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 5; j++) {
            corners[i][j] = (struct config_point){rand() % 21 / 20.0, rand() % 21 / 20.0};
        }
        settings[i] = (struct config_region){.polygon = corners[i],
                                             .polygon_count = (size_t)(3 + rand() % 3),
                                             .threshold = 1 + rand() % 100,
                                             .erode = rand() % 9 % (1 + rand() % 9)};
    }
    struct meter *meter = new_meter(frame, settings, 3);
    for (int number = 0; number < 4; number++) {
        paint(&pictures[number % 2], frame);
        run(meter, frame, readings);
        for (int i = 0; i < 3 && number > 0; i++) {
            struct region_reading expected =
                measure(&pictures[number % 2], &pictures[(number + 1) % 2], &settings[i]);

            assert_memory_equal(&readings[i], &expected, sizeof expected);
        }
    }
    meter_free(meter);
    frame_unref(frame);
    free(pictures[0].gray);
    free(pictures[1].gray);
}

TEST(test_random_frames_are_measured_by_the_definition)
{
    srand(random_seed());
    for (int i = 0; i < 150; i++) {
        check_random(1 + (uint32_t)rand() % 300, 1 + (uint32_t)rand() % 40);
    }
    check_random(64, 9);
    check_random(128, 1);
    check_random(1, 40);
    check_random(129, 33);
}

// A ramp of gray in twice the light, and a dark block that comes with it.
TEST(test_what_moves_is_found_while_the_light_changes)
{
    const struct config_region settings = whole(25, 1);
    struct frame *frame = new_frame("GREY", 200, 50, 3);
    struct meter *meter = new_meter(frame, &settings, 1);
    struct region_reading reading;

    for (unsigned number = 0; number < 4; number++) {
        for (uint32_t y = 0; y < 50; y++) {
            uint8_t *row = frame_plane(frame, 0) + y * frame->layout.planes[0].stride;

            for (uint32_t x = 0; x < 200; x++) {
                bool covered = number == 1 && x >= 70 && x < 90 && y >= 10 && y < 30;

                row[x] = (uint8_t)((25 + x / 2) * (number % 2 ? 2 : 1) / (covered ? 4 : 1));
            }
        }
        run(meter, frame, &reading);
        if (number == 0 || number == 3) {
            assert_reading(&reading, 0, 0, 0, 0, 0);
        } else {
            assert_reading(&reading, 18 * 18, 71, 11, 18, 18);
        }
    }
    meter_free(meter);
    frame_unref(frame);
}

RUN_TESTS(begin, end)
