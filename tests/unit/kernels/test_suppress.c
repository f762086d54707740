// Non-maximum suppression by vectors and by plain loops against its definition, pixel by pixel.
#include "tests/unit/unit.h"

#include "config/base.h"
#include "kernels/canny/suppress.h"
#include "kernels/stage/vec.h"

#include <stdbool.h>
#include <string.h>

#define WIDTH_MAX 200
#define ELEMENTS (64 + WIDTH_MAX + 64)

static uint32_t random_state;

static uint32_t next_random(uint32_t end)
{
    random_state = random_state * 1664525 + 1013904223;
    return (random_state >> 8) % end;
}

// The definition in 64 bit: |gy| 2^15 against 13573 |gx| and (13573 + 2^16) |gx|.
static enum suppress_direction direction_of(int64_t gx, int64_t gy)
{
    int64_t x = gx < 0 ? -gx : gx, y = (gy < 0 ? -gy : gy) * 32768;

    return y < 13573 * x             ? SUPPRESS_HORIZONTAL
           : y > (13573 + 65536) * x ? SUPPRESS_VERTICAL
           : (gx ^ gy) < 0           ? SUPPRESS_RISING
                                     : SUPPRESS_FALLING;
}

// Crosses of three columns side by side: in the middle of each gx = 2 a + c and
// gy = 2 b + c, with every a and b from -255 to 255 and c from -255 to 255 in steps of 51.
static void check_directions(bool vectors, int a, int c)
{
    enum { WIDTH = 3 * 511 };
    static uint8_t rows[3][WIDTH];
    static int32_t gradients[WIDTH + 256], peaks[SUPPRESS_BLOCKS(WIDTH)];
    static int16_t sums[WIDTH + 256], differences[WIDTH + 256];
    const struct suppress_columns columns = {sums + 64, differences + 64};
    const struct suppress_row row = {gradients + 64, peaks};

    for (int b = -255; b <= 255; b++) {
        int x = 3 * (b + 255) + 1;

        rows[1][x - 1] = (uint8_t)(a < 0 ? -a : 0);
        rows[1][x + 1] = (uint8_t)(a > 0 ? a : 0);
        rows[0][x] = (uint8_t)(b < 0 ? -b : 0);
        rows[2][x] = (uint8_t)(b > 0 ? b : 0);
        rows[0][x - 1] = (uint8_t)(c < 0 ? -c : 0);
        rows[2][x + 1] = (uint8_t)(c > 0 ? c : 0);
    }
    suppress_measure(vectors, rows[0], rows[1], rows[2], WIDTH, &columns, &row);
    for (int b = -255; b <= 255; b++) {
        int gx = 2 * a + c, gy = 2 * b + c, n = gx * gx + gy * gy;
        int32_t found = row.gradients[3 * (b + 255) + 1];

        assert_int_equal(found >> 2, n);
        if (n != 0 && (found & 3) != (int32_t)direction_of(gx, gy)) {
            fail_msg("%s: gx %d gy %d: direction %d", vectors ? "vectors" : "plain", gx, gy,
                     found & 3);
        }
    }
}

TEST(test_directions_are_those_of_whole_numbers)
{
    for (int a = -255; a <= 255; a++) {
        for (int c = -255; c <= 255; c += 51) {
            check_directions(false, a, c);
            if (vec_supported())
                check_directions(true, a, c);
        }
    }
}

static int32_t strength(const struct suppress_row *row, int x)
{
    return row->gradients[x] >> 2;
}

// 0: nothing, 1: a candidate, 2: a strong one.
static int classify_pixel(const struct suppress_row *rows, int x,
                          const struct suppress_limits *limits)
{
    int32_t own = strength(&rows[1], x);
    bool largest = false;

    switch ((enum suppress_direction)(rows[1].gradients[x] & 3)) {
    case SUPPRESS_HORIZONTAL:
        largest = own > strength(&rows[1], x - 1) && own >= strength(&rows[1], x + 1);
        break;
    case SUPPRESS_VERTICAL:
        largest = own > strength(&rows[0], x) && own >= strength(&rows[2], x);
        break;
    case SUPPRESS_FALLING:
        largest = own > strength(&rows[0], x - 1) && own > strength(&rows[2], x + 1);
        break;
    case SUPPRESS_RISING:
        largest = own > strength(&rows[0], x + 1) && own > strength(&rows[2], x - 1);
        break;
    }
    return !largest || own <= limits->low ? 0 : own <= limits->high ? 1 : 2;
}

// Rows of `width` random gradients below `end` in all directions; few values, so that ties abound.
static void draw_rows(struct suppress_row *rows, int width, uint32_t end)
{
    for (int i = 0; i < 3; i++) {
        memset(rows[i].gradients - 64, 0, ELEMENTS * sizeof *rows[i].gradients);
        memset(rows[i].peaks, 0, SUPPRESS_BLOCKS(WIDTH_MAX) * sizeof *rows[i].peaks);
        for (int x = 0; x < width; x++) {
            int32_t gradient = (int32_t)(next_random(end) << 2 | next_random(4));
            int32_t *peak = &rows[i].peaks[x / SUPPRESS_BLOCK];

            rows[i].gradients[x] = gradient;
            *peak = gradient > *peak ? gradient : *peak;
        }
    }
}

static void check_rows(bool vectors, const struct suppress_row *rows, int width,
                       const struct suppress_limits *limits)
{
    uint64_t candidates[SUPPRESS_BLOCKS(WIDTH_MAX)], strong[SUPPRESS_BLOCKS(WIDTH_MAX)];

    suppress_row(vectors, &rows[0], &rows[1], &rows[2], (uint32_t)width, limits, candidates,
                 strong);
    for (int x = 0; x < (int)SUPPRESS_BLOCKS(width) * SUPPRESS_BLOCK; x++) {
        int expected = x < width ? classify_pixel(rows, x, limits) : 0;

        if ((int)(candidates[x / 64] >> x % 64 & 1) != (expected > 0) ||
            (int)(strong[x / 64] >> x % 64 & 1) != (expected > 1)) {
            fail_msg("%s: pixel %d of %d, limits %d %d", vectors ? "vectors" : "plain", x, width,
                     limits->low, limits->high);
        }
    }
}

TEST(test_vectors_and_plain_loops_keep_the_same_maxima)
{
    static int32_t gradients[3][ELEMENTS], peaks[3][SUPPRESS_BLOCKS(WIDTH_MAX)];
    struct suppress_row rows[3];

    for (int i = 0; i < 3; i++)
        rows[i] = (struct suppress_row){gradients[i] + 64, peaks[i]};
    for (int round = 0; round < 3000; round++) {
        int width = 1 + (int)next_random(WIDTH_MAX);
        uint32_t end = round % 2 ? 1 + next_random(6) : SUPPRESS_REACH + 1;
        struct suppress_limits limits;

        draw_rows(rows, width, end);
        limits.high = (int32_t)next_random(end);
        limits.low = (int32_t)next_random((uint32_t)limits.high + 1);
        check_rows(false, rows, width, &limits);
        if (vec_supported())
            check_rows(true, rows, width, &limits);
    }
}

int main(void)
{
    random_state = random_seed();
    return run_unit_tests(NULL, NULL);
}
