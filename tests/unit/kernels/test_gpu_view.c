// Pictures of a view on the GPU that are read in their own time. That views compute what the CPU
// computes is shown by check_gpu, blocks that are refused and kernels that fail by
// test_gpu_launch.c and tests/e2e/test_gpu_boards.py.
#include "tests/unit/kernels/gpu_view_bed.h"

#include <errno.h>
#include <pthread.h>

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
            for (size_t i = 0; i < frame->layout.size; i += 64)
                sum = (uint8_t)(sum + frame->data[i]);
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
                              .width = 80,
                              .height = 60};
    struct reader reader = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    struct error error = {0};
    struct gpu_view_bed bed;
    pthread_t thread;
    unsigned computed = 0;

    assert_int_equal(gpu_view_bed_init(&bed, &c, &error), 0);
    assert_int_equal(pthread_create(&thread, NULL, read_frames, &reader), 0);
    for (uint32_t seed = 0; computed < 20 || !has_read(&reader, 10); seed++) {
        struct frame *input = frame_pool_take(bed.pool), *output = NULL;
        int r;

        gpu_view_draw(input, seed);
        r = view_run(bed.view, input, &error, &output);
        if (r != 0 && r != -ENOBUFS)
            fail_msg("%s", error.text);
        computed += r == 0;
        frame_unref(input);
        if (r == 0)
            hand_over(&reader, output);
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
