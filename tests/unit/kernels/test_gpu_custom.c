// Views of one's own on the GPU, drawn anew each run, beside the CPU's.
#include "tests/unit/kernels/gpu_view_bed.h"

#define LISTS 300
#define FRAMES 3

static uint32_t chance;
static struct config_point corners[] = {{0.1, 0}, {0.8, 0.1}, {0.9, 1}, {0, 0.7}};

static uint32_t draw_number(uint32_t below)
{
    chance = chance * 1664525 + 1013904223;
    return (chance >> 8) % below;
}

// Up to six of what takes gray; now and then a mark behind what makes a mask of it.
static struct config_view draw_view(void)
{
    static const int thresholds[] = {1, 25, 80, 200, CONFIG_THRESHOLD_OTSU};
    struct config_view view = {.view = CONFIG_VIEW_CUSTOM,
                               .norm = draw_number(2) ? CONFIG_NORM_L1 : CONFIG_NORM_L2,
                               .thresholds = CONFIG_THRESHOLDS_MEDIAN, // which has no effect
                               .gain = draw_number(2) ? 1.0 : 0.37,
                               .threshold = thresholds[draw_number(ARRAY_LENGTH(thresholds))],
                               .times = 1 + (int)draw_number(8),
                               .mark = draw_number(2) ? CONFIG_MARK_RED : CONFIG_MARK_TINT,
                               .low = draw_number(200),
                               .high = draw_number(400),
                               .polygon = corners,
                               .polygon_count = ARRAY_LENGTH(corners)};
    size_t count = 1 + draw_number(6);

    while (view.stages.count < count) {
        view.stages.list[view.stages.count++] =
            CONFIG_STAGE_BLUR3 + draw_number(CONFIG_STAGE_MARK - CONFIG_STAGE_BLUR3);
    }
    if (draw_number(2)) {
        view.stages.list[view.stages.count++] =
            draw_number(2) ? CONFIG_STAGE_DIFFERENCE : CONFIG_STAGE_CANNY;
        view.stages.list[view.stages.count++] = CONFIG_STAGE_ERODE + draw_number(4);
        view.stages.list[view.stages.count++] = CONFIG_STAGE_MARK;
    }
    return view;
}

static void tell(const struct config_view *view, const char *format, uint32_t width,
                 uint32_t height)
{
    print_message("%s %ux%u threshold %d times %d:", format, width, height, view->threshold,
                  view->times);
    for (size_t i = 0; i < view->stages.count; i++) {
        print_message(" %u", view->stages.list[i]);
    }
    print_message("\n");
}

static void make_views(struct gpu_view_bed *bed, const struct config_view *settings,
                       const struct frame_layout *layout)
{
    struct view_setup setup = {
        .settings = settings, .input = layout, .allocator = frame_allocator_host()};

    assert_int_equal(view_new(&setup, NULL, &bed->reference), 0);
    setup.allocator = gpu_memory_allocator(bed->memory);
    setup.gpu = bed->gpu;
    assert_int_equal(view_new(&setup, NULL, &bed->view), 0);
    assert_int_equal(frame_pool_new(layout, 1, setup.allocator, &bed->pool), 0);
}

// Whether the GPU computed it.
static bool compare(const struct config_view *settings, const char *format, uint32_t width,
                    uint32_t height)
{
    struct frame_layout layout;
    struct gpu_view_bed bed = {0};
    bool computes;

    fake_gpu_play("board=orin-nano");
    assert_int_equal(gpu_new(NULL, &bed.gpu), 0);
    assert_int_equal(gpu_memory_new(bed.gpu, CONFIG_MEMORY_AUTO, NULL, &bed.memory), 0);
    frame_layout_init(&layout, pixel_format_by_name(format), width, height, 16);
    make_views(&bed, settings, &layout);
    computes = strcmp(view_backend(bed.view), "CPU") != 0;
    for (uint32_t i = 0; i < FRAMES && computes; i++) {
        struct frame *input = frame_pool_take(bed.pool), *output, *expected;

        gpu_view_draw(input, i / 2 * 7 + width);
        assert_int_equal(view_run(bed.view, input, NULL, &output), 0);
        assert_int_equal(view_run(bed.reference, input, NULL, &expected), 0);
        if (!gpu_view_equal(output, expected)) {
            tell(settings, format, width, height);
            fail();
        }
        frame_unref(expected);
        frame_unref(output);
        frame_unref(input);
    }
    gpu_view_bed_finish(&bed);
    assert_int_equal(fake_gpu_leaks(), 0);
    return computes;
}

TEST(test_lists_of_stages_are_the_cpus)
{
    static const char *const formats[] = {"NV12", "YUYV", "BGR3"};
    unsigned computed = 0;

    chance = random_seed();
    for (unsigned i = 0; i < LISTS; i++) {
        const struct config_view view = draw_view();
        uint32_t width = 1 + draw_number(150), height = 1 + draw_number(50);

        computed += compare(&view, formats[i % ARRAY_LENGTH(formats)], width, height);
    }
    print_message("%u of %u on the GPU\n", computed, LISTS);
    assert_true(computed > LISTS / 10);
}

RUN_TESTS(NULL, fake_gpu_end)
