#include "tests/gpu/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

const char *const check_formats[CHECK_FORMATS] = {"GREY", "NV12", "NV21", "YU12", "422P", "444P",
                                                  "YUYV", "UYVY", "RGB3", "BGR3", "XR24"};
const struct config_block check_blocks[CHECK_BLOCKS] = {
    {32, 8, 0},  {1, 1, 0},   {1024, 1, 0}, {1, 1024, 0}, {2, 1, 0},   {1, 2, 0},
    {3, 5, 0},   {7, 9, 0},   {16, 16, 0},  {8, 8, 0},    {32, 32, 0}, {64, 4, 0},
    {128, 1, 0}, {1, 128, 0}, {128, 8, 0},  {256, 4, 0},  {512, 2, 0}, {31, 33, 0},
    {5, 200, 0}, {200, 5, 0}, {33, 3, 0},   {96, 2, 0},   {16, 64, 0}, {2, 512, 0}};

int check_blocks_taken(const struct check *check, struct error *error)
{
    while (gpu_take_complaint(check->gpu, error)) {
        if (!strstr(error->text, "of the GPU's threads can be busy"))
            return -EINVAL;
    }
    return 0;
}

static const double gains[] = {1.0, 0.3, 1.5, 7.77};

// Edges: 8 an operator, of a gain of 1 and another each.
static void set_operator(struct config_view *settings, size_t index)
{
    static const double others[] = {0.05, 0.25, 3.1};

    settings->op = (enum config_operator)(CONFIG_OPERATOR_SOBEL5 + index / 8);
    settings->norm = index / 2 % 2 ? CONFIG_NORM_L1 : CONFIG_NORM_L2;
    settings->gain = index / 4 % 2 ? others[index / 8] : 1;
}

// Black and white: thresholds without a morphology, then each of those n times, n = 1 to 8, of an
// automatic threshold and of a fixed one.
static void set_binary(struct config_view *settings, size_t index)
{
    static const int thresholds[] = {1, 60, 255, CONFIG_THRESHOLD_OTSU};

    settings->view = CONFIG_VIEW_BINARY;
    settings->threshold = thresholds[index / 2 % 4];
    settings->norm = index / 8 % 2 ? CONFIG_NORM_L1 : CONFIG_NORM_L2;
    settings->gain = index < 8 ? 1 : gains[index / 2 % 4];
    settings->op =
        index < 16 ? CONFIG_OPERATOR_SOBEL : (enum config_operator)(index % CONFIG_OPERATOR_COUNT);
    if (index >= 16) {
        settings->threshold = index < 24 ? CONFIG_THRESHOLD_OTSU : 60;
        settings->morphology =
            (enum config_morphology)(CONFIG_MORPHOLOGY_ERODE + (index - 16) / 2 % 4);
        settings->times = 1 + (int)(index - 16) / 2;
    }
}

// Overlay and direction, each exact and streamed: Sobel of a gain of 1 and another, in both norms,
// other operators, behind a blur; overlay of an automatic threshold, too.
static void set_colour(struct config_view *settings, size_t index)
{
    static const enum config_operator operators[] = {
        CONFIG_OPERATOR_SOBEL,   CONFIG_OPERATOR_SOBEL,  CONFIG_OPERATOR_SOBEL,
        CONFIG_OPERATOR_PREWITT, CONFIG_OPERATOR_SOBEL5, CONFIG_OPERATOR_SCHARR,
        CONFIG_OPERATOR_SOBEL};
    size_t i = index / 4;

    settings->view = index / 2 % 2 ? CONFIG_VIEW_DIRECTION : CONFIG_VIEW_OVERLAY;
    settings->op = operators[i];
    settings->norm = i == 1 || i == 5 ? CONFIG_NORM_L1 : CONFIG_NORM_L2;
    settings->gain = i % 3 == 2 ? 0.3 : i == 4 ? 0.05 : 1;
    settings->blur = i == 6 ? 5 : 0;
    settings->threshold = i == 3 ? CONFIG_THRESHOLD_OTSU : 90;
    settings->colour = (char *)"#ff8010";
}

void check_limit(struct config_view *settings)
{
    static struct config_point part[] = {{0.1, 0}, {0.6, 0.05}, {0.97, 0.4}, {0.5, 1}, {0, 0.7}};

    settings->polygon = part;
    settings->polygon_count = ARRAY_LENGTH(part);
}

// With a mask, each exact and streamed: gray in place or computed, what is computed and what is
// painted.
static void set_masked(struct config_view *settings, size_t index)
{
    static const enum config_view_kind kinds[] = {CONFIG_VIEW_GRAY,   CONFIG_VIEW_EDGES,
                                                  CONFIG_VIEW_BINARY, CONFIG_VIEW_CANNY,
                                                  CONFIG_VIEW_EDGES,  CONFIG_VIEW_OVERLAY};

    settings->view = kinds[index / 2];
    settings->op = index / 2 == 4 ? CONFIG_OPERATOR_SCHARR : CONFIG_OPERATOR_SOBEL;
    settings->threshold = 60;
    settings->low = 50;
    settings->high = 150;
    settings->colour = (char *)"#ff8010";
    check_limit(settings);
}

struct check_case check_case_at(size_t index)
{
    struct check_case what = {.output = index % 2 ? VIEW_OUTPUT_STREAM : VIEW_OUTPUT_EXACT};
    struct config_view *settings = &what.settings;

    settings->view = CONFIG_VIEW_EDGES;
    settings->gain = 1;
    if (index < 16) {
        settings->norm = index / 2 % 2 ? CONFIG_NORM_L1 : CONFIG_NORM_L2;
        settings->gain = gains[index / 4];
    } else if (index < 20) {
        settings->view = index < 18 ? CONFIG_VIEW_GRAY : CONFIG_VIEW_CAMERA;
    } else if (index < 44) {
        set_operator(settings, index - 20);
    } else if (index < 48) {
        settings->blur = index % 2 ? 3 : 5;
        settings->op = index < 46 ? CONFIG_OPERATOR_SOBEL : CONFIG_OPERATOR_PREWITT;
    } else if (index < 80) {
        set_binary(settings, index - 48);
    } else if (index >= 116) {
        set_masked(settings, index - 116);
    } else if (index >= 112) {
        settings->view = CONFIG_VIEW_CANNY;
        settings->thresholds = CONFIG_THRESHOLDS_MEDIAN;
        settings->blur = index < 114 ? 0 : 3;
    } else if (index >= 84) {
        set_colour(settings, index - 84);
    } else {
        settings->view = CONFIG_VIEW_CANNY;
        settings->low = index < 82 ? 50 : 300;
        settings->high = index < 82 ? 150 : 700;
    }
    return what;
}

struct check_case check_few_at(size_t index)
{
    static const size_t few[CHECK_FEW] = {1,  10, 16,  17,  18,  19,  20,  29,  36, 44,
                                          45, 50, 55,  79,  81,  82,  84,  85,  86, 87,
                                          97, 98, 103, 112, 115, 116, 117, 119, 127};

    return check_case_at(few[index]);
}

const struct frame_allocator *check_allocator(const struct check *check, size_t index)
{
    return gpu_memory_allocator(check->memories[index % check->memory_count]);
}

// The view of a case, as keys of the configuration.
static void describe(const struct check_case *what, char *text, size_t size)
{
    static const char *const kinds[] = {"camera", "gray",    "edges",     "binary", "canny",
                                        "motion", "overlay", "direction", "split",  "custom"};
    static const char *const operators[] = {"sobel", "sobel5", "scharr", "prewitt"};
    const struct config_view *view = &what->settings;

    snprintf(text, size, "%s, %s %s gain %g, blur %d, threshold %d, morphology %d times %d%s%s, %s",
             kinds[view->view], operators[view->op], view->norm == CONFIG_NORM_L2 ? "l2" : "l1",
             view->gain, view->blur, view->threshold, (int)view->morphology, view->times,
             view->mark == CONFIG_MARK_RED ? ", red" : "",
             view->polygon_count > 0 ? ", masked" : "",
             what->output == VIEW_OUTPUT_STREAM ? "stream" : "exact");
}

void check_count(struct check *check, bool same, const struct check_case *what,
                 const struct frame_layout *input, const char *detail)
{
    char text[160];

    check->compared++;
    check->different += !same;
    if (!same && check->different <= 20) {
        describe(what, text, sizeof text);
        fprintf(stderr, "%s %ux%u to %s: %s\n", input->format->name, input->width, input->height,
                text, detail);
    }
}

void check_failed(struct check *check, const char *doing, const struct error *error)
{
    check->compared++;
    check->different++;
    fprintf(stderr, "%s: %s\n", doing, error->text);
}

// The first byte that differs, as text; false if there is none.
static bool find_difference(const struct frame *a, const struct frame *b, char *text, size_t size)
{
    for (unsigned plane = 0; plane < b->layout.format->plane_count; plane++) {
        for (uint32_t y = 0; y < b->layout.planes[plane].rows; y++) {
            const uint8_t *row = frame_plane(a, plane) + y * a->layout.planes[plane].stride;
            const uint8_t *expected = frame_plane(b, plane) + y * b->layout.planes[plane].stride;
            uint32_t x = 0;

            if (memcmp(row, expected, b->layout.planes[plane].width_bytes) == 0)
                continue;
            while (row[x] == expected[x])
                x++;
            snprintf(text, size, "plane %u (%u, %u) is %u, expected %u", plane, x, y, row[x],
                     expected[x]);
            return true;
        }
    }
    return false;
}

void check_frames(struct check *check, const struct frame *output, const struct frame *expected,
                  const struct check_case *what, const struct frame_layout *input,
                  const char *detail)
{
    char difference[96], text[256];
    bool same = output->layout.format == expected->layout.format &&
                output->layout.range == expected->layout.range &&
                !find_difference(output, expected, difference, sizeof difference);

    if (!same)
        snprintf(text, sizeof text, "%s: %s", detail, difference);
    check_count(check, same, what, input, same ? detail : text);
}

// A view on the GPU where the CPU has none, or passes its input on.
static void check_agreement(struct check *check, const struct check_case *what,
                            const struct frame_layout *input, const struct view *cpu,
                            const struct error *cpu_error)
{
    const struct view_setup setup = {.settings = &what->settings,
                                     .input = input,
                                     .output = what->output,
                                     .frames = 1,
                                     .allocator = check_allocator(check, 0),
                                     .gpu = check->gpu};
    struct error error = {0};
    struct view *view = NULL;
    int r = view_new(&setup, &error, &view);

    if (cpu) {
        check_count(check, r == 0 && view_passes_through(view), what, input, "passes through");
    } else {
        check_count(check, r == -ENOTSUP && strcmp(error.text, cpu_error->text) == 0, what, input,
                    error.text);
    }
    view_free(view);
}

bool check_expect(struct check *check, const struct check_case *what, struct frame *input,
                  struct frame **ret_expected)
{
    const struct view_setup setup = {.settings = &what->settings,
                                     .input = &input->layout,
                                     .output = what->output,
                                     .frames = 1,
                                     .allocator = frame_allocator_host()};
    struct error error = {0};
    struct view *view = NULL;
    int r = view_new(&setup, &error, &view);
    bool computes = r == 0 && !view_passes_through(view);

    if (computes)
        r = view_run(view, input, &error, ret_expected);
    if (r < 0 && r != -ENOTSUP)
        check_failed(check, "the CPU's view", &error);
    else if (!computes)
        check_agreement(check, what, &input->layout, view, &error);
    view_free(view);
    return r == 0 && computes;
}

bool check_pictures_init(struct check *check, const char *format, uint32_t width, uint32_t height,
                         size_t placement, const struct frame_allocator *allocator,
                         struct picture ret_pictures[2])
{
    bool made =
        picture_init(&ret_pictures[0], format, width, height, 0, frame_allocator_host()) == 0 &&
        picture_init(&ret_pictures[1], format, width, height, placement, allocator) == 0;

    if (!made)
        check_failed(check, "a picture", &(struct error){.text = "no memory"});
    return made;
}

// Squares that come and go.
static void change(struct frame *frame, unsigned number)
{
    const struct frame_layout *layout = &frame->layout;

    for (unsigned plane = 0; plane < layout->format->plane_count; plane++) {
        for (uint32_t y = 0; y < layout->planes[plane].rows; y++) {
            uint8_t *row = frame_plane(frame, plane) + y * layout->planes[plane].stride;

            for (uint32_t x = 0; x < layout->planes[plane].width_bytes; x++) {
                uint32_t square = x / 23 * 31 + y / 19 * 17;

                row[x] = (uint8_t)(row[x] + ((square + number) % 3 == 0 ? 26 + square % 50 : 0) +
                                   ((x * 7 + y * 13 + number) % 41 == 0 ? 120 : 0));
            }
        }
    }
}

void check_frame_by_frame(struct check *check, const struct check_case *what,
                          struct picture pictures[2], struct view *reference, struct view *view,
                          unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct frame *output = NULL, *expected = NULL;
        struct error error = {0};
        char detail[32];

        change(pictures[0].frame, i);
        picture_copy(pictures[1].frame, pictures[0].frame);
        if (i == 2) {
            view_forget(reference);
            view_forget(view);
        }
        snprintf(detail, sizeof detail, "frame %u", i);
        if (view_run(reference, pictures[0].frame, &error, &expected) < 0 ||
            view_run(view, pictures[1].frame, &error, &output) < 0) {
            check_failed(check, "a view, frame by frame", &error);
        } else {
            check_frames(check, output, expected, what, &pictures[0].frame->layout, detail);
        }
        frame_unref(output);
        frame_unref(expected);
    }
}
