// Two views side by side on the GPU against the CPU's: every view beside every other, in both
// ranges and outputs, at odd sizes and awkward places; edges also with a mask.
#include "tests/gpu/check.h"

#include <string.h>

#define FRAMES 3

static const char *const kinds[] = {"camera", "gray",   "edges",   "binary",
                                    "canny",  "motion", "overlay", "direction"};

#define KINDS ARRAY_LENGTH(kinds)

struct split_case {
    struct check_case what;
    const char *format;
    uint32_t width, height;
    enum frame_range range;
    size_t turn; // of placement and memory
};

static struct view *make_view(struct check *check, const struct check_case *what,
                              const struct frame_layout *input,
                              const struct frame_allocator *allocator, struct gpu *gpu)
{
    const struct view_setup setup = {.settings = &what->settings,
                                     .input = input,
                                     .output = what->output,
                                     .frames = 1,
                                     .allocator = allocator,
                                     .gpu = gpu};
    struct error error = {0};
    struct view *view = NULL;

    if (view_new(&setup, &error, &view) < 0 && gpu)
        check_failed(check, "a split view", &error);
    return view;
}

// A picture that the CPU cannot make (YUV to RGB) is no split at all.
static void check_case(struct check *check, const struct split_case *c)
{
    const struct frame_allocator *host = frame_allocator_host();
    const struct frame_allocator *mapped = check_allocator(check, c->turn);
    struct picture pictures[2] = {0};
    struct view *reference, *view;

    if (check_pictures_init(check, c->format, c->width, c->height, c->turn % PICTURE_PLACEMENTS,
                            mapped, pictures)) {
        picture_draw(pictures[0].frame, (uint32_t)c->turn);
        pictures[0].frame->layout.range = pictures[1].frame->layout.range = c->range;
        reference = make_view(check, &c->what, &pictures[0].frame->layout, host, NULL);
        view = reference
                   ? make_view(check, &c->what, &pictures[1].frame->layout, mapped, check->gpu)
                   : NULL;
        if (view) {
            check_count(check, strncmp(view_backend(view), "CUDA", 4) == 0, &c->what,
                        &pictures[0].frame->layout, "not on the GPU");
            check_frame_by_frame(check, &c->what, pictures, reference, view, FRAMES);
        }
        view_free(view);
        view_free(reference);
    }
    picture_finish(&pictures[1]);
    picture_finish(&pictures[0]);
}

static void check_format(struct check *check, const char *format, uint32_t width, uint32_t height)
{
    struct config_view masked = {.view = CONFIG_VIEW_EDGES, .gain = 1};
    size_t step = check->quick ? 5 : 1;

    check_limit(&masked);
    for (size_t i = 0; i < 4 * KINDS * KINDS; i += step) {
        struct split_case c = {
            .what = {.settings = {.view = CONFIG_VIEW_SPLIT,
                                  .left = (char *)kinds[i / 4 / KINDS],
                                  .right = (char *)kinds[i / 4 % KINDS],
                                  .gain = 1,
                                  .threshold = 80,
                                  .erode = 1,
                                  .low = 100,
                                  .high = 300,
                                  .thresholds = i / 4 % 3 ? CONFIG_THRESHOLDS_FIXED
                                                          : CONFIG_THRESHOLDS_MEDIAN,
                                  .colour = (char *)"#ff8010"},
                     .output = i % 2 ? VIEW_OUTPUT_STREAM : VIEW_OUTPUT_EXACT},
            .format = format,
            .width = width,
            .height = height,
            .range = i / 2 % 2 ? FRAME_RANGE_FULL : FRAME_RANGE_LIMITED,
            .turn = i,
        };

        if (i / 2 % 2 && strcmp(c.what.settings.right, "edges") == 0) {
            c.what.settings.right = (char *)"mine";
            c.what.settings.right_view = &masked;
        }
        check_case(check, &c);
    }
}

void check_split(struct check *check)
{
    check_format(check, "NV12", 129, 67);
    check_format(check, "RGB3", 64, 33);
    check_format(check, "GREY", 1, 3);
    if (!check->quick) {
        check_format(check, "YUYV", 333, 201);
        check_format(check, "NV12", 1920, 1080);
        check_format(check, "444P", 641, 37);
        check_format(check, "XR24", 90, 50);
        check_format(check, "GREY", 128, 64);
    }
}
