#include "tests/unit/unit.h"

#include "capture/copies.h"
#include "tests/unit/capture/counting_allocator.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#define HAMMER_THREADS 4
#define HAMMER_ROUNDS 20000

static struct frame_layout small_layout(void)
{
    struct frame_layout layout;

    frame_layout_init(&layout, pixel_format_by_name("NV12"), 16, 8, 16);
    return layout;
}

static struct frame_pool *new_pool(unsigned count)
{
    struct frame_layout layout = small_layout();
    struct frame_pool *pool;

    assert_int_equal(frame_pool_new(&layout, count, frame_allocator_host(), &pool), 0);
    return pool;
}

TEST(test_an_exhausted_pool_gives_null_until_a_frame_returns)
{
    struct frame_pool *pool = new_pool(3);
    struct frame *a = frame_pool_take(pool), *b = frame_pool_take(pool), *c = frame_pool_take(pool);

    assert_non_null(a);
    assert_non_null(b);
    assert_non_null(c);
    assert_ptr_not_equal(a->data, b->data);
    assert_ptr_not_equal(b->data, c->data);
    assert_null(frame_pool_take(pool));
    frame_unref(b);
    assert_ptr_equal(frame_pool_take(pool), b);
    assert_null(frame_pool_take(pool));
    frame_unref(a);
    frame_unref(b);
    frame_unref(c);
    frame_pool_unref(pool);
}

TEST(test_a_frame_returns_only_with_its_last_reference)
{
    struct frame_pool *pool = new_pool(1);
    struct frame *frame = frame_pool_take(pool);

    assert_ptr_equal(frame_ref(frame), frame);
    frame_unref(frame);
    assert_null(frame_pool_take(pool));
    frame_unref(frame);
    assert_ptr_equal(frame_pool_take(pool), frame);
    frame_unref(frame);
    frame_unref(NULL);
    frame_pool_unref(pool);
    frame_pool_unref(NULL);
}

TEST(test_frames_outlive_the_owner_of_their_pool)
{
    struct counting counting = {.fail_at = -1};
    struct frame_allocator allocator = counting_allocator(&counting);
    struct frame_layout layout = small_layout();
    struct frame_pool *pool;
    struct frame *frame;

    assert_int_equal(frame_pool_new(&layout, 2, &allocator, &pool), 0);
    frame = frame_pool_take(pool);
    frame_pool_unref(pool);
    assert_int_equal(counting.out, 2);
    memset(frame->data, 7, frame->layout.size);
    assert_int_equal(frame_plane(frame, 1)[0], 7);
    frame_unref(frame);
    assert_int_equal(counting.out, 0);
}

TEST(test_a_failing_allocation_gives_back_what_was_allocated)
{
    struct frame_layout layout = small_layout();

    for (int i = 0; i < 4; i++) {
        struct counting counting = {.fail_at = i};
        struct frame_allocator allocator = counting_allocator(&counting);
        struct frame_pool *pool;

        assert_int_equal(frame_pool_new(&layout, 4, &allocator, &pool), -ENOSPC);
        assert_int_equal(counting.out, 0);
    }
}

TEST(test_counts_outside_1_to_64_are_refused)
{
    struct frame_layout layout = small_layout();
    struct frame_pool *pool;

    assert_int_equal(frame_pool_new(&layout, 0, frame_allocator_host(), &pool), -EINVAL);
    assert_int_equal(frame_pool_new(&layout, 65, frame_allocator_host(), &pool), -EINVAL);
}

TEST(test_a_pool_of_64_hands_out_64_different_frames)
{
    struct frame_pool *pool = new_pool(64);
    struct frame *frames[64];
    uint64_t seen = 0;

    for (int i = 0; i < 64; i++) {
        frames[i] = frame_pool_take(pool);
        assert_non_null(frames[i]);
        seen |= UINT64_C(1) << frames[i]->index;
    }
    assert_true(seen == UINT64_MAX);
    assert_null(frame_pool_take(pool));
    for (int i = 0; i < 64; i++)
        frame_unref(frames[i]);
    frame_pool_unref(pool);
}

TEST(test_host_memory_is_page_aligned_and_zeroed)
{
    struct frame_pool *pool = new_pool(2);
    struct frame *frame = frame_pool_take(pool);

    assert_int_equal((uintptr_t)frame->data % (uintptr_t)sysconf(_SC_PAGESIZE), 0);
    for (size_t i = 0; i < frame->layout.size; i++)
        assert_int_equal(frame->data[i], 0);
    frame_unref(frame);
    frame_pool_unref(pool);
}

// Each thread writes frames it took and checks that nobody else wrote while it held them.
static void *hammer(void *argument)
{
    struct frame_pool *pool = argument;
    uintptr_t violations = 0;

    for (unsigned round = 0; round < HAMMER_ROUNDS; round++) {
        struct frame *frame = frame_pool_take(pool), *second;

        if (!frame)
            continue;
        memset(frame->data, (int)(round & 255), 64);
        frame->sequence = round;
        second = frame_ref(frame);
        frame_unref(frame);
        violations += second->sequence != round || second->data[63] != (round & 255);
        frame_unref(second);
    }
    return (void *)violations;
}

TEST(test_threads_never_share_a_taken_frame)
{
    struct frame_pool *pool = new_pool(2);
    struct frame *frames[2];
    pthread_t threads[HAMMER_THREADS];

    for (int i = 0; i < HAMMER_THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hammer, pool), 0);
    for (int i = 0; i < HAMMER_THREADS; i++) {
        void *violations;

        assert_int_equal(pthread_join(threads[i], &violations), 0);
        assert_null(violations);
    }
    frames[0] = frame_pool_take(pool);
    frames[1] = frame_pool_take(pool);
    assert_non_null(frames[1]);
    assert_null(frame_pool_take(pool));
    frame_unref(frames[0]);
    frame_unref(frames[1]);
    frame_pool_unref(pool);
}

TEST(test_a_counted_copy_moves_every_plane_between_strides)
{
    struct frame_layout tight, layout;
    struct frame_pool *pool;
    struct frame *frame;
    struct copies copies = {0};
    uint8_t picture[27]; // 5x3 NV12: 15 bytes of luma, 2 rows of 3 chroma pairs

    for (size_t i = 0; i < sizeof picture; i++)
        picture[i] = (uint8_t)(i + 1);
    frame_layout_init(&tight, pixel_format_by_name("NV12"), 5, 3, 1);
    frame_layout_init(&layout, pixel_format_by_name("NV12"), 5, 3, 16);
    assert_int_equal(frame_pool_new(&layout, 1, frame_allocator_host(), &pool), 0);
    frame = frame_pool_take(pool);
    copies_copy_frame(&copies, COPY_MMAP_FALLBACK, frame, &tight, picture);
    assert_memory_equal(frame->data, "\1\2\3\4\5\0", 6);
    assert_memory_equal(frame->data + 32, "\13\14\15\16\17\0", 6);
    assert_memory_equal(frame->data + 48, "\20\21\22\23\24\25\0", 7);
    assert_memory_equal(frame->data + 64, "\26\27\30\31\32\33\0", 7);
    assert_int_equal(copies.count[COPY_MMAP_FALLBACK], 1);
    assert_int_equal(copies.count[COPY_MJPEG_DECODE], 0);
    assert_string_equal(copy_kind_name(COPY_MMAP_FALLBACK), "mmap-fallback");
    assert_string_equal(copy_kind_name(COPY_MJPEG_DECODE), "mjpeg-decode");
    frame_unref(frame);
    frame_pool_unref(pool);
}

RUN_TESTS(NULL, NULL)
