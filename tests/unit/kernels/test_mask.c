// Masks: what they enclose, worked by hand, and every view that has one beside the same view
// without, of which it has to leave exactly what the mask encloses.
#include "tests/unit/view_pictures.h"

#include "kernels/graph/graph.h"
#include "kernels/graph/plan.h"
#include "kernels/graph/stages.h"

#include <errno.h>

#define VIEWS 7
#define WIDTH_MAX 70
#define POLYGON_CORNERS 4

// A slanted band with edges through pixels, and one that holds nothing.
static struct config_point band[POLYGON_CORNERS] = {{0.1, 0}, {0.7, 0}, {0.95, 1}, {0.2, 0.8}};
static struct config_point nothing[POLYGON_CORNERS] = {{0, 0}, {1, 0}, {1, 0}, {0, 0}};

static const struct config_view views[VIEWS] = {
    {.view = CONFIG_VIEW_GRAY},
    {.view = CONFIG_VIEW_EDGES, .gain = 1.0},
    {.view = CONFIG_VIEW_EDGES, .gain = 1.0, .blur = 5, .op = CONFIG_OPERATOR_SCHARR},
    {.view = CONFIG_VIEW_BINARY, .gain = 1.0, .threshold = 80},
    {.view = CONFIG_VIEW_BINARY,
     .gain = 1.0,
     .threshold = CONFIG_THRESHOLD_OTSU,
     .morphology = CONFIG_MORPHOLOGY_CLOSE,
     .times = 2},
    {.view = CONFIG_VIEW_CANNY, .low = 50, .high = 150},
    {.view = CONFIG_VIEW_CANNY, .thresholds = CONFIG_THRESHOLDS_MEDIAN, .blur = 3},
};

// A picture of 2 x 1 whose left half is just white enough.
static int read_half(void *context, const char *path, struct error *error,
                     struct region_picture *ret_picture)
{
    uint8_t *half = malloc(2);

    (void)error;
    assert_non_null(half);
    half[0] = 128;
    half[1] = 127;
    assert_string_equal(path, "half.pgm");
    *ret_picture = (struct region_picture){half, 2, 2, 1};
    ++*(int *)context;
    return 0;
}

static int read_nothing(void *context, const char *path, struct error *error,
                        struct region_picture *ret_picture)
{
    (void)context;
    (void)ret_picture;
    return error_set(error, -ENOENT, "%s: there is none", path);
}

static struct config_view limited_to(const struct config_view *settings,
                                     struct config_point *polygon)
{
    struct config_view limited = *settings;

    limited.polygon = polygon;
    limited.polygon_count = POLYGON_CORNERS;
    return limited;
}

TEST(test_a_picture_is_white_from_128_on_and_stretched)
{
    const struct config_view view = {.mask = (char *)"half.pgm"};
    static const uint8_t expected[] = {255, 255, 255, 0, 0};
    struct mask_plane *plane = NULL;
    int reads = 0;

    assert_int_equal(mask_plane_new(&view, 5, 3, read_half, &reads, NULL, &plane), 0);
    assert_int_equal(reads, 1);
    assert_int_equal(plane->stride, 128);
    assert_int_equal((uintptr_t)plane->bytes % MASK_PLANE_ALIGN, 0);
    for (uint32_t y = 0; y < 3; y++) {
        // Pixel 2, whose centre is the line between the halves, is right of it.
        assert_memory_equal(mask_plane_row(plane, y), ((uint8_t[]){255, 255, 0, 0, 0}), 5);
    }
    mask_plane_unref(plane);
    assert_int_equal(mask_plane_new(&view, 6, 1, read_half, &reads, NULL, &plane), 0);
    assert_memory_equal(mask_plane_row(plane, 0), expected, 5);
    mask_plane_unref(plane);
    mask_plane_unref(NULL);
}

TEST(test_a_polygon_is_drawn_as_a_regions)
{
    static struct config_point triangle[] = {{0, 0}, {1, 0}, {1, 1}};
    const struct config_view view = {.polygon = triangle, .polygon_count = 3};
    static const uint8_t expected[4][4] = {
        {255, 255, 255, 255}, {0, 255, 255, 255}, {0, 0, 255, 255}, {0, 0, 0, 255}};
    struct mask_plane *plane = NULL, *other = NULL;

    assert_int_equal(mask_plane_new(&view, 4, 4, NULL, NULL, NULL, &plane), 0);
    for (uint32_t y = 0; y < 4; y++)
        assert_memory_equal(mask_plane_row(plane, y), expected[y], 4);
    assert_int_equal(mask_plane_new(&view, 4, 4, NULL, NULL, NULL, &other), 0);
    assert_true(mask_plane_equal(plane, other));
    other->bytes[3] = 0;
    assert_false(mask_plane_equal(plane, other));
    mask_plane_unref(other);
    assert_int_equal(mask_plane_new(&view, 4, 3, NULL, NULL, NULL, &other), 0);
    assert_false(mask_plane_equal(plane, other));
    mask_plane_unref(other);
    mask_plane_unref(plane);
}

static void draw(struct frame *frame, uint32_t seed)
{
    for (size_t i = 0; i < frame->layout.size; i++) {
        seed = seed * 1664525 + 1013904223;
        frame->data[i] = (uint8_t)(i / 37 % 3 == 0 ? (seed >> 31) * 255 : i * 3 + (seed >> 29));
    }
}

// Plane 0 of a picture of one byte a pixel, limited to the mask with `outside` around it.
static void assert_limited(const struct frame *output, const struct frame *whole,
                           struct config_point *polygon, uint8_t outside)
{
    const struct frame_layout *layout = &output->layout;
    uint64_t bits[2];

    for (uint32_t y = 0; y < layout->height; y++) {
        uint8_t expected[WIDTH_MAX];

        memcpy(expected, frame_plane(whole, 0) + y * whole->layout.planes[0].stride, layout->width);
        region_draw_polygon(polygon, POLYGON_CORNERS, layout->width, layout->height, y, bits);
        for (uint32_t x = 0; x < layout->width; x++)
            expected[x] = bits[x / 64] >> x % 64 & 1 ? expected[x] : outside;
        assert_row(output, 0, y, expected, layout->width);
    }
}

static void check_view(const struct config_view *settings, const char *format, uint32_t width,
                       uint32_t height, struct config_point *polygon)
{
    const struct config_view limited = limited_to(settings, polygon);
    struct frame *input = new_frame(format, width, height, 3);
    bool camera_luma = settings->view == CONFIG_VIEW_GRAY && input->layout.format->luma_step != 0;

    draw(input, width * height);
    for (int output = VIEW_OUTPUT_STREAM; output <= VIEW_OUTPUT_EXACT; output++) {
        struct frame *whole = compute(settings, frame_ref(input), (enum view_output)output);
        struct frame *part = compute(&limited, frame_ref(input), (enum view_output)output);

        assert_ptr_equal(part->layout.format, whole->layout.format);
        assert_int_equal(part->layout.range, whole->layout.range);
        assert_limited(part, whole, polygon, output == VIEW_OUTPUT_STREAM && !camera_luma ? 16 : 0);
        if (output == VIEW_OUTPUT_STREAM)
            assert_row(part, 1, 0, frame_plane(whole, 1), (width + 1) / 2 * (size_t)2);
        frame_unref(part);
        frame_unref(whole);
    }
    frame_unref(input);
}

TEST(test_a_view_is_what_it_was_inside_and_black_outside)
{
    static const char *const formats[] = {"GREY", "NV12", "YUYV", "BGR3"};
    static const uint32_t sizes[][2] = {{1, 1}, {2, 3}, {17, 9}, {64, 5}, {WIDTH_MAX, 31}};

    for (size_t f = 0; f < ARRAY_LENGTH(formats); f++) {
        for (size_t s = 0; s < ARRAY_LENGTH(sizes); s++) {
            for (size_t i = 0; i < VIEWS; i++) {
                check_view(&views[i], formats[f], sizes[s][0], sizes[s][1], band);
                check_view(&views[i], formats[f], sizes[s][0], sizes[s][1], nothing);
            }
        }
    }
}

// Painted views: where the mask is not set, the camera's picture as its own view has it.
TEST(test_nothing_is_painted_outside_the_mask)
{
    const struct config_view overlay = {
        .view = CONFIG_VIEW_OVERLAY, .gain = 1.0, .threshold = 30, .colour = (char *)"#ff8010"};
    const struct config_view limited = limited_to(&overlay, band);
    struct frame *input = new_frame("RGB3", 33, 17, 0), *part, *whole, *camera;
    unsigned inside = 0, outside = 0;

    draw(input, 5);
    part = compute(&limited, frame_ref(input), VIEW_OUTPUT_EXACT);
    whole = compute(&overlay, frame_ref(input), VIEW_OUTPUT_EXACT);
    camera = frame_ref(input);
    for (uint32_t y = 0; y < 17; y++) {
        uint64_t bits[1];

        region_draw_polygon(band, POLYGON_CORNERS, 33, 17, y, bits);
        for (uint32_t x = 0; x < 33; x++) {
            bool set = bits[0] >> x & 1;
            const struct frame *expected = set ? whole : camera;
            size_t at = 3 * (size_t)x;
            const uint8_t *pixel =
                frame_plane(expected, 0) + y * expected->layout.planes[0].stride + at;
            const uint8_t *unpainted =
                frame_plane(camera, 0) + y * camera->layout.planes[0].stride + at;
            const uint8_t *painted =
                frame_plane(whole, 0) + y * whole->layout.planes[0].stride + at;

            assert_memory_equal(frame_plane(part, 0) + y * part->layout.planes[0].stride + at,
                                pixel, 3);
            inside += set && memcmp(painted, unpainted, 3) != 0;
            outside += !set && memcmp(painted, unpainted, 3) != 0;
        }
    }
    assert_true(inside > 0 && outside > 0);
    frame_unref(camera);
    frame_unref(whole);
    frame_unref(part);
    frame_unref(input);
}

static void assert_steps(const struct config_view *settings, const char *format,
                         const char *expected)
{
    const struct plan plan = plan_make(settings, pixel_format_by_name(format), VIEW_OUTPUT_STREAM);
    char names[256] = "";

    for (unsigned i = 0; i < plan.count; i++) {
        size_t length = strlen(names);

        snprintf(names + length, sizeof names - length, "%s%s", i > 0 ? " " : "",
                 stage_kind_name(plan.steps[i].kind));
    }
    assert_string_equal(names, expected);
}

TEST(test_the_mask_comes_last_on_one_plane)
{
    static const struct {
        struct config_view settings;
        const char *format, *steps;
    } cases[] = {
        {{.view = CONFIG_VIEW_GRAY}, "NV12", "mask"},
        {{.view = CONFIG_VIEW_GRAY}, "YUYV", "gray mask"},
        {{.view = CONFIG_VIEW_GRAY}, "RGB3", "gray mask compose"},
        {{.view = CONFIG_VIEW_EDGES, .blur = 3}, "NV12", "blur gradient mask compose"},
        {{.view = CONFIG_VIEW_BINARY, .morphology = CONFIG_MORPHOLOGY_OPEN, .times = 1},
         "NV12",
         "gradient threshold erode dilate mask compose"},
        {{.view = CONFIG_VIEW_CANNY}, "YUYV", "gray canny mask compose"},
        {{.view = CONFIG_VIEW_MOTION, .erode = 1}, "NV12", "difference erode mask mark"},
        {{.view = CONFIG_VIEW_OVERLAY, .colour = (char *)"#000000"},
         "NV12",
         "gradient threshold mask overlay"},
        {{.view = CONFIG_VIEW_CUSTOM,
          .stages = {{CONFIG_STAGE_MASK, CONFIG_STAGE_THRESHOLD, CONFIG_STAGE_MASK}, 3}},
         "NV12",
         "mask threshold mask compose"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct config_view limited = limited_to(&cases[i].settings, band);

        assert_steps(&limited, cases[i].format, cases[i].steps);
    }
}

// Erosion of a mask of a mask may go the way of masks.
TEST(test_a_mask_of_a_mask_is_a_mask)
{
    const struct config_view shapes = {
        .view = CONFIG_VIEW_CUSTOM,
        .stages = {{CONFIG_STAGE_CANNY, CONFIG_STAGE_MASK, CONFIG_STAGE_ERODE}, 3}};
    const struct config_view shades = {
        .view = CONFIG_VIEW_CUSTOM,
        .stages = {{CONFIG_STAGE_SOBEL, CONFIG_STAGE_MASK, CONFIG_STAGE_ERODE}, 3}};
    struct plan plan = plan_make(&shapes, pixel_format_by_name("GREY"), VIEW_OUTPUT_EXACT);

    assert_int_equal(plan.steps[2].kind, STAGE_ERODE);
    assert_false(plan.steps[2].options.shades);
    plan = plan_make(&shades, pixel_format_by_name("GREY"), VIEW_OUTPUT_EXACT);
    assert_true(plan.steps[2].options.shades);
}

TEST(test_a_mask_that_cannot_be_read_makes_no_view)
{
    const struct config_view settings = {
        .view = CONFIG_VIEW_EDGES, .gain = 1, .mask = (char *)"none.png"};
    struct frame *input = new_ramp("GREY", 0);
    const struct view_setup setup = {.settings = &settings,
                                     .input = &input->layout,
                                     .allocator = frame_allocator_host(),
                                     .read_mask = read_nothing};
    struct view *view = NULL;
    struct error error = {0};

    assert_int_equal(view_new(&setup, &error, &view), -ENOENT);
    assert_string_equal(error.text, "none.png: there is none");
    assert_null(view);
    frame_unref(input);
}

static struct view *new_shared_view(const struct config_view *settings, const struct frame *input,
                                    struct graph *graph)
{
    static int reads;
    const struct view_setup setup = {.settings = settings,
                                     .input = &input->layout,
                                     .allocator = frame_allocator_host(),
                                     .graph = graph,
                                     .read_mask = read_half,
                                     .read_context = &reads};
    struct view *view = NULL;

    assert_int_equal(view_new(&setup, NULL, &view), 0);
    view_set_active(view, true);
    return view;
}

// Three edges of one camera: one polygon, the same pixels from a picture, and another polygon.
TEST(test_equal_masks_are_applied_once_and_others_by_themselves)
{
    static struct config_point left[] = {{0, 0}, {0.5, 0}, {0.5, 1}, {0, 1}};
    static struct config_point right[] = {{0.5, 0}, {1, 0}, {1, 1}, {0.5, 1}};
    const struct config_view edges = {.view = CONFIG_VIEW_EDGES, .gain = 1.0};
    struct config_view settings[] = {limited_to(&edges, left), edges, limited_to(&edges, right)};
    struct frame *input = new_frame("NV12", 8, 6, 0), *outputs[3];
    struct view *shared_views[3];
    struct graph *graph;

    settings[1].mask = (char *)"half.pgm";
    draw(input, 9);
    assert_int_equal(graph_new(&graph), 0);
    for (size_t i = 0; i < 3; i++)
        shared_views[i] = new_shared_view(&settings[i], input, graph);
    graph_begin(graph);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(view_run(shared_views[i], input, NULL, &outputs[i]), 0);
    assert_int_equal(graph_count(graph, STAGE_GRADIENT).runs, 1);
    assert_int_equal(graph_count(graph, STAGE_GRADIENT).shared, 2);
    assert_int_equal(graph_count(graph, STAGE_MASK).runs, 2);
    assert_int_equal(graph_count(graph, STAGE_MASK).shared, 1);
    for (uint32_t y = 0; y < 6; y++) {
        assert_row(outputs[1], 0, y, frame_plane(outputs[0], 0) + y * 64, 8);
        assert_memory_equal(frame_plane(outputs[0], 0) + y * 64 + 4, "\20\20\20\20", 4);
        assert_memory_equal(frame_plane(outputs[2], 0) + y * 64, "\20\20\20\20", 4);
    }
    for (size_t i = 0; i < 3; i++) {
        frame_unref(outputs[i]);
        view_free(shared_views[i]); // the first goes before the one that has its mask, too
    }
    graph_free(graph);
    frame_unref(input);
}

RUN_TESTS(NULL, NULL)
