// For tests of an encoder: NV12 frames go in, and what comes out is kept.
#pragma once

#include "daemon/camera/encoder.h"

#include "capture/frame_pool.h"
#include "tests/unit/stopwatch.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <gst/gst.h>
#include <poll.h>
#include <string.h>

#define UNITS_MAX 256
#define NAL_IDR 5
#define NAL_SPS 7
#define NAL_PPS 8

struct received {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned count;
    bool hold, held; // the output blocks while `hold` is set, and says so
    struct {
        struct link_access_unit life;
        bool trial;
        unsigned nal_types; // bit set
        size_t size;
        uint8_t *bytes;
    } units[UNITS_MAX];
};

static inline unsigned nal_types(const uint8_t *bytes, size_t size)
{
    unsigned types = 0;

    for (size_t i = 0; i + 3 < size; i++) {
        if (bytes[i] == 0 && bytes[i + 1] == 0 && bytes[i + 2] == 1)
            types |= 1U << (bytes[i + 3] & 31);
    }
    return types;
}

static inline void receive(void *context, const struct encoder_unit *unit)
{
    struct received *received = context;

    pthread_mutex_lock(&received->lock);
    while (received->hold) {
        received->held = true;
        pthread_cond_broadcast(&received->changed);
        pthread_cond_wait(&received->changed, &received->lock);
    }
    unsigned i = received->count++;
    assert_true(i < UNITS_MAX);
    received->units[i].life = unit->life;
    received->units[i].trial = unit->trial;
    received->units[i].nal_types = nal_types(unit->bytes, unit->size);
    received->units[i].size = unit->size;
    received->units[i].bytes = malloc(unit->size);
    memcpy(received->units[i].bytes, unit->bytes, unit->size);
    pthread_cond_broadcast(&received->changed);
    pthread_mutex_unlock(&received->lock);
}

static inline void wait_for(struct received *received, unsigned count)
{
    struct timespec deadline;

    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += PATIENCE_NS / NS_PER_S;
    pthread_mutex_lock(&received->lock);
    while (received->count < count)
        assert_int_equal(pthread_cond_timedwait(&received->changed, &received->lock, &deadline), 0);
    pthread_mutex_unlock(&received->lock);
}

static inline void set_hold(struct received *received, bool hold)
{
    pthread_mutex_lock(&received->lock);
    received->hold = hold;
    pthread_cond_broadcast(&received->changed);
    pthread_mutex_unlock(&received->lock);
}

struct fixture {
    struct received received;
    struct frame_pool *pool;
    struct frame *frame;
    struct encoder_settings settings;
    int64_t captured_ns, frame_ns; // of the frame pushed last, and the time between two
    struct encoder_trials trials;  // those that failed when an encoder was made
    struct error error;
};

static inline int setup(void **state)
{
    struct fixture *fixture = calloc(1, sizeof *fixture);
    struct frame_layout layout;

    pthread_mutex_init(&fixture->received.lock, NULL);
    pthread_cond_init(&fixture->received.changed, NULL);
    frame_layout_init(&layout, pixel_format_by_name("NV12"), 322, 242, 64);
    assert_int_equal(frame_pool_new(&layout, 1, frame_allocator_host(), &fixture->pool), 0);
    fixture->frame = frame_pool_take(fixture->pool);
    memset(fixture->frame->data, 128, layout.size);
    fixture->settings = (struct encoder_settings){.width = 322,
                                                  .height = 242,
                                                  .range = FRAME_RANGE_LIMITED,
                                                  .fps_numerator = 30,
                                                  .fps_denominator = 1,
                                                  .bitrate_kbps = 1000,
                                                  .keyframe_frames = 30,
                                                  .governor = CONFIG_GOVERNOR_OFF,
                                                  .element = CONFIG_ENCODER_X264};
    fixture->frame_ns = NS_PER_S / 30;
    *state = fixture;
    return 0;
}

static inline void forget_units(struct received *received)
{
    while (received->count > 0)
        free(received->units[--received->count].bytes);
}

static inline int teardown(void **state)
{
    struct fixture *fixture = *state;

    frame_unref(fixture->frame);
    frame_pool_unref(fixture->pool);
    forget_units(&fixture->received);
    free(fixture);
    return 0;
}

static inline struct encoder *make(struct fixture *fixture)
{
    struct encoder *encoder = NULL;

    if (encoder_new(&fixture->settings, fixture->frame, NULL, receive, &fixture->received,
                    &fixture->trials, &fixture->error, &encoder)) {
        fail_msg("encoder_new: %s", fixture->error.text);
    }
    fixture->captured_ns = clock_now_ns(); // later than the trial
    return encoder;
}

// Pushes frame number `sequence`; the result of encoder_push(). The times of capture
// do not depend on how busy the machine is, as encoders spend more bits on a frame that comes late.
static inline int push_only(struct fixture *fixture, struct encoder *encoder, uint64_t sequence,
                            bool key)
{
    struct link_access_unit life = {.sequence = sequence,
                                    .captured_ns = fixture->captured_ns += fixture->frame_ns,
                                    .computed_ns = clock_now_ns()};

    return encoder_push(encoder, fixture->frame, &life, key);
}

// The same for a frame that nothing has to go for, and waits for its unit.
static inline void push(struct fixture *fixture, struct encoder *encoder, uint64_t sequence,
                        bool key)
{
    unsigned before = fixture->received.count;

    assert_int_equal(push_only(fixture, encoder, sequence, key), 0);
    wait_for(&fixture->received, before + 1);
}

// How often a frame is copied so.
static inline unsigned count_copies(struct encoder *encoder, enum copy_kind kind)
{
    struct copies copies = {0};

    encoder_count_copies(encoder, &copies);
    return (unsigned)copies.count[kind];
}

static inline void check_trial(struct fixture *fixture)
{
    const unsigned types = 1U << NAL_SPS | 1U << NAL_PPS | 1U << NAL_IDR;

    for (unsigned i = 0; i < 2; i++) {
        assert_true(fixture->received.units[i].trial);
        assert_int_equal(fixture->received.units[i].life.key_frame, 1);
        assert_int_equal(fixture->received.units[i].nal_types & types, types);
    }
}
