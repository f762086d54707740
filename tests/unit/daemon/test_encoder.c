// Encoders by trial, one access unit a frame in order, key frames on demand, newest wins.

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

static unsigned nal_types(const uint8_t *bytes, size_t size)
{
    unsigned types = 0;

    for (size_t i = 0; i + 3 < size; i++) {
        if (bytes[i] == 0 && bytes[i + 1] == 0 && bytes[i + 2] == 1) {
            types |= 1U << (bytes[i + 3] & 31);
        }
    }
    return types;
}

static void receive(void *context, const struct encoder_unit *unit)
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

static void wait_for(struct received *received, unsigned count)
{
    struct timespec deadline;

    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += PATIENCE_NS / NS_PER_S;
    pthread_mutex_lock(&received->lock);
    while (received->count < count) {
        assert_int_equal(pthread_cond_timedwait(&received->changed, &received->lock, &deadline), 0);
    }
    pthread_mutex_unlock(&received->lock);
}

static void set_hold(struct received *received, bool hold)
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
    struct error error;
};

static int setup(void **state)
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
                                                  .element = CONFIG_ENCODER_X264};
    fixture->frame_ns = NS_PER_S / 30;
    *state = fixture;
    return 0;
}

static void forget_units(struct received *received)
{
    while (received->count > 0) {
        free(received->units[--received->count].bytes);
    }
}

static int teardown(void **state)
{
    struct fixture *fixture = *state;

    frame_unref(fixture->frame);
    frame_pool_unref(fixture->pool);
    forget_units(&fixture->received);
    free(fixture);
    return 0;
}

static struct encoder *make(struct fixture *fixture)
{
    struct encoder *encoder = NULL;

    if (encoder_new(&fixture->settings, fixture->frame, NULL, receive, &fixture->received,
                    &fixture->error, &encoder)) {
        fail_msg("encoder_new: %s", fixture->error.text);
    }
    fixture->captured_ns = clock_now_ns(); // later than the trial
    return encoder;
}

// Pushes frame number `sequence`; the result of encoder_push(). The times of capture
// do not depend on how busy the machine is, as encoders spend more bits on a frame that comes late.
static int push_only(struct fixture *fixture, struct encoder *encoder, uint64_t sequence, bool key)
{
    struct link_access_unit life = {.sequence = sequence,
                                    .captured_ns = fixture->captured_ns += fixture->frame_ns,
                                    .computed_ns = clock_now_ns()};

    return encoder_push(encoder, fixture->frame, &life, key);
}

// The same for a frame that nothing has to go for, and waits for its unit.
static void push(struct fixture *fixture, struct encoder *encoder, uint64_t sequence, bool key)
{
    unsigned before = fixture->received.count;

    assert_int_equal(push_only(fixture, encoder, sequence, key), 0);
    wait_for(&fixture->received, before + 1);
}

static void check_trial(struct fixture *fixture)
{
    const unsigned types = 1U << NAL_SPS | 1U << NAL_PPS | 1U << NAL_IDR;

    for (unsigned i = 0; i < 2; i++) {
        assert_true(fixture->received.units[i].trial);
        assert_int_equal(fixture->received.units[i].life.key_frame, 1);
        assert_int_equal(fixture->received.units[i].nal_types & types, types);
    }
}

TEST(test_the_trial_gives_two_different_idr_pictures, setup, teardown)
{
    struct fixture *fixture = *state;
    struct encoder *encoder = make(fixture);

    assert_int_equal(fixture->received.count, 2);
    check_trial(fixture);
    // The pictures are equal; what differs is idr_pic_id, as 7.4.3 of the standard demands.
    assert_false(fixture->received.units[0].size == fixture->received.units[1].size &&
                 !memcmp(fixture->received.units[0].bytes, fixture->received.units[1].bytes,
                         fixture->received.units[0].size));
    assert_string_equal(encoder_name(encoder), "x264enc");
    assert_false(encoder_converts(encoder));
    encoder_free(encoder);
}

TEST(test_every_frame_gives_its_unit_in_order, setup, teardown)
{
    struct fixture *fixture = *state;
    struct encoder *encoder = make(fixture);

    for (uint64_t n = 0; n < 100; n++) {
        push(fixture, encoder, n, false);
    }
    for (unsigned n = 0; n < 100; n++) {
        assert_int_equal(fixture->received.units[2 + n].life.sequence, n);
        assert_false(fixture->received.units[2 + n].trial);
        assert_true(fixture->received.units[2 + n].life.encoded_ns >=
                    fixture->received.units[2 + n].life.computed_ns);
    }
    encoder_free(encoder);
}

TEST(test_key_frames_come_by_distance_and_on_demand, setup, teardown)
{
    struct fixture *fixture = *state;
    struct encoder *encoder = make(fixture);

    for (unsigned n = 0; n < 70; n++) {
        push(fixture, encoder, n, n == 40);
        // The second trial frame was a key frame, 30 frames on comes the next; 40 restarts that.
        assert_int_equal(fixture->received.units[2 + n].life.key_frame, n == 29 || n == 40);
    }
    encoder_free(encoder);
}

// Bytes that so many frames of noise are encoded to.
static size_t encode_noise(struct fixture *fixture, struct encoder *encoder, unsigned count)
{
    size_t bytes = 0;

    for (unsigned n = 0; n < count; n++) {
        for (size_t i = 0; i < fixture->frame->layout.size; i++) {
            fixture->frame->data[i] = (uint8_t)(96 + rand() % 64);
        }
        push(fixture, encoder, n, false);
        bytes += fixture->received.units[fixture->received.count - 1].size;
    }
    return bytes;
}

static void check_retuning(struct fixture *fixture)
{
    bool scenes = fixture->settings.element == CONFIG_ENCODER_OPENH264; // get key frames of its own
    fixture->settings.bitrate_kbps = 8000;
    fixture->settings.keyframe_frames = 1000;
    struct encoder *encoder = make(fixture);
    size_t many = encode_noise(fixture, encoder, 40);
    encoder_retune(encoder, 1000, 10);
    encode_noise(fixture, encoder, 20); // until the element is at its new rate
    assert_true(encode_noise(fixture, encoder, 40) * 2 < many);
    for (unsigned n = 0; n < 100; n++) {
        assert_true(fixture->received.units[2 + n].life.key_frame == (n >= 40 && n % 10 == 0) ||
                    (fixture->received.units[2 + n].life.key_frame && scenes));
    }
    encoder_mute(encoder);
    assert_int_equal(push_only(fixture, encoder, 100, false), 0);
    encoder_free(encoder);
    assert_int_equal(fixture->received.count, 102);
}

// The output holds on to the unit of frame 0, so that all that follow have to wait.
static void fill_element(struct fixture *fixture, struct encoder *encoder)
{
    struct received *received = &fixture->received;

    set_hold(received, true);
    assert_int_equal(push_only(fixture, encoder, 0, false), 0);
    pthread_mutex_lock(&received->lock);
    while (!received->held) {
        pthread_cond_wait(&received->changed, &received->lock);
    }
    pthread_mutex_unlock(&received->lock);
}

TEST(test_a_full_queue_drops_the_oldest_and_keeps_its_key_frame, setup, teardown)
{
    struct fixture *fixture = *state;
    struct encoder *encoder = make(fixture);

    fill_element(fixture, encoder);
    for (unsigned n = 1; n < 40; n++) {
        assert_int_equal(push_only(fixture, encoder, n, n == 20), n > ENCODER_QUEUE_LENGTH);
    }
    set_hold(&fixture->received, false);
    wait_for(&fixture->received, 2 + 1 + ENCODER_QUEUE_LENGTH);
    for (unsigned i = 0; i < ENCODER_QUEUE_LENGTH; i++) {
        assert_int_equal(fixture->received.units[3 + i].life.sequence, 30 + i);
        assert_int_equal(fixture->received.units[3 + i].life.key_frame, i == 0);
    }
    encoder_free(encoder);
}

// Frame 1 finds the queue empty, the others do not: it stands for a second when the last comes.
TEST(test_a_queue_that_stands_for_a_second_makes_way_for_the_newest, setup, teardown)
{
    struct fixture *fixture = *state;
    struct encoder *encoder = make(fixture);

    fill_element(fixture, encoder);
    for (unsigned n = 1; n < 5; n++) {
        assert_int_equal(push_only(fixture, encoder, n, false), 0);
    }
    poll(NULL, 0, 1100);
    assert_int_equal(push_only(fixture, encoder, 5, false), 4);
    set_hold(&fixture->received, false);
    wait_for(&fixture->received, 2 + 2);
    assert_int_equal(fixture->received.units[2].life.sequence, 0);
    assert_int_equal(fixture->received.units[3].life.sequence, 5);
    encoder_free(encoder);
}

TEST(test_bit_rate_and_key_frame_distance_change_while_it_runs, setup, teardown)
{
    check_retuning(*state);
}

static void take_openh264(struct fixture *fixture)
{
    if (!gst_registry_check_feature_version(gst_registry_get(), "openh264enc", 1, 0, 0)) {
        skip(); // Ubuntu 20.04 has none
    }
    fixture->settings.element = CONFIG_ENCODER_OPENH264;
}

TEST(test_openh264enc_stands_in, setup, teardown)
{
    struct fixture *fixture = *state;

    take_openh264(fixture);
    struct encoder *encoder = make(fixture);
    check_trial(fixture);
    assert_true(encoder_converts(encoder));
    push(fixture, encoder, 0, false);
    push(fixture, encoder, 1, true);
    assert_int_equal(fixture->received.units[2 + 1].life.key_frame, 1);
    assert_true(fixture->received.units[2 + 1].nal_types & 1U << NAL_SPS);
    encoder_free(encoder);
    forget_units(&fixture->received);
    check_retuning(fixture);
}

// At a frame a second each may have the bits of a second, far more than openh264 has room for.
TEST(test_openh264enc_survives_noise_however_seldom_frames_come, setup, teardown)
{
    struct fixture *fixture = *state;

    take_openh264(fixture);
    fixture->settings.bitrate_kbps = 8000;
    fixture->frame_ns = NS_PER_S;
    struct encoder *encoder = make(fixture);
    encode_noise(fixture, encoder, 60);
    encoder_free(encoder);
}

TEST(test_an_encoder_that_is_not_there_says_so, setup, teardown)
{
    struct fixture *fixture = *state;
    struct encoder *encoder = NULL;

    fixture->settings.element = CONFIG_ENCODER_NVV4L2;
    assert_int_equal(encoder_new(&fixture->settings, fixture->frame, NULL, receive,
                                 &fixture->received, &fixture->error, &encoder),
                     -ENOSYS);
    assert_null(encoder);
    assert_string_equal(fixture->error.text,
                        "no encoder works; nvv4l2h264enc: no element \"nvvidconv\"");
}

TEST(test_auto_takes_the_first_that_encodes, setup, teardown)
{
    struct fixture *fixture = *state;

    fixture->settings.element = CONFIG_ENCODER_AUTO;
    struct encoder *encoder = make(fixture);
    assert_string_equal(encoder_name(encoder), "x264enc");
    encoder_free(encoder);
}

TEST(test_freeing_with_a_full_queue_gives_every_frame_back, setup, teardown)
{
    struct fixture *fixture = *state;
    struct encoder *encoder = make(fixture);

    for (unsigned n = 0; n < 4; n++) {
        assert_true(push_only(fixture, encoder, n, false) >= 0);
    }
    encoder_free(encoder);
    assert_int_equal(fixture->frame->references, 1);
}

int main(int argc, char **argv)
{
    gst_init(&argc, &argv);
    int failed = run_unit_tests(NULL, NULL);
    gst_deinit();
    return failed;
}
