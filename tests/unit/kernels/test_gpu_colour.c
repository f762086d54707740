// The views overlay and direction on the GPU, beside the CPU's.
#include "tests/unit/kernels/gpu_view_bed.h"

#include <string.h>

struct colour_case {
    const char *format;
    struct config_view settings;
    enum frame_range range;
    enum view_output output;
    enum config_memory memory; // a thread makes fewer rows of direction in managed memory
    uint32_t width, height;
};

static void make_views(struct gpu_view_bed *bed, const struct colour_case *c)
{
    struct view_setup setup = {.settings = &c->settings,
                               .output = c->output,
                               .frames = 1,
                               .allocator = frame_allocator_host()};
    struct frame_layout layout;

    frame_layout_init(&layout, pixel_format_by_name(c->format), c->width, c->height, 16);
    layout.range = c->range;
    if (layout.format->luma_step != 0 && c->width % 2 == 1) {
        layout.colour.matrix = COLOUR_BT709;
    }
    setup.input = &layout;
    assert_int_equal(view_new(&setup, NULL, &bed->reference), 0);
    setup.allocator = gpu_memory_allocator(bed->memory);
    setup.gpu = bed->gpu;
    assert_int_equal(view_new(&setup, NULL, &bed->view), 0);
    assert_string_equal(view_backend(bed->view), "CUDA sm_87");
    assert_true(
        frame_layout_equal(view_output_layout(bed->view), view_output_layout(bed->reference)));
    assert_int_equal(frame_pool_new(&layout, 1, setup.allocator, &bed->pool), 0);
}

static void compare(const struct colour_case *c)
{
    struct gpu_view_bed bed = {.draw = gpu_view_draw};
    struct error error = {0};

    fake_gpu_play("board=orin-nano");
    assert_int_equal(gpu_new(NULL, &bed.gpu), 0);
    assert_int_equal(gpu_memory_new(bed.gpu, c->memory, NULL, &bed.memory), 0);
    make_views(&bed, c);
    if (gpu_view_bed_run(&bed, c->width * 31 + c->height, &error) < 0) {
        fail_msg("%s", error.text);
    }
    gpu_view_bed_finish(&bed);
    assert_int_equal(fake_gpu_leaks(), 0);
}

// Overlay and direction of `c`, to NV12 and, where there is such a picture, to RGB3.
static void compare_outputs(struct colour_case c)
{
    const struct pixel_format *format = pixel_format_by_name(c.format);
    bool exact = format->luma_step == 0 || strcmp(c.format, "GREY") == 0;

    for (enum config_view_kind kind = CONFIG_VIEW_OVERLAY; kind <= CONFIG_VIEW_DIRECTION; kind++) {
        c.settings.view = kind;
        c.output = VIEW_OUTPUT_STREAM;
        compare(&c);
        c.output = VIEW_OUTPUT_EXACT;
        if (exact || kind == CONFIG_VIEW_DIRECTION) {
            compare(&c);
        }
    }
}

TEST(test_colours_of_every_format_are_the_cpus)
{
    const struct pixel_format *format;

    for (size_t f = 0; (format = pixel_format_at(f)); f++) {
        for (unsigned i = 0; i < 4; i++) {
            compare_outputs(
                (struct colour_case){.format = format->name,
                                     .settings = {.norm = i % 2 ? CONFIG_NORM_L1 : CONFIG_NORM_L2,
                                                  .gain = i < 2 ? 1 : 0.37,
                                                  .threshold = 130,
                                                  .colour = (char *)"#80ff10"},
                                     .range = i < 2 ? FRAME_RANGE_LIMITED : FRAME_RANGE_FULL,
                                     .memory = i % 3 ? CONFIG_MEMORY_MANAGED : CONFIG_MEMORY_AUTO,
                                     .width = 93 + (uint32_t)f,
                                     .height = 40 + i});
        }
    }
}

TEST(test_colours_of_any_size_are_the_cpus)
{
    static const uint32_t sizes[][2] = {{1, 1},   {2, 2},  {3, 5},   {8, 8},   {9, 17},
                                        {17, 33}, {64, 1}, {1, 100}, {200, 61}};

    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
        compare_outputs((struct colour_case){
            .format = i % 2 ? "NV12" : "RGB3",
            .settings = {.gain = 1, .threshold = 1 + (int)i * 31, .colour = (char *)"#000000"},
            .width = sizes[i][0],
            .height = sizes[i][1]});
    }
}

TEST(test_colours_of_every_operator_blur_and_threshold_are_the_cpus)
{
    static const char *const formats[] = {"GREY", "YUYV", "BGR3"};
    static const int blurs[] = {0, 3, 5, 0, 0}, thresholds[] = {60, CONFIG_THRESHOLD_OTSU};
    static const double gains[] = {1, 0.0312};

    for (unsigned i = 0; i < 60; i++) {
        compare_outputs((struct colour_case){
            .format = formats[i % ARRAY_LENGTH(formats)],
            .settings = {.operator=(enum config_operator)(i % CONFIG_OPERATOR_COUNT),
                         .norm = i / 7 % 2 ? CONFIG_NORM_L1 : CONFIG_NORM_L2,
                         .gain = gains[i / 3 % 2],
                         .blur = blurs[i % ARRAY_LENGTH(blurs)],
                         .threshold = thresholds[i / 4 % 2],
                         .colour = (char *)"#ff0080"},
            .width = 70 + i % 9,
            .height = 33 + i % 4});
    }
}

RUN_TESTS(NULL, NULL)
