// Canny on the GPU, whose kernels the test's driver computes by their tiles, borders and names: the
// CPU's edges, whatever hangs together how far.
#include "tests/unit/kernels/gpu_view_bed.h"

static void check(const struct gpu_view_case *c, uint32_t pictures)
{
    struct gpu_view_bed bed;
    struct error error = {0};

    assert_int_equal(gpu_view_bed_init(&bed, c, &error), 0);
    assert_memory_equal(view_backend(bed.view), "CUDA", 4);
    for (uint32_t seed = 0; seed < pictures; seed++) {
        assert_int_equal(gpu_view_bed_run(&bed, seed, &error), 0);
    }
    gpu_view_bed_finish(&bed);
    assert_int_equal(fake_gpu_leaks(), 0);
}

static uint32_t edges_of(const struct frame *frame)
{
    uint32_t count = 0;

    for (uint32_t y = 0; y < frame->layout.height; y++) {
        for (uint32_t x = 0; x < frame->layout.width; x++) {
            count += frame_plane(frame, 0)[y * frame->layout.planes[0].stride + x] == 255;
        }
    }
    return count;
}

TEST(test_noise_of_any_size_has_the_cpus_edges)
{
    static const uint32_t sizes[][2] = {{1, 1},   {1, 40},  {40, 1},  {2, 3},   {31, 33}, {32, 32},
                                        {33, 31}, {64, 65}, {97, 70}, {130, 5}, {257, 34}};

    for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
        check(&(struct gpu_view_case){.options = "board=orin-nano",
                                      .memory = CONFIG_MEMORY_REGISTERED,
                                      .format = "GREY",
                                      .kind = CONFIG_VIEW_CANNY,
                                      .low = 300,
                                      .high = 700,
                                      .width = sizes[i][0],
                                      .height = sizes[i][1]},
              3);
    }
}

TEST(test_every_threshold_has_the_cpus_edges)
{
    static const double limits[][2] = {{0, 0},     {0, 1500}, {700, 300}, {500, 500},
                                       {50.5, 90}, {1e9, 0},  {1e9, 1e9}, {1442, 1443}};

    for (size_t i = 0; i < ARRAY_LENGTH(limits); i++) {
        check(&(struct gpu_view_case){.options = "board=thor",
                                      .memory = CONFIG_MEMORY_MANAGED,
                                      .format = "GREY",
                                      .kind = CONFIG_VIEW_CANNY,
                                      .low = limits[i][0],
                                      .high = limits[i][1],
                                      .width = 100,
                                      .height = 67},
              2);
    }
}

TEST(test_every_format_has_the_cpus_edges)
{
    static const char *const formats[] = {"NV12", "YUYV", "UYVY", "RGB3", "BGR3", "XR24"};

    for (size_t i = 0; i < 2 * ARRAY_LENGTH(formats); i++) {
        check(&(struct gpu_view_case){.options = "board=agx-orin",
                                      .memory = CONFIG_MEMORY_PINNED,
                                      .format = formats[i / 2],
                                      .kind = CONFIG_VIEW_CANNY,
                                      .low = 200,
                                      .high = 600,
                                      .width = 66,
                                      .height = 40,
                                      .output = i % 2 ? VIEW_OUTPUT_STREAM : VIEW_OUTPUT_EXACT},
              2);
    }
}

TEST(test_limits_by_the_median_are_the_cpus)
{
    static const char *const formats[] = {"GREY", "NV12", "YUYV", "RGB3"};

    for (size_t i = 0; i < 4 * ARRAY_LENGTH(formats); i++) {
        check(&(struct gpu_view_case){.options = "board=orin-nano",
                                      .memory = CONFIG_MEMORY_REGISTERED,
                                      .format = formats[i / 4],
                                      .kind = CONFIG_VIEW_CANNY,
                                      .blur = i / 2 % 2 ? 5 : 0,
                                      .thresholds = CONFIG_THRESHOLDS_MEDIAN,
                                      .width = 131,
                                      .height = 37,
                                      .output = i % 2 ? VIEW_OUTPUT_STREAM : VIEW_OUTPUT_EXACT},
              3);
    }
}

// A ramp whose steps grow up to 12 levels, and the same brighter by 100: medians of 34 and 134.
static void draw_ramp(struct frame *frame, uint32_t seed)
{
    uint32_t width = frame->layout.width, base = seed % 2 ? 100 : 0;

    for (uint32_t y = 0; y < frame->layout.height; y++) {
        uint8_t *row = frame_plane(frame, 0) + y * frame->layout.planes[0].stride;

        for (uint32_t x = 0; x < width; x++) {
            row[x] = (uint8_t)(base + x * x * 150 / (width * width));
        }
    }
}

TEST(test_limits_follow_the_median_from_picture_to_picture)
{
    const struct gpu_view_case c = {.options = "board=h200",
                                    .memory = CONFIG_MEMORY_REGISTERED,
                                    .format = "GREY",
                                    .kind = CONFIG_VIEW_CANNY,
                                    .thresholds = CONFIG_THRESHOLDS_MEDIAN,
                                    .width = 24,
                                    .height = 5,
                                    .output = VIEW_OUTPUT_EXACT,
                                    .draw = draw_ramp};
    struct gpu_view_bed bed;
    struct error error = {0};

    check(&c, 4);
    assert_int_equal(gpu_view_bed_init(&bed, &c, &error), 0);
    for (uint32_t seed = 0; seed < 4; seed++) {
        struct frame *input = frame_pool_take(bed.pool), *output;

        draw_ramp(input, seed);
        assert_int_equal(view_run(bed.view, input, &error, &output), 0);
        // cv2.Canny() with 22 and 45 finds 3 columns, with 89 and 178 none.
        assert_int_equal(edges_of(output), seed % 2 ? 0 : 15);
        frame_unref(output);
        frame_unref(input);
    }
    gpu_view_bed_finish(&bed);
}

// A weak line wound around the picture, one dot of it strong: at its outer end, or at its inner.
static void draw_spiral(struct frame *frame, uint32_t seed)
{
    const int pitch = 5, steps[][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    int width = (int)frame->layout.width, height = (int)frame->layout.height;
    int x = 0, y = pitch, lengths[] = {width - 1 - pitch, height - 1 - 2 * pitch};
    size_t stride = frame->layout.planes[0].stride;
    uint8_t *gray = frame_plane(frame, 0), *end = gray;

    memset(frame->data, 0, frame->layout.size);
    for (int leg = 0; lengths[leg % 2] > pitch; leg++) {
        for (int i = 0; i < lengths[leg % 2]; i++) {
            x += steps[leg % 4][0];
            y += steps[leg % 4][1];
            end = &gray[(size_t)y * stride + (size_t)x];
            *end = 60;
        }
        lengths[leg % 2] -= leg > 0 ? pitch : 0;
    }
    *(seed % 2 ? end : &gray[(size_t)pitch * stride + 1]) = 255;
}

TEST(test_an_edge_spreads_along_a_spiral_through_all_tiles)
{
    const struct gpu_view_case c = {.options = "board=h200",
                                    .memory = CONFIG_MEMORY_REGISTERED,
                                    .format = "GREY",
                                    .kind = CONFIG_VIEW_CANNY,
                                    .low = 100,
                                    .high = 400,
                                    .width = 330,
                                    .height = 250,
                                    .output = VIEW_OUTPUT_EXACT,
                                    .draw = draw_spiral};
    struct gpu_view_bed bed;
    struct error error = {0};

    check(&c, 2);
    assert_int_equal(gpu_view_bed_init(&bed, &c, &error), 0);
    for (uint32_t seed = 0; seed < 2; seed++) {
        struct frame *input = frame_pool_take(bed.pool), *output;

        draw_spiral(input, seed);
        assert_int_equal(view_run(bed.view, input, &error, &output), 0);
        // 330 * 250 / 5 pixels of the line, an edge on either side of it: 31626 of cv2.Canny().
        assert_int_equal(edges_of(output), 31626);
        frame_unref(output);
        frame_unref(input);
    }
    gpu_view_bed_finish(&bed);
}

RUN_TESTS(NULL, fake_gpu_end)
