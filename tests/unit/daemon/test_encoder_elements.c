// Encoders by trial: each element that is here, what it makes, and settings that change.
#include "daemon/video/nal.h"
#include "tests/unit/daemon/encoder_bed.h"

#include <limits.h>

// Bytes that so many frames of noise are encoded to.
static size_t encode_noise(struct fixture *fixture, struct encoder *encoder, unsigned count)
{
    size_t bytes = 0;

    for (unsigned n = 0; n < count; n++) {
        for (size_t i = 0; i < fixture->frame->layout.size; i++)
            fixture->frame->data[i] = (uint8_t)(96 + rand() % 64);
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
    struct encoder_settings other = fixture->settings;
    other.bitrate_kbps = 1000;
    other.keyframe_frames = 10;
    encoder_retune(encoder, &other);
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

TEST(test_bit_rate_and_key_frame_distance_change_while_it_runs, setup, teardown)
{
    check_retuning(*state);
}

static void take_openh264(struct fixture *fixture)
{
    if (!gst_registry_check_feature_version(gst_registry_get(), "openh264enc", 1, 0, 0))
        SKIP("GStreamer has no openh264enc here, as on Ubuntu 20.04");
    fixture->settings.element = CONFIG_ENCODER_OPENH264;
}

TEST(test_openh264enc_stands_in, setup, teardown)
{
    struct fixture *fixture = *state;

    take_openh264(fixture);
    struct encoder *encoder = make(fixture);
    check_trial(fixture);
    assert_int_equal(count_copies(encoder, COPY_ENCODER_CONVERT), 1);
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

// Whether the unit has a NAL unit of each of H.265's types.
static bool has_h265_types(const struct received *received, unsigned unit, uint64_t types)
{
    struct nal_walk walk;

    nal_walk_begin(&walk, CONFIG_CODEC_H265, received->units[unit].bytes,
                   received->units[unit].size);
    while (nal_walk_next(&walk))
        types &= ~(UINT64_C(1) << walk.type);
    return types == 0;
}

TEST(test_x265enc_makes_h265, setup, teardown)
{
    // VPS, SPS, PPS and IDR_N_LP, a key frame that nothing follows out of order (table 7-1).
    const uint64_t key_types = UINT64_C(7) << 32 | UINT64_C(1) << 20;
    struct fixture *fixture = *state;

    fixture->settings.codec = CONFIG_CODEC_H265;
    fixture->settings.element = CONFIG_ENCODER_AUTO;
    struct encoder *encoder = make(fixture);
    assert_string_equal(encoder_name(encoder), "x265enc");
    assert_int_equal(count_copies(encoder, COPY_ENCODER_CONVERT), 1);
    for (unsigned n = 0; n < 2; n++)
        assert_true(fixture->received.units[n].trial);
    for (unsigned n = 0; n < 5; n++) {
        push(fixture, encoder, n, n == 3);
        assert_int_equal(fixture->received.units[2 + n].life.key_frame, n == 3);
    }
    for (unsigned n = 0; n < 7; n++)
        assert_int_equal(has_h265_types(&fixture->received, n, key_types), n < 2 || n == 5);
    bool can_retune = encoder_can_retune(encoder);
    encoder_free(encoder);
    forget_units(&fixture->received);
    if (can_retune)
        check_retuning(fixture);
}

TEST(test_an_encoder_that_is_not_there_says_so, setup, teardown)
{
    struct fixture *fixture = *state;
    struct encoder *encoder = NULL;

    fixture->settings.element = CONFIG_ENCODER_NVV4L2;
    assert_int_equal(encoder_new(&fixture->settings, fixture->frame, NULL, receive,
                                 &fixture->received, &fixture->trials, &fixture->error, &encoder),
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

TEST(test_auto_tries_last_what_hung_before, setup, teardown)
{
    struct fixture *fixture = *state;
    struct encoder_watches watches = {.passed_over = 1U << CONFIG_ENCODER_X264};
    struct encoder *encoder = NULL;

    encoder_watches_init(&watches);
    fixture->settings.element = CONFIG_ENCODER_AUTO;
    for (unsigned without = 0; without < 2; without++) {
        fixture->settings.without = without << CONFIG_ENCODER_OPENH264;
        bool another = !without && gst_registry_check_feature_version(gst_registry_get(),
                                                                      "openh264enc", 1, 0, 0);
        assert_int_equal(encoder_new(&fixture->settings, fixture->frame, &watches, receive,
                                     &fixture->received, &fixture->trials, &fixture->error,
                                     &encoder),
                         0);
        assert_string_equal(encoder_name(encoder), another ? "openh264enc" : "x264enc");
        encoder_free(encoder);
    }
    encoder_watches_finish(&watches);
}

TEST(test_auto_leaves_out_what_the_board_has_not_and_a_name_does_not, setup, teardown)
{
    struct fixture *fixture = *state;
    struct encoder *encoder = NULL;

    fixture->settings.without = UINT_MAX & ~(1U << CONFIG_ENCODER_NVV4L2);
    fixture->settings.element = CONFIG_ENCODER_AUTO;
    assert_int_equal(encoder_new(&fixture->settings, fixture->frame, NULL, receive,
                                 &fixture->received, &fixture->trials, &fixture->error, &encoder),
                     -ENOSYS);
    assert_string_equal(fixture->error.text,
                        "no encoder works; nvv4l2h264enc: no element \"nvvidconv\"; "
                        "v4l2h264enc: this board has no such hardware; "
                        "nvcudah264enc: this board has no such hardware; "
                        "nvh264enc: this board has no such hardware; "
                        "x264enc: this board has no such hardware; "
                        "openh264enc: this board has no such hardware");
    fixture->settings.element = CONFIG_ENCODER_X264;
    encoder_free(make(fixture));
}

// The encoder of a GPU on a card, played by x264enc: it takes bit rates in kbit/s.
struct fake_nvcodec {
    GstBin parent;
    guint bitrate;
    gint gop_size;
    gboolean without_delay;
};

static struct fake_nvcodec *played; // the newest

static void fake_nvcodec_set(GObject *object, guint id, const GValue *value, GParamSpec *property)
{
    struct fake_nvcodec *fake = (struct fake_nvcodec *)object;

    (void)property;
    if (id == 1)
        fake->bitrate = g_value_get_uint(value);
    else if (id == 2)
        fake->gop_size = g_value_get_int(value);
    else
        fake->without_delay = g_value_get_boolean(value);
}

static void fake_nvcodec_class_init(gpointer type_class, gpointer data)
{
    GObjectClass *object = type_class;

    (void)data;
    object->set_property = fake_nvcodec_set;
    g_object_class_install_property(
        object, 1, g_param_spec_uint("bitrate", "", "", 0, 2048000, 0, G_PARAM_WRITABLE));
    g_object_class_install_property(
        object, 2, g_param_spec_int("gop-size", "", "", -1, G_MAXINT, 30, G_PARAM_WRITABLE));
    g_object_class_install_property(
        object, 3, g_param_spec_boolean("zero-reorder-delay", "", "", FALSE, G_PARAM_WRITABLE));
    gst_element_class_set_static_metadata(type_class, "NVENC", "Codec/Encoder/Video", "", "edged");
}

static void fake_nvcodec_init(GTypeInstance *instance, gpointer type_class)
{
    GstElement *inside = gst_parse_bin_from_description(
        "x264enc tune=zerolatency ! video/x-h264,profile=constrained-baseline", TRUE, NULL);

    (void)type_class;
    played = (struct fake_nvcodec *)instance;
    gst_bin_add(GST_BIN(instance), inside);
    for (unsigned i = 0; i < 2; i++) {
        const char *name = i ? "src" : "sink";
        GstPad *pad = gst_element_get_static_pad(inside, name);

        gst_element_add_pad(GST_ELEMENT(instance), gst_ghost_pad_new(name, pad));
        gst_object_unref(pad);
    }
}

// The last test, because the element stays.
TEST(test_a_gpus_encoder_comes_before_the_cpus, setup, teardown)
{
    struct fixture *fixture = *state;
    GType type = g_type_register_static_simple(GST_TYPE_BIN, "FakeNvcodec", sizeof(GstBinClass),
                                               fake_nvcodec_class_init, sizeof(struct fake_nvcodec),
                                               fake_nvcodec_init, 0);

    assert_true(gst_element_register(NULL, "nvcudah264enc", GST_RANK_NONE, type));
    fixture->settings.element = CONFIG_ENCODER_AUTO;
    struct encoder *encoder = make(fixture);
    assert_string_equal(encoder_name(encoder), "nvcudah264enc");
    check_trial(fixture);
    assert_int_equal(played->bitrate, fixture->settings.bitrate_kbps);
    assert_int_equal(played->gop_size, 301); // encoder.c asks for key frames
    assert_true(played->without_delay);
    assert_int_equal(count_copies(encoder, COPY_ENCODER_UPLOAD), 1);
    push(fixture, encoder, 0, true);
    assert_int_equal(fixture->received.units[2].life.key_frame, 1);
    encoder_free(encoder);
}

int main(int argc, char **argv)
{
    gst_init(&argc, &argv);
    int failed = run_unit_tests(NULL, NULL);
    gst_deinit();
    return failed;
}
