// The motion view on the GPU, frame after frame, against the CPU's.
#include "tests/gpu/check.h"

#include <stdio.h>
#include <string.h>

#define FRAMES 4

static const struct {
    uint32_t width, height;
} sizes[] = {{1, 1},   {2, 2},    {3, 5},    {8, 8},      {9, 17},     {17, 33},
             {64, 64}, {333, 20}, {641, 37}, {1366, 769}, {3840, 2160}};
static const int erosions[] = {1, 0, 2, 8};

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

static void compare_frames(struct check *check, const struct check_case *what,
                           struct picture *pictures, struct view *view, struct view *reference)
{
    for (unsigned i = 0; i < FRAMES; i++) {
        struct frame *output = NULL, *expected = NULL;
        struct error error = {0};
        char detail[32];

        change(pictures[0].frame, i);
        picture_copy(pictures[1].frame, pictures[0].frame);
        if (i == 2) { // after a pause in which nobody watched
            view_forget(reference);
            view_forget(view);
        }
        snprintf(detail, sizeof detail, "frame %u", i);
        if (view_run(reference, pictures[0].frame, &error, &expected) < 0 ||
            view_run(view, pictures[1].frame, &error, &output) < 0) {
            check_failed(check, "motion", &error);
        } else {
            check_frames(check, output, expected, what, &pictures[0].frame->layout, detail);
        }
        frame_unref(output);
        frame_unref(expected);
    }
}

static void check_size(struct check *check, const char *format, const struct check_case *what,
                       uint32_t width, uint32_t height, size_t turn)
{
    const struct frame_allocator *allocator = check_allocator(check, turn);
    struct config_block blocks[CONFIG_KERNEL_COUNT];
    struct view_setup setup = {.settings = &what->settings,
                               .output = what->output,
                               .frames = 1,
                               .allocator = frame_allocator_host()};
    struct view *view = NULL, *reference = NULL;
    struct picture pictures[2] = {0};
    struct error error = {0};
    int r = picture_init(&pictures[0], format, width, height, 0, frame_allocator_host());

    for (size_t i = 0; i < CONFIG_KERNEL_COUNT; i++)
        blocks[i] = check_blocks[(turn + i) % CHECK_BLOCKS];
    r = r < 0 ? r
              : picture_init(&pictures[1], format, width, height, turn % PICTURE_PLACEMENTS,
                             allocator);
    if (r == 0) {
        picture_draw(pictures[0].frame, width * 31 + height);
        setup.input = &pictures[0].frame->layout;
        r = view_new(&setup, &error, &reference);
        setup.input = &pictures[1].frame->layout;
        setup.allocator = allocator;
        setup.gpu = check->gpu;
        gpu_set_blocks(check->gpu, blocks);
        r = r < 0 ? r : view_new(&setup, &error, &view);
        r = r < 0 ? r : check_blocks_taken(check, &error);
    }
    if (r < 0 || strncmp(view_backend(view), "CUDA", 4) != 0)
        check_failed(check, "a motion view", &error);
    else
        compare_frames(check, what, pictures, view, reference);
    view_free(view);
    view_free(reference);
    picture_finish(&pictures[1]);
    picture_finish(&pictures[0]);
}

void check_motion(struct check *check)
{
    size_t turn = 0, count = check->quick ? 8 : ARRAY_LENGTH(sizes);

    for (size_t f = 0; f < CHECK_FORMATS; f++) {
        const struct pixel_format *format = pixel_format_by_name(check_formats[f]);
        bool file = format->luma_step == 0 || f == 0; // files give gray or RGB

        for (size_t i = 0; i < count; i++, turn++) {
            struct check_case what = {
                .settings = {.view = CONFIG_VIEW_MOTION,
                             .threshold = 1 + (int)(turn * 29 % 100),
                             .erode = erosions[turn % ARRAY_LENGTH(erosions)],
                             .mark = turn / 4 % 2 ? CONFIG_MARK_RED : CONFIG_MARK_TINT},
                .output = file && i % 2 ? VIEW_OUTPUT_EXACT : VIEW_OUTPUT_STREAM};

            if (turn % 3 == 0)
                check_limit(&what.settings);
            check_size(check, check_formats[f], &what, sizes[i].width, sizes[i].height, turn);
        }
    }
}
