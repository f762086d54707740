// Views of several stages on the GPU that the tests' driver plays: which kernels they become, and
// that planes between them, ranges and thresholds are handed on as the CPU has them.
#include "kernels/graph/gpu_runner.h"
#include "tests/unit/kernels/gpu_view_bed.h"

// A view's two pictures, twice, in both outputs.
static void check_case(struct gpu_view_case c)
{
    for (unsigned i = 0; i < 2; i++) {
        struct error error = {0};
        struct gpu_view_bed bed;

        c.options = "board=agx-orin";
        c.output = i ? VIEW_OUTPUT_STREAM : VIEW_OUTPUT_EXACT;
        if (gpu_view_bed_init(&bed, &c, &error) < 0) {
            fail_msg("%s: %s", c.format, error.text);
        }
        assert_string_equal(view_backend(bed.view), "CUDA sm_87");
        assert_int_equal(gpu_view_bed_run(&bed, 5, &error), 0);
        assert_int_equal(gpu_view_bed_run(&bed, 6, &error), 0);
        gpu_view_bed_finish(&bed);
        assert_int_equal(fake_gpu_leaks(), 0);
    }
}

static const char *const formats[] = {"GREY", "YUYV", "UYVY", "NV12", "RGB3"};

TEST(test_every_operator_norm_and_gain_is_the_cpus)
{
    static const double gains[] = {1, 0.05, 2.5};

    for (size_t i = 0; i < 2 * CONFIG_OPERATOR_COUNT * ARRAY_LENGTH(gains); i++) {
        check_case((struct gpu_view_case){.format = formats[i % ARRAY_LENGTH(formats)],
                                          .kind = CONFIG_VIEW_EDGES,
                                          .operator= i % CONFIG_OPERATOR_COUNT,
                                          .norm = i / CONFIG_OPERATOR_COUNT % 2,
                                          .gain = gains[i / (2 * CONFIG_OPERATOR_COUNT)],
                                          .width = 37 + (uint32_t)i,
                                          .height = 29});
    }
}

TEST(test_blur_comes_first_on_the_gpu_too)
{
    for (size_t i = 0; i < 2 * ARRAY_LENGTH(formats); i++) {
        check_case((struct gpu_view_case){.format = formats[i / 2],
                                          .kind = i % 3 ? CONFIG_VIEW_EDGES : CONFIG_VIEW_BINARY,
                                          .operator= i % CONFIG_OPERATOR_COUNT,
                                          .blur = i % 2 ? 3 : 5,
                                          .threshold = 90,
                                          .gain = 1,
                                          .width = 33,
                                          .height = 7 + (uint32_t)i});
    }
}

TEST(test_every_threshold_and_morphology_is_the_cpus)
{
    static const int thresholds[] = {1, 80, 255, CONFIG_THRESHOLD_OTSU};

    for (size_t i = 0; i < 5 * 8; i++) {
        check_case((struct gpu_view_case){.format = formats[i % ARRAY_LENGTH(formats)],
                                          .kind = CONFIG_VIEW_BINARY,
                                          .operator= i / 3 % CONFIG_OPERATOR_COUNT,
                                          .norm = i / 2 % 2,
                                          .gain = i % 7 ? 1 : 0.4,
                                          .threshold = thresholds[i % ARRAY_LENGTH(thresholds)],
                                          .morphology = (enum config_morphology)(i / 8),
                                          .times = 1 + (int)(i % 8),
                                          .width = 40 + (uint32_t)i,
                                          .height = 31});
    }
}

// The kernels of a view of pictures in `format`, in their order.
static void assert_kernels(const struct gpu_view_bed *bed, const struct config_view *settings,
                           const char *format, const char *expected)
{
    struct frame_layout layout;
    struct gpu_runner runner;
    char names[128] = "";
    struct plan plan;

    frame_layout_init(&layout, pixel_format_by_name(format), 64, 48, 1);
    plan = plan_make(settings, layout.format, VIEW_OUTPUT_STREAM);
    assert_int_equal(gpu_runner_init(&runner, bed->gpu, &plan, &layout, false, NULL), 0);
    for (unsigned i = 0; i < runner.count; i++) {
        size_t length = strlen(names);

        snprintf(names + length, sizeof names - length, "%s%s", i > 0 ? " " : "",
                 runner.stages[i].ops->name);
    }
    assert_string_equal(names, expected);
    gpu_runner_finish(&runner);
}

TEST(test_stages_share_a_launch_where_they_can)
{
    const struct gpu_view_case c = {.options = "board=agx-orin",
                                    .format = "GREY",
                                    .kind = CONFIG_VIEW_EDGES,
                                    .gain = 1,
                                    .width = 8,
                                    .height = 8};
    struct config_view settings = {.view = CONFIG_VIEW_BINARY, .gain = 1, .threshold = 80};
    struct gpu_view_bed bed;
    struct error error;

    assert_int_equal(gpu_view_bed_init(&bed, &c, &error), 0);
    assert_kernels(&bed, &settings, "YUYV", "gradient");
    settings.morphology = CONFIG_MORPHOLOGY_OPEN;
    settings.times = 2;
    assert_kernels(&bed, &settings, "YUYV", "gradient morphology morphology");
    settings.threshold = CONFIG_THRESHOLD_OTSU;
    settings.morphology = CONFIG_MORPHOLOGY_NONE;
    assert_kernels(&bed, &settings, "RGB3", "gradient threshold");
    settings.operator= CONFIG_OPERATOR_SCHARR;
    assert_kernels(&bed, &settings, "YUYV", "gray gradient threshold");
    assert_kernels(&bed, &settings, "NV12", "gradient threshold");
    settings.blur = 5;
    assert_kernels(&bed, &settings, "NV12", "blur gradient threshold");
    assert_kernels(&bed, &settings, "XR24", "gray blur gradient threshold");
    gpu_view_bed_finish(&bed);
    assert_int_equal(fake_gpu_leaks(), 0);
}

RUN_TESTS(NULL, fake_gpu_end)
