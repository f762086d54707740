// A Jetson's camera whose surfaces the GPU adopts, played by tests/fakes/jetson: they are read
// where the camera put them, by the CPU as well; and what becomes of those that cannot be.
#include "tests/unit/capture/source_harness.h"

#include "capture/gstreamer/source_argus.h"
#include "kernels/gpu/gpu_surfaces.h"
#include "tests/unit/fake_gpu.h"
#include "tests/unit/fake_nvmm.h"

#include <glib/gstdio.h>
#include <gst/gst.h>

#define WIDTH 322
#define HEIGHT 242
#define FRAMES 20 // each of the camera's surfaces comes more than once

struct bed {
    struct harness harness;
    struct gpu *gpu;
    struct gpu_surfaces *surfaces;
};

static void bed_init(struct bed *bed, const char *driver, const char *library, const char *elements)
{
    *bed = (struct bed){0};
    g_setenv("FAKE_JETSON", elements, TRUE);
    fake_gpu_play(driver);
    fake_nvmm_play(library);
    assert_int_equal(gpu_new(NULL, &bed->gpu), 0);
    assert_int_equal(gpu_surfaces_new(bed->gpu, NULL, &bed->surfaces), 0);
    harness_init(&bed->harness);
    bed->harness.camera.width = WIDTH;
    bed->harness.camera.height = HEIGHT;
    bed->harness.environment.surfaces = gpu_surfaces_allocator(bed->surfaces);
}

static void bed_finish(struct bed *bed)
{
    source_close(TAKE(bed->harness.source));
    gpu_surfaces_free(bed->surfaces);
    gpu_free(bed->gpu);
    assert_int_equal(fake_nvmm_left(), 0);
    assert_int_equal(fake_gpu_leaks(), 0);
}

// Where a place of a picture of `width` by `height` is in the one that was turned into it.
static void turn_back(enum config_flip flip, uint32_t width, uint32_t height, uint32_t *x,
                      uint32_t *y)
{
    const uint32_t places[][2] = {
        [CONFIG_FLIP_NONE] = {*x, *y},
        [CONFIG_FLIP_ROTATE_90] = {*y, width - 1 - *x},
        [CONFIG_FLIP_ROTATE_180] = {width - 1 - *x, height - 1 - *y},
        [CONFIG_FLIP_ROTATE_270] = {height - 1 - *y, *x},
        [CONFIG_FLIP_HORIZONTAL] = {width - 1 - *x, *y},
        [CONFIG_FLIP_VERTICAL] = {*x, height - 1 - *y},
    };

    *x = places[flip][0];
    *y = places[flip][1];
}

static void compare_luma(const struct frame *frame, const uint8_t *pattern, enum config_flip flip)
{
    const struct frame_layout *layout = &frame->layout;

    for (uint32_t row = 0; row < layout->height; row++) {
        for (uint32_t column = 0; column < layout->width; column++) {
            uint32_t x = column, y = row;

            turn_back(flip, layout->width, layout->height, &x, &y);
            if (y < HEIGHT / 2) { // GStreamer's strides are multiples of 4
                assert_int_equal(frame_plane(frame, 0)[row * layout->planes[0].stride + column],
                                 pattern[(size_t)y * 324 + x]);
            }
        }
    }
}

// The camera's pattern, which stands still but for a corner of noise, by GStreamer alone.
static void compare_with_pattern(const struct frame *frame, enum config_flip flip)
{
    g_autoptr(GstElement) pipeline = gst_parse_launch(
        "videotestsrc num-buffers=1 pattern=smpte ! video/x-raw,format=NV12,width=322,height=242 ! "
        "appsink name=sink",
        NULL);
    g_autoptr(GstElement) sink = gst_bin_get_by_name(GST_BIN(pipeline), "sink");
    g_autoptr(GstSample) sample = NULL;
    GstMapInfo map;

    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    g_signal_emit_by_name(sink, "pull-sample", &sample);
    assert_non_null(sample);
    assert_true(gst_buffer_map(gst_sample_get_buffer(sample), &map, GST_MAP_READ));
    compare_luma(frame, map.data, flip);
    gst_buffer_unmap(gst_sample_get_buffer(sample), &map);
    gst_element_set_state(pipeline, GST_STATE_NULL);
}

static void assert_shows_the_pattern(const struct frame *frame)
{
    assert_int_equal(frame_begin_cpu_access(frame, NULL), 0);
    compare_with_pattern(frame, CONFIG_FLIP_NONE);
}

static void take_frames(struct bed *bed)
{
    for (unsigned i = 0; i < FRAMES; i++) {
        struct frame *frame = harness_next(&bed->harness);

        assert_int_equal(frame->surface != NULL, bed->harness.source->mode.surfaces);
        assert_true(frame_layout_equal(&frame->layout, &bed->harness.source->mode.layout));
        frame_unref(frame);
    }
}

static uint64_t count(const struct bed *bed, enum copy_kind kind)
{
    return bed->harness.copies.count[kind];
}

TEST(test_surfaces_are_read_where_the_camera_put_them)
{
    static const char *const releases[] = {"jetpack=5", "jetpack=6"};

    for (size_t i = 0; i < ARRAY_LENGTH(releases); i++) {
        struct bed bed;
        struct frame *frame;
        uint64_t accesses;

        bed_init(&bed, "board=agx-orin", releases[i], "");
        harness_start(&bed.harness, &source_argus_ops);
        assert_true(bed.harness.source->mode.surfaces);
        assert_string_equal(bed.harness.source->surfaces_missed.text, "");
        assert_int_equal(bed.harness.source->mode.layout.planes[0].stride, 512);
        take_frames(&bed);
        accesses = fake_nvmm_count("fake_nvmm_cpu_accesses");
        take_frames(&bed);
        assert_int_equal(fake_nvmm_count("fake_nvmm_cpu_accesses"), accesses);
        assert_int_equal(copies_total(&bed.harness.copies), 0);
        frame = harness_next(&bed.harness);
        assert_shows_the_pattern(frame);
        frame_unref(frame);
        bed_finish(&bed);
    }
}

TEST(test_a_frame_outlives_its_camera)
{
    struct bed bed;
    struct frame *frames[3];

    bed_init(&bed, "", "", "");
    harness_start(&bed.harness, &source_argus_ops);
    for (unsigned i = 0; i < 3; i++)
        frames[i] = harness_next(&bed.harness);
    frame_unref(frames[1]);
    source_close(TAKE(bed.harness.source));
    assert_shows_the_pattern(frames[0]);
    frame_unref(frames[0]);
    frame_unref(frames[2]);
    bed_finish(&bed);
}

TEST(test_pictures_are_turned_within_nvmm_and_that_is_counted)
{
    for (enum config_flip flip = CONFIG_FLIP_NONE + 1; flip <= CONFIG_FLIP_VERTICAL; flip++) {
        struct bed bed;
        struct frame *frame;

        bed_init(&bed, "", "", "");
        bed.harness.camera.flip = flip;
        if (config_flip_is_quarter(flip)) {
            bed.harness.camera.width = HEIGHT;
            bed.harness.camera.height = WIDTH;
        }
        harness_start(&bed.harness, &source_argus_ops);
        assert_true(bed.harness.source->mode.surfaces && bed.harness.source->mode.flipped);
        frame = harness_next(&bed.harness);
        assert_int_equal(frame->layout.width, bed.harness.camera.width);
        assert_int_equal(frame_begin_cpu_access(frame, NULL), 0);
        compare_with_pattern(frame, flip);
        frame_unref(frame);
        assert_int_equal(count(&bed, COPY_VIC_CONVERT), 1);
        assert_int_equal(copies_total(&bed.harness.copies), 1);
        bed_finish(&bed);
    }
}

TEST(test_surfaces_in_blocks_are_converted_within_nvmm_and_that_is_counted)
{
    struct bed bed;
    struct frame *frame;

    bed_init(&bed, "", "", "blocks");
    harness_start(&bed.harness, &source_argus_ops);
    assert_true(bed.harness.source->mode.surfaces);
    assert_non_null(strstr(bed.harness.source->surfaces_missed.text, "in blocks"));
    take_frames(&bed);
    assert_int_equal(count(&bed, COPY_VIC_CONVERT), FRAMES);
    assert_int_equal(copies_total(&bed.harness.copies), FRAMES);
    frame = harness_next(&bed.harness);
    assert_shows_the_pattern(frame);
    frame_unref(frame);
    bed_finish(&bed);
}

TEST(test_surfaces_that_cannot_be_adopted_are_copied_and_the_reason_is_kept)
{
    static const struct {
        const char *driver, *library, *why;
    } cases[] = {
        {"fail=cuGraphicsEGLRegisterImage:2+:2", "",
         "registering a surface: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)"},
        {"", "fail=NvBufSurfaceMapEglImage:2+", "NvBufSurfaceMapEglImage failed"},
        {"", "fail=NvBufSurfaceMap:4+", "NvBufSurfaceMap failed"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct bed bed;
        struct frame *frame;

        bed_init(&bed, cases[i].driver, cases[i].library, "");
        harness_start(&bed.harness, &source_argus_ops);
        assert_false(bed.harness.source->mode.surfaces);
        assert_string_equal(bed.harness.source->surfaces_missed.text, cases[i].why);
        take_frames(&bed);
        assert_int_equal(count(&bed, COPY_VIC_CONVERT), FRAMES);
        assert_int_equal(count(&bed, COPY_NVMM_COPY), FRAMES);
        frame = harness_next(&bed.harness);
        assert_shows_the_pattern(frame);
        frame_unref(frame);
        bed_finish(&bed);
    }
}

// As the lane does: what fails is opened again, without surfaces if it was one of them.
static int take_one(struct bed *bed)
{
    struct harness *harness = &bed->harness;
    struct frame *frame = NULL;
    int r = harness->source ? 0 : harness_open(harness, &source_argus_ops);

    if (r == 0)
        r = source_next(harness->source, (int)(PATIENCE_NS / NS_PER_MS), &harness->error, &frame);
    if (r == 0)
        r = frame_begin_cpu_access(frame, &harness->error);
    if (r < 0 && harness->source && harness->source->surface_failed) {
        assert_string_not_equal(harness->error.text, "");
        harness->environment.surfaces = NULL;
    }
    if (r < 0)
        source_close(TAKE(harness->source));
    else
        compare_with_pattern(frame, CONFIG_FLIP_NONE);
    frame_unref(frame);
    return r;
}

// Returns whether the call was made that is to fail.
static bool live(const char *fault, uint64_t nth, bool onward)
{
    char library[64];
    unsigned failures = 0;
    struct bed bed;

    snprintf(library, sizeof library, "fail=%s:%llu%s", fault, (unsigned long long)nth,
             onward ? "+" : "");
    bed_init(&bed, "", "", "");
    fake_nvmm_play(library);
    bed.harness.camera.fps = 60;
    for (unsigned i = 0; i < 10; i++)
        failures += take_one(&bed) < 0;
    assert_true(failures <= 1);
    bool made = fake_nvmm_count("fake_nvmm_calls") >= nth;
    bed_finish(&bed);
    return made;
}

TEST(test_whichever_call_fails_frames_come_and_nothing_is_left)
{
    uint64_t nth = 1;

    while (live("*", nth, false))
        nth++;
    assert_true(nth > 6 * 3); // two planes and an image of each of the camera's surfaces
    for (nth = 1; nth <= 7; nth++)
        live("NvBufSurfaceMapEglImage", nth, true);
}

int main(void)
{
    g_autofree char *registry = g_strdup_printf("/tmp/edged-argus-%d.registry", getpid());
    char folder[600];

    fake_path("jetson", folder);
    g_setenv("GST_PLUGIN_PATH", folder, TRUE);
    g_setenv("GST_REGISTRY", registry, TRUE);
    fake_nvmm_find("fake_nvmm_reset"); // before the elements look for the library
    gst_init(NULL, NULL);
    int failed = run_unit_tests(NULL, fake_gpu_end);
    g_unlink(registry);
    gst_deinit();
    return failed;
}
