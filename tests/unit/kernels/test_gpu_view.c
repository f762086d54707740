#include "tests/unit/kernels/gpu_view_bed.h"
#include "tests/unit/stopwatch.h"

#include <errno.h>
#include <pthread.h>

static void make_bed(struct gpu_view_bed *bed, const struct gpu_view_case *c)
{
    struct error error = {0};

    if (gpu_view_bed_init(bed, c, &error) < 0) {
        fail_msg("%s %s: %s", c->options, c->format, error.text);
    }
}

static void run(struct gpu_view_bed *bed, uint32_t seed)
{
    struct error error = {0};

    if (gpu_view_bed_run(bed, seed, &error) < 0) {
        fail_msg("%s", error.text);
    }
}

TEST(test_every_board_and_memory_gives_the_cpus_edges)
{
    static const char *const boards[] = {"board=xavier", "board=orin-nano", "board=agx-orin",
                                         "board=thor", "board=h200"};

    for (size_t b = 0; b < ARRAY_LENGTH(boards); b++) {
        for (enum config_memory kind = CONFIG_MEMORY_REGISTERED; kind < CONFIG_MEMORY_HOST;
             kind++) {
            struct gpu_view_case c = {.options = boards[b],
                                      .memory = kind,
                                      .format = "YUYV",
                                      .kind = CONFIG_VIEW_EDGES,
                                      .gain = 1,
                                      .width = 320,
                                      .height = 241,
                                      .output = VIEW_OUTPUT_STREAM};
            struct gpu_view_bed bed;

            make_bed(&bed, &c);
            assert_int_equal(gpu_memory_kind(bed.memory), kind);
            for (uint32_t seed = 0; seed < 4; seed++) {
                run(&bed, seed);
            }
            gpu_view_bed_finish(&bed);
            assert_int_equal(fake_gpu_leaks(), 0);
        }
    }
}

static const struct gpu_view_case edges = {.options = "board=agx-orin",
                                           .format = "YUYV",
                                           .kind = CONFIG_VIEW_EDGES,
                                           .gain = 1,
                                           .width = 322,
                                           .height = 77};

TEST(test_rows_of_a_launch_that_is_refused_go_back_with_it)
{
    struct gpu_view_case c = edges;
    const struct config_block blocks[CONFIG_KERNEL_COUNT] = {{0, 0, 8}};
    struct error error = {0};
    struct gpu_view_bed bed;

    c.options = "board=orin-nano,refuse=gradient:2";
    make_bed(&bed, &c);
    run(&bed, 1);
    gpu_set_blocks(bed.gpu, blocks);
    run(&bed, 2); // the second launch, repeated at once
    assert_true(gpu_take_complaint(bed.gpu, &error));
    // Registered memory, 77 rows.
    assert_non_null(strstr(error.text, "kernels.gradient.rows = 8, back to 16: "));
    run(&bed, 3);
    gpu_view_bed_finish(&bed);
    assert_int_equal(fake_gpu_leaks(), 0);
}

TEST(test_block_beyond_the_kernels_registers_is_refused_and_the_old_one_stays)
{
    // 168 registers, 5376 a warp: 12 warps of 65536, 384 threads.
    struct gpu_view_case c = edges;
    struct config_block blocks[CONFIG_KERNEL_COUNT] = {{32, 16, 0}, {1, 1, 0}, {1, 1, 0}};
    struct error error = {0};
    struct gpu_view_bed bed;

    c.options = "board=xavier,registers=gradient:168";
    make_bed(&bed, &c);
    gpu_set_blocks(bed.gpu, blocks);
    assert_true(gpu_take_complaint(bed.gpu, &error));
    assert_non_null(strstr(error.text, "kernels.gradient.block = [32, 16]"));
    assert_non_null(strstr(error.text, "384"));
    assert_non_null(strstr(error.text, ", keeping the one before"));
    run(&bed, 5);
    blocks[CONFIG_KERNEL_GRADIENT] = (struct config_block){32, 12, 0};
    gpu_set_blocks(bed.gpu, blocks);
    run(&bed, 6);
    gpu_view_bed_finish(&bed);
    assert_int_equal(fake_gpu_leaks(), 0);
}

TEST(test_launch_that_is_refused_goes_back_to_the_block_before)
{
    struct gpu_view_case c = edges;
    const struct config_block blocks[CONFIG_KERNEL_COUNT] = {{64, 4, 0}, {64, 4, 0}, {64, 4, 0}};
    struct error error = {0};
    struct gpu_view_bed bed;

    c.options = "board=orin-nano,refuse=gradient:2";
    make_bed(&bed, &c);
    run(&bed, 1);
    gpu_set_blocks(bed.gpu, blocks);
    run(&bed, 2); // the second launch, repeated at once
    assert_true(gpu_take_complaint(bed.gpu, &error));
    assert_non_null(strstr(error.text, "kernels.gradient.block = [64, 4], back to [32, 8]"));
    assert_non_null(strstr(error.text, "too many resources requested for launch"));
    assert_false(gpu_take_complaint(bed.gpu, &error));
    run(&bed, 3);
    gpu_view_bed_finish(&bed);
    assert_int_equal(fake_gpu_leaks(), 0);
}

TEST(test_block_that_idles_the_gpu_is_warned_about_with_a_better_one)
{
    const struct config_block blocks[CONFIG_KERNEL_COUNT] = {{8, 1, 0}, {8, 1, 0}, {8, 1, 0}};
    struct error text = {0};
    struct gpu_view_bed bed;

    make_bed(&bed, &edges);
    assert_false(gpu_take_complaint(bed.gpu, &text));
    gpu_set_blocks(bed.gpu, blocks);
    assert_true(gpu_take_complaint(bed.gpu, &text));
    // 16 blocks of 8 threads of the 1536 that an Orin's multiprocessor has: 8 %.
    assert_non_null(strstr(text.text, "kernels.gradient.block = [8, 1]: at most 8%"));
    run(&bed, 1);
    gpu_view_bed_finish(&bed);
}

TEST(test_kernel_that_does_not_end_is_given_up_within_its_second)
{
    struct gpu_view_case c = edges;
    struct error error = {0};
    struct gpu_view_bed bed;

    c.options = "board=orin-nano,hang=gradient:2";
    make_bed(&bed, &c);
    run(&bed, 1);
    int64_t begin_ns = clock_now_ns();
    assert_int_equal(gpu_view_bed_run(&bed, 2, &error), -ETIMEDOUT);
    assert_lasted(begin_ns, 0, 3 * NS_PER_S / 2);
    gpu_lose(bed.gpu);
    gpu_view_bed_finish(&bed);
}

TEST(test_illegal_address_is_an_error_of_the_frame)
{
    struct gpu_view_case c = edges;
    struct error error = {0};
    struct gpu_view_bed bed;

    c.options = "board=h200,illegal=gradient:2";
    make_bed(&bed, &c);
    run(&bed, 1);
    assert_int_equal(gpu_view_bed_run(&bed, 2, &error), -EIO);
    assert_non_null(strstr(error.text, "an illegal memory access was encountered"));
    gpu_lose(bed.gpu);
    gpu_view_bed_finish(&bed);
}

struct reader {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct frame *frame; // handed over, with its reference
    bool ending;
    unsigned read;
};

// An encoder: reads frames in its own time, while the next are computed.
static void *read_frames(void *context)
{
    struct reader *reader = context;
    volatile uint8_t sum = 0;

    pthread_mutex_lock(&reader->lock);
    while (!reader->ending || reader->frame) {
        struct frame *frame = TAKE(reader->frame);

        if (!frame) {
            pthread_cond_wait(&reader->changed, &reader->lock);
            continue;
        }
        pthread_mutex_unlock(&reader->lock);
        for (unsigned pass = 0; pass < 40; pass++) {
            for (size_t i = 0; i < frame->layout.size; i += 64) {
                sum = (uint8_t)(sum + frame->data[i]);
            }
        }
        frame_unref(frame);
        pthread_mutex_lock(&reader->lock);
        reader->read++;
    }
    pthread_mutex_unlock(&reader->lock);
    return NULL;
}

static void hand_over(struct reader *reader, struct frame *frame)
{
    pthread_mutex_lock(&reader->lock);
    frame_unref(reader->frame); // the one that was not read in time
    reader->frame = frame;
    pthread_cond_signal(&reader->changed);
    pthread_mutex_unlock(&reader->lock);
}

static bool has_read(struct reader *reader, unsigned count)
{
    bool has;

    pthread_mutex_lock(&reader->lock);
    has = reader->read >= count;
    pthread_mutex_unlock(&reader->lock);
    return has;
}

// The rule of boards without concurrent access: a touch in the wrong moment would end this program.
TEST(test_managed_frames_are_read_while_the_next_are_computed)
{
    struct gpu_view_case c = {.options = "board=orin-nano,slow=gradient:2",
                              .memory = CONFIG_MEMORY_MANAGED,
                              .format = "YUYV",
                              .kind = CONFIG_VIEW_EDGES,
                              .gain = 1,
                              .width = 320,
                              .height = 240};
    struct reader reader = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    struct error error = {0};
    struct gpu_view_bed bed;
    pthread_t thread;
    unsigned computed = 0;

    make_bed(&bed, &c);
    assert_int_equal(pthread_create(&thread, NULL, read_frames, &reader), 0);
    for (uint32_t seed = 0; computed < 20 || !has_read(&reader, 10); seed++) {
        struct frame *input = frame_pool_take(bed.pool), *output = NULL;
        int r;

        gpu_view_draw(input, seed);
        r = view_run(bed.view, input, &error, &output);
        if (r != 0 && r != -ENOBUFS) {
            fail_msg("%s", error.text);
        }
        computed += r == 0;
        frame_unref(input);
        if (r == 0) {
            hand_over(&reader, output);
        }
    }
    pthread_mutex_lock(&reader.lock);
    reader.ending = true;
    pthread_cond_signal(&reader.changed);
    pthread_mutex_unlock(&reader.lock);
    pthread_join(thread, NULL);
    gpu_view_bed_finish(&bed);
    assert_int_equal(fake_gpu_leaks(), 0);
}

RUN_TESTS(NULL, fake_gpu_end)
