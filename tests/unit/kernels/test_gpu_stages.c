// Which kernels the stages of a view become on the GPU. What they compute is check_gpu's.
#include "kernels/graph/plan.h"
#include "kernels/graph/runner.h"
#include "tests/unit/kernels/gpu_view_bed.h"

// The kernels of a view of pictures in `format`, in their order.
static void assert_kernels(const struct gpu_view_bed *bed, const struct config_view *settings,
                           const char *format, const char *expected)
{
    struct frame_layout layout;
    const struct view_setup setup = {.settings = settings, .input = &layout};
    struct mask_plane *mask = NULL;
    struct runner runner;
    char names[128] = "";
    struct plan plan;

    frame_layout_init(&layout, pixel_format_by_name(format), 64, 48, 1);
    plan = plan_make(settings, layout.format, VIEW_OUTPUT_STREAM);
    assert_int_equal(plan_load_mask(&plan, &setup, NULL, &mask), 0);
    assert_int_equal(runner_init_plan(&runner, bed->gpu, &plan, &layout, false, NULL), 0);
    for (unsigned i = 0; i < runner.count; i++) {
        size_t length = strlen(names);

        snprintf(names + length, sizeof names - length, "%s%s", i > 0 ? " " : "",
                 runner.gpu_stages[i].ops->name);
    }
    assert_string_equal(names, expected);
    runner_finish(&runner);
    mask_plane_unref(mask);
}

static void bed_init(struct gpu_view_bed *bed)
{
    const struct gpu_view_case c = {.options = "board=agx-orin",
                                    .format = "GREY",
                                    .kind = CONFIG_VIEW_EDGES,
                                    .gain = 1,
                                    .width = 8,
                                    .height = 8};
    struct error error;

    assert_int_equal(gpu_view_bed_init(bed, &c, &error), 0);
}

TEST(test_stages_share_a_launch_where_they_can)
{
    struct config_view settings = {.view = CONFIG_VIEW_BINARY, .gain = 1, .threshold = 80};
    struct gpu_view_bed bed;

    bed_init(&bed);
    assert_kernels(&bed, &settings, "YUYV", "gradient");
    settings.morphology = CONFIG_MORPHOLOGY_OPEN;
    settings.times = 2;
    assert_kernels(&bed, &settings, "YUYV", "gradient morphology morphology");
    settings.threshold = CONFIG_THRESHOLD_OTSU;
    settings.morphology = CONFIG_MORPHOLOGY_NONE;
    assert_kernels(&bed, &settings, "RGB3", "gradient threshold");
    settings.op = CONFIG_OPERATOR_SCHARR;
    assert_kernels(&bed, &settings, "YUYV", "gray gradient threshold");
    assert_kernels(&bed, &settings, "NV12", "gradient threshold");
    settings.blur = 5;
    assert_kernels(&bed, &settings, "NV12", "blur gradient threshold");
    assert_kernels(&bed, &settings, "XR24", "gray blur gradient threshold");
    gpu_view_bed_finish(&bed);
    assert_int_equal(fake_gpu_leaks(), 0);
}

// A mask is no reason to make anything before it in another way.
TEST(test_only_the_mask_comes_in_between)
{
    static const struct {
        struct config_view view;
        const char *format, *stages;
    } cases[] = {
        {{.view = CONFIG_VIEW_GRAY}, "NV12", "mask"},
        {{.view = CONFIG_VIEW_GRAY}, "YUYV", "gray mask"},
        {{.view = CONFIG_VIEW_EDGES, .gain = 1}, "YUYV", "gradient mask"},
        {{.view = CONFIG_VIEW_BINARY, .gain = 1, .threshold = 80}, "YUYV", "gradient mask"},
        {{.view = CONFIG_VIEW_CANNY, .low = 50, .high = 150}, "YUYV", "canny mask"},
        {{.view = CONFIG_VIEW_MOTION, .threshold = 25, .erode = 1},
         "NV12",
         "difference morphology mask mark"},
        {{.view = CONFIG_VIEW_OVERLAY, .gain = 1, .threshold = 60, .colour = (char *)"#ff8010"},
         "NV12",
         "gradient mask overlay"},
        {{.view = CONFIG_VIEW_CUSTOM,
          .gain = 1,
          .threshold = 60,
          .stages = {{CONFIG_STAGE_BLUR5, CONFIG_STAGE_SCHARR, CONFIG_STAGE_MASK,
                      CONFIG_STAGE_THRESHOLD},
                     4}},
         "GREY",
         "blur gradient mask threshold"},
    };
    struct config_point band[] = {{0.1, 0}, {0.7, 0}, {0.95, 1}, {0.2, 0.8}};
    struct gpu_view_bed bed;

    bed_init(&bed);
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct config_view view = cases[i].view;

        view.polygon = band;
        view.polygon_count = ARRAY_LENGTH(band);
        assert_kernels(&bed, &view, cases[i].format, cases[i].stages);
    }
    gpu_view_bed_finish(&bed);
    assert_int_equal(fake_gpu_leaks(), 0);
}

RUN_TESTS(NULL, fake_gpu_end)
