// Slices of rows that a stage looks at, each in a thread of its own: what is computed for one of
// them must leave alone what another one keeps.
#include "tests/unit/unit.h"

#include "kernels/stage/rows.h"

#include <string.h>

#define WIDTH 5
#define HEIGHT 23

// By height: how often a row was kept in place, as one of a border, and how often only computed.
static unsigned kept[HEIGHT], at_border[HEIGHT], computed[HEIGHT];

static enum stage_result keep_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                                  uint32_t width, bool border, void *scratch, uint8_t *output)
{
    (void)stage;
    (void)scratch;
    kept[y] += !border;
    at_border[y] += border;
    memcpy(output, rows[1], width);
    return STAGE_WRITTEN;
}

static enum stage_result compute_row(const struct stage *stage, const uint8_t *const *rows,
                                     uint32_t y, uint32_t width, void *scratch, uint8_t *output)
{
    (void)stage;
    (void)scratch;
    computed[y]++;
    memcpy(output, rows[1], width);
    return STAGE_WRITTEN;
}

static void copy_rows(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                      unsigned count, uint32_t width, void *scratch, uint8_t *const *outputs)
{
    (void)stage;
    (void)y;
    (void)scratch;
    for (unsigned i = 0; i < count; i++) {
        memcpy(outputs[i], rows[i + 1], width);
    }
}

static const struct stage_ops keeps = {.keep_row = keep_row};
static const struct stage_ops copies = {0};

// All rows that may be asked for.
static void look_at_slice(const struct row_source *source, uint32_t first, uint32_t end)
{
    uint32_t start = first > ROWS_KEPT - 1 ? first - (ROWS_KEPT - 1) : 0;

    row_source_begin(source, 0, start, first, end);
    for (uint32_t y = start; y < HEIGHT && y < end + ROWS_KEPT - 1; y++) {
        row_source_at(source, 0, y);
    }
}

// Which is one that only one slice computes, however many rows are made at once.
TEST(test_what_is_kept_in_place_is_computed_for_no_other_slice)
{
    const struct stage stages[] = {
        {.ops = &keeps, .radius = 1, .remembers = true, .run_row = compute_row},
        {.ops = &copies, .radius = 1, .run_rows = copy_rows}};
    uint8_t picture[HEIGHT][WIDTH] = {{0}};
    struct row_source source = {.plane = picture[0], .stride = WIDTH};

    assert_int_equal(rows_new_source(stages, 2, WIDTH, HEIGHT, &source.rows), 0);
    for (uint32_t size = 1; size <= HEIGHT; size++) {
        memset(kept, 0, sizeof kept);
        memset(at_border, 0, sizeof at_border);
        memset(computed, 0, sizeof computed);
        for (uint32_t first = 0; first < HEIGHT; first += size) {
            look_at_slice(&source, first, first + size < HEIGHT ? first + size : HEIGHT);
        }
        for (uint32_t y = 0; y < HEIGHT; y++) {
            assert_int_equal(kept[y] + at_border[y], 1);
            assert_int_equal(at_border[y], computed[y] > 0);
        }
    }
    rows_free(source.rows);
}

RUN_TESTS(NULL, NULL)
