// Stages that views share on the GPU, beside those of the CPU.
#include "tests/unit/gpu_view_bed.h"

#include "kernels/shared.h"
#include "kernels/view_gpu.h"

#define VIEWS 3

static const struct config_view settings[VIEWS] = {
    {.view = CONFIG_VIEW_EDGES, .gain = 1.0},
    {.view = CONFIG_VIEW_EDGES, .norm = CONFIG_NORM_L1, .gain = 1.0},
    {.view = CONFIG_VIEW_MOTION, .threshold = 25, .erode = 1},
};

static void bed_init(struct gpu_view_bed *bed, const struct frame_layout *layout)
{
    *bed = (struct gpu_view_bed){0};
    fake_gpu_play("board=orin-nano");
    assert_int_equal(gpu_new(NULL, &bed->gpu), 0);
    assert_int_equal(gpu_memory_new(bed->gpu, CONFIG_MEMORY_AUTO, NULL, &bed->memory), 0);
    assert_int_equal(frame_pool_new(layout, 1, gpu_memory_allocator(bed->memory), &bed->pool), 0);
}

static void test_gray_alone_is_not_worth_a_plane_on_the_gpu(void **state)
{
    struct frame_layout layout;
    struct gpu_view_bed bed;
    struct shared *shared;
    struct view *views[VIEWS];

    (void)state;
    frame_layout_init(&layout, pixel_format_by_name("YUYV"), 131, 47, 16);
    bed_init(&bed, &layout);
    assert_int_equal(shared_new(&shared), 0);
    for (size_t i = 0; i < VIEWS; i++) {
        const struct view_setup setup = {.settings = &settings[i],
                                         .input = &layout,
                                         .allocator = gpu_memory_allocator(bed.memory),
                                         .gpu = bed.gpu,
                                         .shared = shared};

        assert_int_equal(view_new(&setup, NULL, &views[i]), 0);
        assert_string_equal(view_backend(views[i]), "CUDA sm_87");
        view_set_active(views[i], true);
    }
    struct frame *input = frame_pool_take(bed.pool), *output;

    gpu_view_draw(input, 1);
    shared_begin(shared);
    for (size_t i = 0; i < VIEWS; i++) {
        assert_int_equal(view_run(views[i], input, NULL, &output), 0);
        frame_unref(output);
        view_free(views[i]);
    }
    assert_int_equal(shared_count(shared, STAGE_GRAY).runs, VIEWS);
    assert_int_equal(shared_count(shared, STAGE_GRAY).shared, 0);
    shared_free(shared);
    frame_unref(input);
    gpu_view_bed_finish(&bed);
    assert_int_equal(fake_gpu_leaks(), 0);
}

// Gray as a segment, and edges that go on from its plane.
static void compare_parts(const char *format, uint32_t width, uint32_t height)
{
    const struct view_setup reference = {.settings = &settings[0],
                                         .allocator = frame_allocator_host()};
    const struct plan plan =
        plan_make(&settings[0], pixel_format_by_name(format), VIEW_OUTPUT_STREAM);
    _Atomic uint64_t runs[STAGE_KIND_COUNT] = {0};
    struct view_setup setup = reference;
    struct frame_layout layout;
    struct gpu_view_bed bed;
    struct view_gpu *view;
    struct segment *segment;

    frame_layout_init(&layout, pixel_format_by_name(format), width, height, 16);
    bed_init(&bed, &layout);
    setup.input = &layout;
    assert_int_equal(view_new(&setup, NULL, &bed.reference), 0);
    setup.gpu = bed.gpu;
    setup.allocator = gpu_memory_allocator(bed.memory);
    const struct segment_setup gray = {
        .plan = &plan, .end = 1, .camera = &layout, .gpu = bed.gpu, .mapped = true, .runs = runs};
    assert_int_equal(segment_new(&gray, &segment), 0);
    assert_int_equal(view_gpu_new(&setup, &plan, NULL, &view), 0);
    assert_int_equal(view_gpu_set_start(view, 1), 0);
    struct frame *input = frame_pool_take(bed.pool), *expected, *output;
    struct frame_pool *pool;

    gpu_view_draw(input, width);
    assert_int_equal(view_run(bed.reference, input, NULL, &expected), 0);
    assert_int_equal(frame_pool_new(&expected->layout, 1, setup.allocator, &pool), 0);
    output = frame_pool_take(pool);
    memset(output->data, 128, output->layout.size);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(view_gpu_run(view, segment, 1, input, output, NULL), 0);
        assert_true(gpu_view_equal(output, expected));
        assert_int_equal(runs[STAGE_GRAY], 1); // the second finds the frame's plane made
    }
    assert_int_equal(view_gpu_set_start(view, 0), 0);
    assert_int_equal(view_gpu_run(view, NULL, 1, input, output, NULL), 0);
    assert_true(gpu_view_equal(output, expected));
    frame_unref(output);
    frame_unref(expected);
    frame_unref(input);
    frame_pool_unref(pool);
    view_gpu_free(view);
    segment_free(segment);
    gpu_view_bed_finish(&bed);
    assert_int_equal(fake_gpu_leaks(), 0);
}

static void test_a_view_that_goes_on_from_a_plane_makes_the_cpus_picture(void **state)
{
    static const char *const formats[] = {"YUYV", "UYVY", "RGB3", "XR24"};
    static const uint32_t sizes[][2] = {{1, 1}, {3, 5}, {64, 8}, {131, 47}};

    (void)state;
    for (size_t f = 0; f < ARRAY_LENGTH(formats); f++) {
        for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
            compare_parts(formats[f], sizes[i][0], sizes[i][1]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gray_alone_is_not_worth_a_plane_on_the_gpu),
        cmocka_unit_test(test_a_view_that_goes_on_from_a_plane_makes_the_cpus_picture),
    };

    return cmocka_run_group_tests(tests, NULL, fake_gpu_end);
}
