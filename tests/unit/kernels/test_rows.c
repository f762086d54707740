// The row runner with a stage whose results are easily foretold: it sums, for every pixel, the
// ordinal numbers of the rows it was shown, so a wrong row anywhere shows.
#include "tests/unit/unit.h"

#include "kernels/stage/compose.h"
#include "kernels/stage/rows.h"

#include <string.h>

#define WIDTH 5
#define HEIGHT 23

// Weighs the rows 1, 2, 3, … from the top, mod 256.
static enum stage_result weigh_rows(const struct stage *stage, const uint8_t *const *rows,
                                    uint32_t y, uint32_t width, void *scratch, uint8_t *output)
{
    (void)y;
    (void)scratch;
    for (uint32_t x = 0; x < width; x++) {
        output[x] = 0;
        for (unsigned i = 0; i <= 2 * stage->radius; i++)
            output[x] = (uint8_t)(output[x] + (i + 1) * rows[i][x]);
    }
    return STAGE_WRITTEN;
}

static const struct stage_ops weigh = {0};

// A stage that weighs the rows around each.
#define WEIGH(r)                                                                                   \
    {                                                                                              \
        .ops = &weigh, .radius = (r), .run_row = weigh_rows                                        \
    }

// The same, one whole picture after the other.
static void apply(unsigned radius, uint32_t height, uint8_t (*picture)[WIDTH])
{
    uint8_t before[HEIGHT][WIDTH];
    int last = (int)height - 1;

    memcpy(before, picture, sizeof before);
    for (int y = 0; y <= last; y++) {
        for (int x = 0; x < WIDTH; x++) {
            unsigned sum = 0;

            for (int i = 0; i <= 2 * (int)radius; i++) {
                int row = y + i - (int)radius;

                sum += (unsigned)(i + 1) * before[row < 0 ? 0 : row > last ? last : row][x];
            }
            picture[y][x] = (uint8_t)sum;
        }
    }
}

TEST(test_a_chain_equals_its_stages_one_after_the_other)
{
    const struct stage stages[] = {WEIGH(0), WEIGH(2), WEIGH(1), WEIGH(2)};

    for (uint32_t height = 1; height <= HEIGHT; height++) {
        uint8_t picture[HEIGHT][WIDTH], output[HEIGHT][WIDTH];
        struct rows *rows;

        for (unsigned i = 0; i < HEIGHT * WIDTH; i++)
            picture[i / WIDTH][i % WIDTH] = (uint8_t)(i * 37);
        assert_int_equal(rows_new(stages, 4, WIDTH, height, &rows), 0);
        rows_run(rows, picture[0], WIDTH, output[0], WIDTH, 0, height);
        rows_free(rows);
        apply(0, height, picture);
        apply(2, height, picture);
        apply(1, height, picture);
        apply(2, height, picture);
        assert_memory_equal(output, picture, (size_t)height * WIDTH);
    }
}

TEST(test_slices_in_any_order_equal_the_whole)
{
    const struct stage stages[] = {WEIGH(1), WEIGH(2)};
    uint8_t picture[HEIGHT][WIDTH], whole[HEIGHT][WIDTH], sliced[HEIGHT][WIDTH];
    struct rows *rows;

    for (unsigned i = 0; i < HEIGHT * WIDTH; i++)
        picture[i / WIDTH][i % WIDTH] = (uint8_t)(i * i);
    memcpy(whole, picture, sizeof whole);
    apply(1, HEIGHT, whole);
    apply(2, HEIGHT, whole);
    assert_int_equal(rows_new(stages, 2, WIDTH, HEIGHT, &rows), 0);
    for (uint32_t size = 1; size <= HEIGHT; size++) {
        memset(sliced, 0xee, sizeof sliced);
        for (uint32_t end = HEIGHT; end > 0;) {
            uint32_t first = end > size ? end - size : 0;

            rows_run(rows, picture[0], WIDTH, sliced[0], WIDTH, first, end);
            if (first > 0)
                assert_int_equal(sliced[first - 1][0], 0xee);
            end = first;
        }
        assert_memory_equal(sliced, whole, sizeof whole);
    }
    rows_free(rows);
    rows_free(NULL);
}

TEST(test_nothing_between_the_rows_is_written)
{
    const struct stage stages[] = {WEIGH(1)};
    uint8_t picture[4][WIDTH] = {{1}, {2}, {3}, {4}}, output[4][WIDTH + 3];
    struct rows *rows;

    memset(output, 0xa5, sizeof output);
    assert_int_equal(rows_new(stages, 1, WIDTH, 4, &rows), 0);
    rows_run(rows, picture[0], WIDTH, output[0], WIDTH + 3, 0, 4);
    rows_free(rows);
    for (int y = 0; y < 4; y++)
        assert_memory_equal(output[y] + WIDTH, "\xa5\xa5\xa5", 3);
    assert_int_equal(output[0][0], 1 + 2 * 1 + 3 * 2);
    assert_int_equal(output[3][0], 3 + 2 * 4 + 3 * 4);
}

// Limits itself, by 100 more.
static enum stage_result shift_row(const struct stage *stage, const uint8_t *const *rows,
                                   uint32_t y, uint32_t width, void *scratch, uint8_t *output)
{
    (void)y;
    (void)scratch;
    for (uint32_t x = 0; x < width; x++)
        output[x] = (uint8_t)(rows[0][x] + (stage->limited ? 100 : 0));
    return STAGE_WRITTEN;
}

TEST(test_rows_are_limited_once)
{
    // A stage that limits itself adds 100 here, the output of others is mapped: 16 + 219 m / 255.
    const struct stage_ops limiting = {.limits = true};
    struct stage stages[] = {{.ops = &limiting, .run_row = shift_row}, {0}};
    uint8_t picture[1][WIDTH] = {{0, 1, 85, 170, 255}}, output[1][WIDTH];
    struct rows *rows;

    assert_int_equal(stage_init(&stages[1], &compose_ops, &(struct stage_setup){0}, NULL), 0);
    assert_int_equal(rows_new(stages, 2, WIDTH, 1, &rows), 0);
    rows_run(rows, picture[0], WIDTH, output[0], WIDTH, 0, 1);
    rows_free(rows);
    assert_memory_equal(output[0], ((uint8_t[]){100, 101, 185, 14, 99}), WIDTH);
    stages[0] = (struct stage){.ops = &weigh, .run_row = weigh_rows};
    assert_int_equal(rows_new(stages, 2, WIDTH, 1, &rows), 0);
    rows_run(rows, picture[0], WIDTH, output[0], WIDTH, 0, 1);
    rows_free(rows);
    assert_memory_equal(output[0], ((uint8_t[]){16, 17, 89, 162, 235}), WIDTH);
    assert_int_equal(rows_new(stages, 1, WIDTH, 1, &rows), 0);
    rows_run(rows, picture[0], WIDTH, output[0], WIDTH, 0, 1);
    rows_free(rows);
    assert_memory_equal(output[0], picture[0], WIDTH);
}

// Every third row is black, which it says instead of writing it; the others are 7.
static enum stage_result thirds(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                                uint32_t width, void *scratch, uint8_t *output)
{
    (void)stage;
    (void)rows;
    (void)scratch;
    if (y % 3 == 0)
        return STAGE_BLACK;
    memset(output, 7, width);
    return STAGE_WRITTEN;
}

// Row by row, whether it was the one that stands for black ones; the row again.
static bool stood_for_black[HEIGHT];

static enum stage_result watch(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                               uint32_t width, void *scratch, uint8_t *output)
{
    (void)stage;
    (void)scratch;
    stood_for_black[y] = rows[1] == stage_black_row;
    memcpy(output, rows[1], width);
    return STAGE_WRITTEN;
}

static const struct stage_ops black = {0};
static const struct stage watched[] = {{.ops = &black, .run_row = thirds},
                                       {.ops = &black, .radius = 1, .run_row = watch}};

static void check_thirds(const uint8_t *output, uint32_t width)
{
    for (uint32_t y = 0; y < HEIGHT; y++) {
        for (uint32_t x = 0; x < width; x++)
            assert_int_equal(output[y * width + x], y % 3 == 0 ? 0 : 7);
    }
}

TEST(test_a_black_row_is_not_written_between_stages_but_is_in_the_picture)
{
    uint8_t picture[HEIGHT][WIDTH] = {{0}}, output[HEIGHT][WIDTH];
    struct rows *rows;

    for (unsigned count = 1; count <= 2; count++) {
        assert_int_equal(rows_new(watched, count, WIDTH, HEIGHT, &rows), 0);
        for (unsigned frame = 0; frame < 2; frame++) {
            memset(output, 0xa5, sizeof output);
            rows_run(rows, picture[0], WIDTH, output[0], WIDTH, 0, HEIGHT);
            check_thirds(output[0], WIDTH);
        }
        rows_free(rows);
    }
    for (uint32_t y = 0; y < HEIGHT; y++)
        assert_int_equal(stood_for_black[y], y % 3 == 0);
}

TEST(test_black_rows_wider_than_the_one_that_stands_for_them_are_written)
{
    static uint8_t picture[HEIGHT][STAGE_BLACK_WIDTH_MAX + 1], output[sizeof picture];
    struct rows *rows;

    assert_int_equal(rows_new(watched, 2, sizeof picture[0], HEIGHT, &rows), 0);
    rows_run(rows, picture[0], sizeof picture[0], output, sizeof picture[0], 0, HEIGHT);
    rows_free(rows);
    check_thirds(output, sizeof picture[0]);
    assert_false(stood_for_black[0]);
}

// Rows that weigh_several() has made, by height, and its calls.
static unsigned made[HEIGHT], calls;

static void weigh_several(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                          unsigned count, uint32_t width, void *scratch, uint8_t *const *outputs)
{
    assert_in_range(count, 1, STAGE_ROWS_MAX);
    calls++;
    for (unsigned i = 0; i < count; i++) {
        assert_true(y + i < HEIGHT);
        made[y + i]++;
        weigh_rows(stage, rows + i, y + i, width, scratch, outputs[i]);
    }
}

static const struct stage_ops several = {0};

#define SEVERAL(r)                                                                                 \
    {                                                                                              \
        .ops = &several, .radius = (r), .run_rows = weigh_several                                  \
    }

// Slices of `size` rows.
static void check_slices(const struct stage *stages, unsigned count, uint32_t size)
{
    uint8_t picture[HEIGHT][WIDTH], whole[HEIGHT][WIDTH], sliced[HEIGHT][WIDTH];
    struct rows *rows;

    for (unsigned i = 0; i < HEIGHT * WIDTH; i++)
        picture[i / WIDTH][i % WIDTH] = (uint8_t)(i * i + i);
    memcpy(whole, picture, sizeof whole);
    for (unsigned i = 0; i < count; i++)
        apply(stages[i].radius, HEIGHT, whole);
    assert_int_equal(rows_new(stages, count, WIDTH, HEIGHT, &rows), 0);
    for (uint32_t first = 0; first < HEIGHT; first += size) {
        rows_run(rows, picture[0], WIDTH, sliced[0], WIDTH, first,
                 first + size < HEIGHT ? first + size : HEIGHT);
    }
    rows_free(rows);
    assert_memory_equal(sliced, whole, sizeof whole);
}

TEST(test_stages_that_make_several_rows_at_once_make_the_same)
{
    const struct stage one = WEIGH(2), many = SEVERAL(1);
    const struct stage wide = SEVERAL(STAGE_RADIUS_MAX);

    for (uint32_t size = 1; size <= HEIGHT; size++) {
        check_slices(&many, 1, size);
        check_slices((struct stage[]){one, many}, 2, size);
        check_slices((struct stage[]){many, one}, 2, size);
        check_slices((struct stage[]){many, wide, many, one}, 4, size);
    }
}

TEST(test_a_stage_between_planes_makes_as_many_rows_as_it_can_each_once)
{
    const struct stage many = SEVERAL(1);

    memset(made, 0, sizeof made);
    calls = 0;
    check_slices(&many, 1, HEIGHT);
    assert_int_equal(calls, (HEIGHT + STAGE_ROWS_MAX - 1) / STAGE_ROWS_MAX);
    for (uint32_t y = 0; y < HEIGHT; y++)
        assert_int_equal(made[y], 1);
}

RUN_TESTS(NULL, NULL)
