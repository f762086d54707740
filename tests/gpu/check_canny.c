// Canny where edges hang together through many tiles, and at every kind of threshold.
#include "tests/gpu/check.h"

#include <stdio.h>

static const struct {
    uint32_t width, height, pitch;
} spirals[] = {{64, 64, 5},    {333, 201, 5},   {1000, 33, 6},   {33, 1000, 6},
               {640, 480, 31}, {1920, 1080, 5}, {3840, 2160, 5}, {7680, 4320, 5}};

static const struct {
    double low, high;
} thresholds[] = {{50, 150}, {150, 50},  {0, 0},     {0, 1500},    {100, 100},
                  {20, 60},  {1e9, 1e9}, {30.5, 90}, {1442, 1443}, {400, 900}};

// One picture through a view on the GPU, again and again, and the CPU's.
static void check_picture(struct check *check, const struct check_case *what,
                          struct picture *picture, size_t turn)
{
    const struct frame_allocator *allocator = check_allocator(check, turn);
    const struct frame_layout *layout = &picture->frame->layout;
    struct view_setup setup = {.settings = &what->settings,
                               .output = what->output,
                               .frames = 1,
                               .allocator = allocator,
                               .gpu = check->gpu};
    struct frame *expected = NULL, *output = NULL;
    struct picture placed = {0};
    struct view *view = NULL;
    struct error error = {0};
    int r = picture_init(&placed, layout->format->name, layout->width, layout->height,
                         turn % PICTURE_PLACEMENTS, allocator);

    if (r == 0) {
        picture_copy(placed.frame, picture->frame);
        setup.input = &placed.frame->layout;
        r = view_new(&setup, &error, &view);
    }
    if (r == 0 && check_expect(check, what, picture->frame, &expected)) {
        for (unsigned i = 0; i < 3 && r == 0; i++) {
            r = view_run(view, placed.frame, &error, &output);
            if (r == 0)
                check_frames(check, output, expected, what, layout, "canny");
            frame_unref(output);
            output = NULL;
        }
    }
    if (r < 0)
        check_failed(check, "a canny view", &error);
    frame_unref(expected);
    view_free(view);
    picture_finish(&placed);
}

static void check_spirals(struct check *check)
{
    const size_t count = check->quick ? 4 : ARRAY_LENGTH(spirals);

    for (size_t i = 0; i < 2 * count; i++) {
        const struct check_case what = {
            .settings = {.view = CONFIG_VIEW_CANNY, .low = 100, .high = 400},
            .output = i % 2 ? VIEW_OUTPUT_STREAM : VIEW_OUTPUT_EXACT};
        struct picture picture = {0};

        if (picture_init(&picture, "GREY", spirals[i / 2].width, spirals[i / 2].height, 0,
                         frame_allocator_host()) < 0) {
            check_failed(check, "a picture", &(struct error){.text = "no memory"});
            return;
        }
        picture_draw_spiral(picture.frame, spirals[i / 2].pitch, (uint32_t)i);
        check_picture(check, &what, &picture, i);
        picture_finish(&picture);
    }
}

static void check_thresholds(struct check *check, const char *format, uint32_t width,
                             uint32_t height)
{
    for (size_t i = 0; i < 2 * ARRAY_LENGTH(thresholds); i++) {
        const struct check_case what = {.settings = {.view = CONFIG_VIEW_CANNY,
                                                     .low = thresholds[i / 2].low,
                                                     .high = thresholds[i / 2].high},
                                        .output = VIEW_OUTPUT_STREAM};
        struct picture picture = {0};

        if (picture_init(&picture, format, width, height, 0, frame_allocator_host()) < 0) {
            check_failed(check, "a picture", &(struct error){.text = "no memory"});
            return;
        }
        if (i % 2)
            picture_draw(picture.frame, (uint32_t)i);
        else
            picture_draw_discs(picture.frame, (uint32_t)i);
        check_picture(check, &what, &picture, i);
        picture_finish(&picture);
    }
}

// By the median of pictures that are bright, dark, flat and noisy.
static void check_medians(struct check *check, const char *format, uint32_t width, uint32_t height)
{
    static const struct {
        uint8_t base, spread;
    } pictures[] = {{0, 1}, {0, 256 - 1}, {200, 56}, {255, 1}, {10, 20}, {126, 2}, {90, 100}};

    for (size_t i = 0; i < 2 * ARRAY_LENGTH(pictures); i++) {
        const struct check_case what = {.settings = {.view = CONFIG_VIEW_CANNY,
                                                     .thresholds = CONFIG_THRESHOLDS_MEDIAN,
                                                     .blur = i % 2 ? 3 : 0},
                                        .output = VIEW_OUTPUT_STREAM};
        struct picture picture = {0};

        if (picture_init(&picture, format, width, height, 0, frame_allocator_host()) < 0) {
            check_failed(check, "a picture", &(struct error){.text = "no memory"});
            return;
        }
        picture_draw(picture.frame, (uint32_t)i);
        for (size_t k = 0; k < picture.frame->layout.size; k++) {
            uint8_t *pixel = &picture.frame->data[k];

            *pixel = (uint8_t)(pictures[i / 2].base + *pixel % pictures[i / 2].spread);
        }
        check_picture(check, &what, &picture, i);
        picture_finish(&picture);
    }
}

void check_canny(struct check *check)
{
    check_spirals(check);
    check_thresholds(check, "GREY", 641, 359);
    check_thresholds(check, "YUYV", 320, 200);
    check_medians(check, "GREY", 641, 359);
    check_medians(check, "YUYV", 33, 7);
    if (!check->quick) {
        check_thresholds(check, "RGB3", 267, 403);
        check_thresholds(check, "NV12", 3840, 2160);
        check_medians(check, "NV12", 3841, 2161);
        check_medians(check, "RGB3", 1920, 1080);
    }
}
