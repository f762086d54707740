// One pass over the frame: a gray row comes in, the row of gradients above it is done, the row of
// candidates above that one, and what hysteresis knows at that point. A second pass over the bits
// finishes the hysteresis, a third writes the rows. Between them lie 2 bits a pixel. So whatever
// makes the gray rows and whatever takes the edges works on rows in the cache, too.
//
// The floor, in vector operations for 32 pixels with AVX-512: 12 to add columns, 34 for gradients
// and directions; where a block of 64 has a gradient over the low threshold, 44 to compare
// neighbours, and 30 plain ones in a word of hysteresis that has candidates; 8 to write a word that
// is not flat. So 128 where all is candidates, as in noise, and 50 where nothing is: 1.3 and 0.5
// cycles a pixel at 3 operations a cycle. All of it works on rows in L1; the frame is read once and
// the output written once.
#include "kernels/canny.h"

#include "kernels/hysteresis.h"
#include "kernels/rows.h"

#include <errno.h>
#include <string.h>

#define RING 3
#define CACHE_LINE 64
// Elements of a row left of x = 0, so that x = 0 is aligned, and right of the last block.
#define LEFT 32
#define RIGHT 32

struct canny_work {
    uint32_t width, height;
    struct suppress_limits limits;
    const struct suppress_make *make;
    struct hysteresis *hysteresis;           // owned
    uint8_t *memory;                         // owned; of the rows below
    struct suppress_row rows[RING], outside; // row y at y % RING
    struct suppress_columns columns;
    uint8_t pixels[256][8]; // of 8 bits
};

// 32767 is where OpenCV limits thresholds; every limit from SUPPRESS_REACH on is the same.
static int32_t limit_of(double threshold)
{
    double square = threshold * threshold;

    return square < SUPPRESS_REACH ? (int32_t)square : SUPPRESS_REACH;
}

struct suppress_limits canny_limits(double low, double high)
{
    return low < high ? (struct suppress_limits){limit_of(low), limit_of(high)}
                      : (struct suppress_limits){limit_of(high), limit_of(low)};
}

// Every row gets a slot that is large enough for a row of gradients.
static int make_rows(struct canny_work *work)
{
    size_t blocks = SUPPRESS_BLOCKS(work->width);
    size_t slot = (LEFT + blocks * SUPPRESS_BLOCK + RIGHT) * sizeof(int32_t) + CACHE_LINE;
    uint8_t *next = aligned_alloc(CACHE_LINE, (2 * RING + 3) * slot);

    if (!next) {
        return -ENOMEM;
    }
    work->memory = memset(next, 0, (2 * RING + 3) * slot);
    for (unsigned i = 0; i < RING; i++, next += 2 * slot) {
        work->rows[i].gradients = (int32_t *)next + LEFT;
        work->rows[i].peaks = (int32_t *)(next + slot);
    }
    work->outside.gradients = (int32_t *)next + LEFT;
    work->columns.sums = (int16_t *)(next + slot) + LEFT;
    work->columns.differences = (int16_t *)(next + 2 * slot) + LEFT;
    return 0;
}

static void make_pixels(struct canny_work *work)
{
    for (unsigned bits = 0; bits < 256; bits++) {
        for (unsigned x = 0; x < 8; x++) {
            work->pixels[bits][x] = bits >> x & 1 ? 255 : 0;
        }
    }
}

static int init(struct stage *stage, const struct stage_setup *setup, struct error *error)
{
    const struct frame_layout *input = setup->input;
    struct canny_work *work = calloc(1, sizeof *work);
    int r;

    if (!work) {
        return error_set(error, -ENOMEM, "no memory for a canny view");
    }
    stage->looks = true;
    stage->canny.work = work;
    work->width = input->width;
    work->height = input->height;
    work->limits = canny_limits(setup->options->low, setup->options->high);
    work->make = suppress_make_best();
    make_pixels(work);
    r = make_rows(work);
    if (r == 0) {
        r = hysteresis_new(work->width, work->height, &work->hysteresis);
    }
    return r < 0 ? error_set(error, r, "no memory for a canny view of %ux%u", work->width,
                             work->height)
                 : 0;
}

static void finish(struct stage *stage)
{
    struct canny_work *work = stage->canny.work;

    if (work) {
        hysteresis_free(work->hysteresis);
        free(work->memory);
        free(work);
    }
}

// Row `y` of the picture, the border replicated.
static const uint8_t *gray_at(const struct canny_work *work, struct row_source *source, int64_t y)
{
    return row_source_at(source, (uint32_t)(y < 0 ? 0 : y < work->height ? y : work->height - 1));
}

static const struct suppress_row *row_at(const struct canny_work *work, int64_t y)
{
    return y < 0 || y >= work->height ? &work->outside : &work->rows[y % RING];
}

static void add_candidates(const struct canny_work *work, uint32_t y)
{
    suppress_row(work->make, row_at(work, (int64_t)y - 1), row_at(work, y),
                 row_at(work, (int64_t)y + 1), work->width, &work->limits,
                 hysteresis_candidates(work->hysteresis, y), hysteresis_edges(work->hysteresis, y));
    hysteresis_add_row(work->hysteresis, y);
}

static void look(struct stage *stage, struct row_source *source)
{
    const struct canny_work *work = stage->canny.work;

    for (uint32_t y = 0; y < work->height; y++) {
        suppress_measure(work->make, gray_at(work, source, (int64_t)y - 1),
                         gray_at(work, source, y), gray_at(work, source, (int64_t)y + 1),
                         work->width, &work->columns, row_at(work, y));
        if (y > 0) {
            add_candidates(work, y - 1);
        }
    }
    add_candidates(work, work->height - 1);
    hysteresis_finish(work->hysteresis);
}

// Most words of a real picture hold no edge.
static void write_word(const struct canny_work *work, uint64_t edges, size_t width, uint8_t *output)
{
    if (edges == 0) {
        memset(output, 0, width);
        return;
    }
    for (; width >= 8; width -= 8, output += 8, edges >>= 8) {
        memcpy(output, work->pixels[edges & 255], 8);
    }
    memcpy(output, work->pixels[edges & 255], width);
}

static void run_row(const struct stage *stage, const uint8_t *const *rows, uint32_t y,
                    uint32_t width, void *scratch, uint8_t *output)
{
    const struct canny_work *work = stage->canny.work;
    const uint64_t *edges = hysteresis_edges(work->hysteresis, y);
    size_t x = 0;

    (void)rows;
    (void)scratch;
    for (; x + SUPPRESS_BLOCK <= width; x += SUPPRESS_BLOCK) {
        write_word(work, *edges++, SUPPRESS_BLOCK, output + x);
    }
    if (x < width) {
        write_word(work, *edges, width - x, output + x);
    }
}

const struct stage_ops canny_ops = {
    .name = "canny", .init = init, .finish = finish, .look = look, .run_row = run_row};
