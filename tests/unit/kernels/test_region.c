// Regions drawn on small pictures by hand.
#include "tests/unit/unit.h"

#include "kernels/mask/region.h"

#include <string.h>

#define POLYGON(...)                                                                               \
    (const struct config_point[]){__VA_ARGS__},                                                    \
        sizeof(const struct config_point[]){__VA_ARGS__} / sizeof(struct config_point)

static void assert_row(const uint64_t *bits, const char *drawing)
{
    size_t width = strlen(drawing);

    for (size_t x = 0; x < width; x++)
        assert_int_equal(bits[x / 64] >> x % 64 & 1, drawing[x] == '#');
    // Behind the picture there is nothing.
    assert_int_equal(width % 64 ? bits[width / 64] >> width % 64 : 0, 0);
}

static void check(const struct config_point *polygon, size_t count, uint32_t height,
                  const char *const *drawing)
{
    for (uint32_t y = 0; y < height; y++) {
        uint64_t bits[2] = {UINT64_MAX, UINT64_MAX};

        region_draw_polygon(polygon, count, (uint32_t)strlen(drawing[y]), height, y, bits);
        assert_row(bits, drawing[y]);
    }
}

TEST(test_a_polygon_holds_the_pixels_whose_centres_it_encloses)
{
    static const char *const all[] = {"########", "########"};
    static const char *const middle[] = {"........", "..####..", "..####..", "........"};
    // The diagonal runs through the centres, which belong to what is right of it.
    static const char *const triangle[] = {"####", ".###", "..##", "...#"};
    static const char *const other[] = {"....", "#...", "##..", "###."};

    check(POLYGON({0, 0}, {1, 0}, {1, 1}, {0, 1}), 2, all);
    check(POLYGON({0.25, 0.25}, {0.75, 0.25}, {0.75, 0.75}, {0.25, 0.75}), 4, middle);
    check(POLYGON({0.25, 0.75}, {0.75, 0.75}, {0.75, 0.25}, {0.25, 0.25}), 4, middle);
    check(POLYGON({0, 0}, {1, 0}, {1, 1}), 4, triangle);
    check(POLYGON({0, 0}, {0, 1}, {1, 1}), 4, other);
}

TEST(test_edges_that_two_polygons_share_belong_to_one)
{
    // Edges through the centres of column 2 and of row 1.
    static const char *const left[] = {"##....", "##....", "##...."};
    static const char *const right[] = {"..####", "..####", "..####"};
    static const char *const top[] = {"######", "......", "......"};
    static const char *const bottom[] = {"......", "######", "######"};
    const double x = 2.5 / 6, y = 0.5;

    check(POLYGON({0, 0}, {x, 0}, {x, 1}, {0, 1}), 3, left);
    check(POLYGON({x, 0}, {1, 0}, {1, 1}, {x, 1}), 3, right);
    check(POLYGON({0, 0}, {1, 0}, {1, y}, {0, y}), 3, top);
    check(POLYGON({0, y}, {1, y}, {1, 1}, {0, 1}), 3, bottom);
}

TEST(test_what_is_enclosed_twice_lies_outside)
{
    // A square and, within the same outline, a smaller one.
    static const char *const frame[] = {"######", "######", "##..##", "##..##", "######", "######"};
    const double a = 1.0 / 3, b = 2.0 / 3;

    check(POLYGON({0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}, {a, a}, {b, a}, {b, b}, {a, b}, {a, a}),
          6, frame);
}

TEST(test_polygons_without_area_hold_nothing)
{
    static const char *const none[] = {"......", "......", "......"};

    check(POLYGON({0.5, 0}, {0.5, 1}, {0.5, 0.5}), 3, none);
    check(POLYGON({0, 0.5}, {1, 0.5}, {0.3, 0.5}), 3, none);
    check(POLYGON({1, 1}, {1, 1}, {1, 1}), 3, none);
    check(POLYGON({0.1, 0}, {0.11, 0}, {0.11, 1}), 3, none);
}

TEST(test_rows_may_end_in_any_word)
{
    static const struct config_point half[] = {{0.5, 0}, {1, 0}, {1, 1}, {0.5, 1}};
    uint64_t bits[4];

    for (uint32_t width = 1; width <= 256; width++) {
        memset(bits, 0xff, sizeof bits);
        region_draw_polygon(half, 4, width, 1, 0, bits);
        for (uint32_t x = 0; x < bits_words(width) * 64; x++)
            assert_int_equal(bits[x / 64] >> x % 64 & 1, x < width && 2 * x + 1 >= width);
        memset(bits, 0, sizeof bits);
        region_draw_all(width, bits);
        for (uint32_t x = 0; x < bits_words(width) * 64; x++)
            assert_int_equal(bits[x / 64] >> x % 64 & 1, x < width);
    }
}

TEST(test_a_picture_is_stretched)
{
    static const uint8_t gray[] = {0, 128, 255, 99, 127, 255, 99, 99}; // 3x2, rows 4 bytes apart
    static const char *const larger[] = {"..####", "..####", "..##..", "..##.."};
    const struct region_picture picture = {gray, 4, 3, 2};
    uint64_t bits[1];

    for (uint32_t y = 0; y < 4; y++) {
        bits[0] = UINT64_MAX;
        region_draw_picture(&picture, 6, 4, y, bits);
        assert_row(bits, larger[y]);
    }
    // Of one pixel, the one under the middle: (1 * 3) / 2 and (1 * 2) / 2.
    region_draw_picture(&picture, 1, 1, 0, bits);
    assert_row(bits, "#");
}

RUN_TESTS(NULL, NULL)
