// Frames in a Jetson's NVMM on their way into its encoder, and into others, as tests/fakes/jetson
// plays the elements: what each way costs, and that every frame comes back.
#include "kernels/gpu/gpu_surfaces.h"
#include "tests/unit/daemon/encoder_bed.h"
#include "tests/unit/fake_gpu.h"
#include "tests/unit/fake_nvmm.h"

#include <glib/gstdio.h>

#define FRAMES ENCODER_PICTURES
#define PUSHED 20
#define TRIAL_FRAMES_MAX 30

struct bed {
    struct fixture *fixture; // its pool and frame are surfaces
    struct gpu *gpu;
    struct gpu_surfaces *surfaces;
    char report[64];
};

static void make_frames(struct bed *bed)
{
    const struct frame_allocator *allocator = gpu_surfaces_allocator(bed->surfaces);
    struct fixture *fixture = bed->fixture;
    struct frame_layout layout;

    frame_unref(fixture->frame);
    frame_pool_unref(fixture->pool);
    frame_layout_init(&layout, pixel_format_by_name("NV12"), 322, 242, 64);
    assert_int_equal(allocator->surfaces->lay_out(allocator->context, &layout, NULL), 0);
    assert_int_equal(frame_pool_new(&layout, FRAMES, allocator, &fixture->pool), 0);
    fixture->frame = frame_pool_take(fixture->pool);
    assert_int_equal(frame_begin_cpu_access(fixture->frame, NULL), 0);
    for (unsigned i = 0; i < 2; i++) {
        memset(frame_plane(fixture->frame, i), 128,
               layout.planes[i].stride * layout.planes[i].rows);
    }
    assert_int_equal(frame_end_cpu_access(fixture->frame, NULL), 0);
}

static int set_up(void **state)
{
    struct bed *bed = calloc(1, sizeof *bed);
    char options[96];

    gst_init(NULL, NULL);
    setup((void **)&bed->fixture);
    snprintf(bed->report, sizeof bed->report, "/tmp/edged-encoder-%d.txt", getpid());
    snprintf(options, sizeof options, "report=%s", bed->report);
    g_setenv("FAKE_JETSON", options, TRUE);
    fake_gpu_play("board=agx-orin");
    fake_nvmm_play("");
    assert_int_equal(gpu_new(NULL, &bed->gpu), 0);
    assert_int_equal(gpu_surfaces_new(bed->gpu, NULL, &bed->surfaces), 0);
    make_frames(bed);
    bed->fixture->settings.element = CONFIG_ENCODER_AUTO;
    bed->fixture->settings.surfaces = 1;
    *state = bed;
    return 0;
}

// Every frame is back, and nothing else is left.
static int tear_down(void **state)
{
    struct bed *bed = *state;
    struct frame *frames[FRAMES];

    for (unsigned i = 0; i + 1 < FRAMES; i++) {
        frames[i] = frame_pool_take(bed->fixture->pool);
        assert_non_null(frames[i]);
    }
    for (unsigned i = 0; i + 1 < FRAMES; i++)
        frame_unref(frames[i]);
    teardown((void **)&bed->fixture);
    gpu_surfaces_free(bed->surfaces);
    gpu_free(bed->gpu);
    g_unlink(bed->report);
    assert_int_equal(fake_nvmm_left(), 0);
    assert_int_equal(fake_gpu_leaks(), 0);
    free(bed);
    return 0;
}

// Adds options to those of the elements.
static void play(const struct bed *bed, const char *options)
{
    g_autofree char *all = g_strdup_printf("report=%s,%s", bed->report, options);

    g_setenv("FAKE_JETSON", all, TRUE);
}

static void push_frames(struct fixture *fixture, struct encoder *encoder)
{
    for (unsigned n = 0; n < PUSHED; n++) {
        push(fixture, encoder, n, n == 10);
        assert_int_equal(fixture->received.units[2 + n].life.sequence, n);
    }
    assert_int_equal(fixture->received.units[2 + 10].life.key_frame, 1);
}

// The report that the last encoder wrote as it ended.
static void read_report(const struct bed *bed, unsigned *ret_imported, unsigned *ret_transformed)
{
    g_autofree char *text = NULL;
    const char *line;

    assert_true(g_file_get_contents(bed->report, &text, NULL, NULL));
    line = g_strrstr(text, "imported=");
    assert_int_equal(sscanf(line, "imported=%u transformed=%u", ret_imported, ret_transformed), 2);
}

// The trial's two frames, or more of them on a machine so slow that no unit comes in time, and all
// that were pushed after it.
static void check_all_went(unsigned count)
{
    assert_in_range(count, 2 + PUSHED, TRIAL_FRAMES_MAX + PUSHED);
}

static void check_way(struct bed *bed, const char *how, const char *why, bool transforms)
{
    struct fixture *fixture = bed->fixture;
    uint64_t before = fake_nvmm_count("fake_nvmm_cpu_accesses");
    struct encoder *encoder = make(fixture);
    unsigned counts[2];

    check_trial(fixture);
    assert_string_equal(encoder_how(encoder), how);
    assert_int_equal(fixture->trials.count, why[0] != '\0');
    if (fixture->trials.count) {
        assert_string_equal(fixture->trials.list[0].encoder, "nvv4l2h264enc by descriptor");
        assert_int_equal(strncmp(fixture->trials.list[0].reason, why, strlen(why)), 0);
        assert_true(fixture->trials.list[0].took_ms > 0);
    }
    push_frames(fixture, encoder);
    assert_int_equal(count_copies(encoder, COPY_VIC_TRANSFORM), transforms);
    assert_int_equal(count_copies(encoder, COPY_NVMM_COPY), 0);
    encoder_free(encoder);
    assert_int_equal(fake_nvmm_count("fake_nvmm_cpu_accesses"), before);
    read_report(bed, &counts[0], &counts[1]);
    check_all_went(counts[transforms]);
    assert_int_equal(counts[!transforms], 0);
}

// A release whose elements know no descriptors. In a process of its own, as properties are made
// once.
static void encode_without_import(const void *context)
{
    struct bed *bed;

    (void)context;
    set_up((void **)&bed);
    play(bed, "no-import");
    check_way(bed, " by transform", "could not set property \"output-io-mode\"", true);
    tear_down((void **)&bed);
    fake_gpu_end(NULL);
    _exit(0);
}

// First: GStreamer is not to have begun where a process forks.
TEST(test_a_release_without_descriptors_transforms)
{
    char text[16384];

    assert_int_equal(fake_gpu_run_child(encode_without_import, NULL, text, sizeof text), 0);
}

TEST(test_surfaces_go_in_by_descriptor_and_nobody_copies_them, set_up, tear_down)
{
    check_way(*state, " by descriptor", "", false);
}

// NVIDIA's spends an order for a key frame on one of the frames in its queue.
TEST(test_the_trial_of_an_encoder_with_a_queue_takes_no_time, set_up, tear_down)
{
    struct bed *bed = *state;
    int64_t start_ns = clock_now_ns();
    struct encoder *encoder = make(bed->fixture);

    assert_string_equal(encoder_name(encoder), "nvv4l2h264enc");
    assert_lasted(start_ns, 0, 6 * NS_PER_S);
    encoder_free(encoder);
}

TEST(test_h265_takes_them_as_well, set_up, tear_down)
{
    struct bed *bed = *state;
    struct encoder *encoder;
    unsigned counts[2];

    bed->fixture->settings.codec = CONFIG_CODEC_H265;
    encoder = make(bed->fixture);
    assert_string_equal(encoder_name(encoder), "nvv4l2h265enc");
    assert_string_equal(encoder_how(encoder), " by descriptor");
    push_frames(bed->fixture, encoder);
    encoder_free(encoder);
    read_report(bed, &counts[0], &counts[1]);
    check_all_went(counts[0]);
}

// By the names and values that NVIDIA's elements know: others are passed over.
TEST(test_both_codecs_get_settings_that_their_elements_have, set_up, tear_down)
{
    static const char *const lines[] = {
        [CONFIG_CODEC_H264] = "EdgedFakeNvenc264 idrinterval=60 insert-sps-pps=true "
                              "insert-vui=true maxperf-enable=true preset-level=UltraFastPreset "
                              "num-B-Frames=0 poc-type=2 profile=0\n",
        [CONFIG_CODEC_H265] = "EdgedFakeNvenc265 idrinterval=60 insert-sps-pps=true "
                              "insert-vui=true maxperf-enable=true preset-level=UltraFastPreset "
                              "num-B-Frames=0 profile=0\n",
    };
    struct bed *bed = *state;

    for (int codec = CONFIG_CODEC_H264; codec <= CONFIG_CODEC_H265; codec++) {
        g_autofree char *text = NULL;

        bed->fixture->settings.codec = codec;
        bed->fixture->settings.keyframe_frames = 60;
        encoder_free(make(bed->fixture));
        assert_true(g_file_get_contents(bed->report, &text, NULL, NULL));
        assert_non_null(strstr(text, lines[codec]));
    }
}

TEST(test_its_size_cannot_be_given_up_so_the_rate_is, set_up, tear_down)
{
    struct bed *bed = *state;
    struct link_access_unit life = {0};
    int64_t end_ns = clock_now_ns() + 60 * NS_PER_S;
    struct encoder *encoder;

    bed->fixture->settings.governor = CONFIG_GOVERNOR_SIZE;
    encoder = make(bed->fixture);
    set_hold(&bed->fixture->received, true);
    while (encoder_governed(encoder)[0] == '\0' && clock_now_ns() < end_ns) {
        life.captured_ns = clock_now_ns();
        assert_true(encoder_push(encoder, bed->fixture->frame, &life, false) >= 0);
        poll(NULL, 0, 10);
    }
    assert_string_equal(encoder_governed(encoder), "rate 1/2");
    set_hold(&bed->fixture->received, false);
    encoder_free(encoder);
}

TEST(test_an_encoder_that_fails_with_descriptors_transforms_and_that_is_counted, set_up, tear_down)
{
    play(*state, "refuse-import");
    check_way(*state, " by transform", "Failed to process frame.", true);
}

// By what the CPU reads of each plane.
TEST(test_an_encoder_without_hardware_reads_surfaces_by_the_cpu, set_up, tear_down)
{
    struct bed *bed = *state;
    struct encoder *encoder;

    play(bed, "refuse");
    encoder = make(bed->fixture);
    assert_string_equal(encoder_name(encoder), "x264enc");
    assert_string_equal(encoder_how(encoder), "");
    assert_string_equal(bed->fixture->trials.list[1].encoder, "nvv4l2h264enc by transform");
    assert_string_equal(bed->fixture->trials.list[1].reason, "Failed to process frame.");
    push_frames(bed->fixture, encoder);
    for (enum copy_kind kind = 0; kind < COPY_KIND_COUNT; kind++)
        assert_int_equal(count_copies(encoder, kind), 0);
    encoder_free(encoder);
}

// A surface that the CPU cannot get at is an encoder's failure, of which the lane makes a new one.
TEST(test_a_surface_that_cannot_be_read_fails_the_encoder, set_up, tear_down)
{
    struct bed *bed = *state;
    struct encoder *encoder = NULL;

    bed->fixture->settings.element = CONFIG_ENCODER_X264;
    fake_nvmm_play("fail=NvBufSurfaceSyncForCpu:1+");
    assert_int_equal(encoder_new(&bed->fixture->settings, bed->fixture->frame, NULL, receive,
                                 &bed->fixture->received, &bed->fixture->trials,
                                 &bed->fixture->error, &encoder),
                     -ENOSYS);
    assert_string_equal(bed->fixture->error.text,
                        "no encoder works; x264enc: NvBufSurfaceSyncForCpu failed");
}

// Plain memory goes in by nvvidconv: the CPU copies it, then the VIC works twice. Its rows are
// multiples of 64 bytes long, for which nvvidconv does not look.
TEST(test_from_plain_memory_every_copy_is_counted, set_up, tear_down)
{
    struct bed *bed = *state;
    struct fixture *fixture = bed->fixture, plain;
    struct encoder *encoder;
    uint64_t before;
    unsigned counts[2];
    void *other = NULL;

    setup(&other);
    plain = *fixture;
    plain.frame = ((struct fixture *)other)->frame;
    plain.settings.surfaces = 0;
    before = fake_nvmm_count("fake_nvmm_cpu_accesses");
    encoder = make(&plain);
    assert_string_equal(encoder_name(encoder), "nvv4l2h264enc");
    push_frames(&plain, encoder);
    assert_int_equal(count_copies(encoder, COPY_NVMM_COPY), 1);
    assert_int_equal(count_copies(encoder, COPY_VIC_TRANSFORM), 2);
    assert_int_equal(count_copies(encoder, COPY_ENCODER_CONVERT), 1);
    encoder_free(encoder);
    assert_true(fake_nvmm_count("fake_nvmm_cpu_accesses") > before + PUSHED);
    read_report(bed, &counts[0], &counts[1]);
    check_all_went(counts[1]);
    fixture->received = plain.received;
    teardown(&other);
}

int main(void)
{
    g_autofree char *registry = g_strdup_printf("/tmp/edged-jetson-%d.registry", getpid());
    char folder[600];

    fake_path("jetson", folder);
    g_setenv("GST_PLUGIN_PATH", folder, TRUE);
    g_setenv("GST_REGISTRY", registry, TRUE);
    fake_nvmm_find("fake_nvmm_reset"); // before the elements look for the library
    int failed = run_unit_tests(NULL, fake_gpu_end);
    g_unlink(registry);
    gst_deinit();
    return failed;
}
