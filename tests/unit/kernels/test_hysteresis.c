// Hysteresis against a flood fill that follows its definition pixel by pixel.
#include "tests/unit/unit.h"

#include "config/base.h"
#include "kernels/canny/hysteresis.h"

#include <stdbool.h>
#include <string.h>

#define SIDE_MAX 260

enum { NOTHING, WEAK, STRONG, EDGE };

struct picture {
    int width, height;
    uint8_t pixels[SIDE_MAX][SIDE_MAX];
};

static uint32_t random_state = 1;

static uint32_t next_random(uint32_t end)
{
    random_state = random_state * 1664525 + 1013904223;
    return (random_state >> 8) % end;
}

// Makes edges of what hangs on strong pixels, by a stack of them.
static void flood(struct picture *picture)
{
    static int stack[SIDE_MAX * SIDE_MAX][2];
    int depth = 0;

    for (int y = 0; y < picture->height; y++) {
        for (int x = 0; x < picture->width; x++) {
            if (picture->pixels[y][x] == STRONG) {
                picture->pixels[y][x] = EDGE;
                stack[depth][0] = x;
                stack[depth++][1] = y;
            }
        }
    }
    while (depth > 0) {
        int cx = stack[--depth][0], cy = stack[depth][1];

        for (int i = 0; i < 9; i++) {
            int x = cx + i % 3 - 1, y = cy + i / 3 - 1;

            if (x >= 0 && x < picture->width && y >= 0 && y < picture->height &&
                (picture->pixels[y][x] == WEAK || picture->pixels[y][x] == STRONG)) {
                picture->pixels[y][x] = EDGE;
                stack[depth][0] = x;
                stack[depth++][1] = y;
            }
        }
    }
}

// Rows first..end-1, a band.
static void add_band(struct hysteresis *hysteresis, const struct picture *picture, int first,
                     int end)
{
    size_t bytes = (size_t)(picture->width + 63) / 64 * sizeof(uint64_t);

    for (int y = first; y < end; y++) {
        uint64_t *candidates = hysteresis_candidates(hysteresis, (uint32_t)y);
        uint64_t *edges = hysteresis_edges(hysteresis, (uint32_t)y);

        memset(candidates, 0, bytes);
        memset(edges, 0, bytes);
        for (int x = 0; x < picture->width; x++) {
            candidates[x / 64] |= (uint64_t)(picture->pixels[y][x] != NOTHING) << x % 64;
            edges[x / 64] |= (uint64_t)(picture->pixels[y][x] == STRONG) << x % 64;
        }
        hysteresis_add_row(hysteresis, (uint32_t)first, (uint32_t)y);
    }
}

// In bands of `rows` rows, the last ones first.
static void add_rows(struct hysteresis *hysteresis, const struct picture *picture, int rows)
{
    for (int first = (picture->height - 1) / rows * rows; first >= 0; first -= rows) {
        int end = first + rows;

        add_band(hysteresis, picture, first, end < picture->height ? end : picture->height);
    }
}

// Several times, so that what one picture leaves behind would show in the next: in one band, in
// bands of some rows, of one.
static void check(const struct picture *picture)
{
    static struct picture expected;
    const int bands[] = {picture->height, (picture->height + 2) / 3, 5, 1};
    struct hysteresis *hysteresis;

    expected = *picture;
    flood(&expected);
    assert_int_equal(
        hysteresis_new((uint32_t)picture->width, (uint32_t)picture->height, &hysteresis), 0);
    for (size_t round = 0; round < ARRAY_LENGTH(bands); round++) {
        add_rows(hysteresis, picture, bands[round]);
        hysteresis_finish(hysteresis);
        for (int y = 0; y < picture->height; y++) {
            const uint64_t *edges = hysteresis_edges(hysteresis, (uint32_t)y);

            for (int x = 0; x < picture->width; x++) {
                if ((edges[x / 64] >> x % 64 & 1) != (expected.pixels[y][x] == EDGE))
                    fail_msg("%dx%d: pixel %d,%d is wrong", picture->width, picture->height, x, y);
            }
        }
    }
    hysteresis_free(hysteresis);
}

TEST(test_random_pictures_flood_as_defined)
{
    static struct picture picture;

    for (int i = 0; i < 600; i++) {
        uint32_t density = next_random(101), strong = 1 + next_random(i % 3 ? 2000 : 20);

        picture.width = 1 + (int)next_random(i % 2 ? SIDE_MAX : 5);
        picture.height = 1 + (int)next_random(i % 5 ? 60 : SIDE_MAX);
        for (int y = 0; y < picture.height; y++) {
            for (int x = 0; x < picture.width; x++) {
                bool candidate = next_random(100) < density;

                picture.pixels[y][x] = (uint8_t)(!candidate            ? NOTHING
                                                 : next_random(strong) ? WEAK
                                                                       : STRONG);
            }
        }
        check(&picture);
    }
}

// A line of one pixel with gaps of one, wound from the border inwards.
static int wind(struct picture *picture, int side)
{
    static const int steps[4][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    int x = 0, y = 0;

    memset(picture->pixels, NOTHING, sizeof picture->pixels);
    picture->width = picture->height = side;
    picture->pixels[0][0] = WEAK;
    for (int run = side - 1, turn = 0; run > 0; turn++) {
        for (int i = 0; i < run; i++) {
            x += steps[turn % 4][0];
            y += steps[turn % 4][1];
            picture->pixels[y][x] = WEAK;
        }
        run -= turn > 0 && turn % 2 == 0 ? 2 : 0;
    }
    return y * side + x;
}

TEST(test_a_spiral_is_followed_from_either_end)
{
    static struct picture picture;

    for (int side = 3; side < SIDE_MAX; side += 17) {
        int end = wind(&picture, side);

        check(&picture);
        picture.pixels[end / side][end % side] = STRONG;
        check(&picture);
        picture.pixels[end / side][end % side] = WEAK;
        picture.pixels[0][0] = STRONG;
        check(&picture);
    }
}

TEST(test_a_full_row_lights_up_from_one_pixel)
{
    static struct picture picture;

    picture.width = SIDE_MAX;
    picture.height = 1;
    for (int x = 0; x < picture.width; x++) {
        memset(picture.pixels[0], WEAK, sizeof picture.pixels[0]);
        picture.pixels[0][x] = STRONG;
        check(&picture);
    }
}

int main(void)
{
    random_state = random_seed();
    return run_unit_tests(NULL, NULL);
}
