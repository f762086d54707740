// The slate draws at every size, says how long the signal has been gone, and nothing else changes.

#include "daemon/camera/slate.h"

#include "capture/frame_pool.h"
#include "tests/unit/unit.h"

#include <string.h>

#define GROUND 40
#define TITLE 210
#define DETAIL 130

static struct frame *make(uint32_t width, uint32_t height, struct frame_pool **ret_pool)
{
    struct frame_layout layout;

    frame_layout_init(&layout, pixel_format_by_name("NV12"), width, height, 64);
    assert_int_equal(frame_pool_new(&layout, 1, frame_allocator_host(), ret_pool), 0);
    return frame_pool_take(*ret_pool);
}

static unsigned count(const struct frame *frame, uint32_t top, uint32_t bottom, uint8_t luma)
{
    unsigned pixels = 0;

    for (uint32_t y = top; y < bottom; y++) {
        const uint8_t *row = frame_plane(frame, 0) + y * frame->layout.planes[0].stride;

        for (uint32_t x = 0; x < frame->layout.width; x++)
            pixels += row[x] == luma;
    }
    return pixels;
}

// 96 pixels a line is one pixel a dot: lines at rows 35, 45 and 55 of a picture 100 high.
TEST(test_the_lines_have_the_dots_of_their_letters)
{
    struct frame_pool *pool;
    struct frame *frame = make(96, 100, &pool);

    slate_draw(frame, "i-1", 7, NULL);
    // Counted on paper: N 17, O 16, S 15, I 11, G 18, N 17, A 18, L 11.
    assert_int_equal(count(frame, 0, 100, TITLE), 17 + 16 + 15 + 11 + 18 + 17 + 18 + 11);
    assert_int_equal(count(frame, 35, 42, TITLE), count(frame, 0, 100, TITLE));
    assert_int_equal(count(frame, 45, 52, DETAIL), 9 + 5 + 10);       // i - 1
    assert_int_equal(count(frame, 55, 62, DETAIL), 19 + 8 + 19 + 11); // 0 : 0 7
    assert_int_equal(count(frame, 0, 100, GROUND) + count(frame, 0, 100, TITLE) +
                         count(frame, 0, 100, DETAIL),
                     96 * 100);
    for (uint32_t x = 0; x < 96; x++)
        assert_int_equal(frame_plane(frame, 1)[x], 128);
    frame_unref(frame);
    frame_pool_unref(pool);
}

TEST(test_the_time_grows_an_hour_and_may_be_left_out)
{
    struct frame_pool *pool;
    struct frame *frame = make(96, 100, &pool);

    slate_draw(frame, "", 3600 + 61, NULL);
    assert_int_equal(count(frame, 55, 62, DETAIL), 10 + 8 + 19 + 10 + 8 + 19 + 10); // 1:01:01
    slate_draw(frame, "", -1, NULL);
    assert_int_equal(count(frame, 0, 100, DETAIL), 0);
    frame_unref(frame);
    frame_pool_unref(pool);
}

TEST(test_it_draws_at_every_size)
{
    static const uint32_t sizes[][2] = {{1, 1}, {16, 16}, {17, 3}, {95, 7}, {641, 361}, {4096, 16}};

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct frame_pool *pool;
        struct frame *frame = make(sizes[i][0], sizes[i][1], &pool);

        slate_draw(frame, "a name as long as a name may be", 359999, NULL);
        assert_int_equal(count(frame, 0, sizes[i][1], GROUND) +
                             count(frame, 0, sizes[i][1], TITLE) +
                             count(frame, 0, sizes[i][1], DETAIL),
                         sizes[i][0] * sizes[i][1]);
        frame_unref(frame);
        frame_pool_unref(pool);
    }
}

RUN_TESTS(NULL, NULL)
