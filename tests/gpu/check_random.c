// Views on the GPU against the CPU's, with everything drawn at random: what is looked at, its
// settings or its list of stages, size, place, memory and blocks. EDGED_SEED repeats a run.
#include "tests/gpu/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SETS 200
#define SIDE_MAX 700
#define LISTS 600
#define FRAMES 3

static uint64_t state;

// Uniform in 0..count - 1, by splitmix64.
static uint32_t draw(uint32_t count)
{
    uint64_t z = state += 0x9e3779b97f4a7c15;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return (uint32_t)((z ^ z >> 31) >> 32) % count;
}

static struct config_view draw_settings(void)
{
    static const int blurs[] = {0, 0, 3, 5};
    static const double gains[] = {1.0, 1.0, 0.25, 0.0833, 3.7};

    return (struct config_view){
        .view = (enum config_view_kind)draw(CHECK_VIEW_KINDS),
        .op = (enum config_operator)draw(CONFIG_OPERATOR_COUNT),
        .blur = blurs[draw(ARRAY_LENGTH(blurs))],
        .norm = (enum config_norm)draw(2),
        .gain = gains[draw(ARRAY_LENGTH(gains))],
        .threshold = draw(4) == 0 ? CONFIG_THRESHOLD_OTSU : 1 + (int)draw(255),
        .colour = (char *)"#ff8010",
        .morphology = (enum config_morphology)draw(5),
        .times = 1 + (int)draw(8),
        .erode = (int)draw(9),
        .mark = (enum config_mark)draw(2),
        .thresholds = draw(3) == 0 ? CONFIG_THRESHOLDS_MEDIAN : CONFIG_THRESHOLDS_FIXED,
        .low = draw(400),
        .high = draw(800),
    };
}

// Up to six stages that take gray; now and then a mark behind what makes a mask of it.
static void draw_stages(struct config_view *settings)
{
    struct config_words *stages = &settings->stages;
    size_t count = 1 + draw(6);

    settings->view = CONFIG_VIEW_CUSTOM;
    while (stages->count < count) {
        stages->list[stages->count++] =
            CONFIG_STAGE_BLUR3 + draw(CONFIG_STAGE_MARK - CONFIG_STAGE_BLUR3);
    }
    if (draw(2)) {
        stages->list[stages->count++] = draw(2) ? CONFIG_STAGE_DIFFERENCE : CONFIG_STAGE_CANNY;
        stages->list[stages->count++] = CONFIG_STAGE_ERODE + draw(4);
        stages->list[stages->count++] = CONFIG_STAGE_MARK;
    }
}

// A polygon anywhere, or none, which only a list of stages with a mask may not do without. One set
// is looked at at a time.
static void draw_mask(struct config_view *settings)
{
    static struct config_point corners[8];
    bool custom = settings->view == CONFIG_VIEW_CUSTOM;

    if (settings->view == CONFIG_VIEW_CAMERA || settings->view == CONFIG_VIEW_DIRECTION ||
        (!custom && draw(3) > 0)) {
        return;
    }
    settings->polygon = corners;
    settings->polygon_count = 3 + draw(ARRAY_LENGTH(corners) - 2);
    for (size_t i = 0; i < settings->polygon_count; i++)
        corners[i] = (struct config_point){draw(1001) / 1000.0, draw(1001) / 1000.0};
}

struct drawn {
    struct check_case what;
    const char *format;
    uint32_t width, height;
    size_t placement, memory;
    uint32_t seed;
    struct config_block blocks[CONFIG_KERNEL_COUNT];
};

static struct drawn draw_set(bool custom)
{
    uint32_t side_max = custom ? 150 : SIDE_MAX;
    struct drawn set = {
        .what = {draw_settings(), draw(2) ? VIEW_OUTPUT_STREAM : VIEW_OUTPUT_EXACT},
        .format = check_formats[draw(CHECK_FORMATS)],
        .width = 1 + draw(draw(3) ? side_max : 12),
        .height = 1 + draw(draw(3) ? side_max : 12),
        .placement = draw(PICTURE_PLACEMENTS),
        .memory = draw(CHECK_KINDS),
        .seed = draw(UINT32_MAX),
    };

    if (custom)
        draw_stages(&set.what.settings);
    draw_mask(&set.what.settings);
    for (size_t i = 0; i < CONFIG_KERNEL_COUNT; i++) {
        set.blocks[i] = check_blocks[draw(CHECK_BLOCKS)];
        set.blocks[i].rows = (int)draw(20);
    }
    return set;
}

static void check_set(struct check *check, const struct drawn *set)
{
    const struct frame_allocator *allocator = check_allocator(check, set->memory);
    struct view_setup setup = {.settings = &set->what.settings,
                               .output = set->what.output,
                               .frames = 1,
                               .allocator = frame_allocator_host()};
    struct view *view = NULL, *reference = NULL;
    struct picture pictures[2] = {0};
    struct error error = {0};
    bool made = check_pictures_init(check, set->format, set->width, set->height, set->placement,
                                    allocator, pictures);

    setup.input = made ? &pictures[0].frame->layout : NULL;
    // A picture that the CPU cannot make (YUV to RGB) is no view at all.
    if (made && view_new(&setup, &error, &reference) == 0) {
        picture_draw(pictures[0].frame, set->seed);
        setup.input = &pictures[1].frame->layout;
        setup.allocator = allocator;
        setup.gpu = check->gpu;
        gpu_set_blocks(check->gpu, set->blocks);
        int r = view_new(&setup, &error, &view);
        r = r < 0 ? r : check_blocks_taken(check, &error);
        if (r == 0 && (view_passes_through(view) || view_is_on_gpu(view)))
            check_frame_by_frame(check, &set->what, pictures, reference, view, FRAMES);
        else if (r < 0 || set->what.settings.view != CONFIG_VIEW_CUSTOM)
            check_count(check, false, &set->what, &pictures[0].frame->layout, "not on the GPU");
    }
    view_free(view);
    view_free(reference);
    picture_finish(&pictures[1]);
    picture_finish(&pictures[0]);
}

void check_random(struct check *check)
{
    const char *seed = getenv("EDGED_SEED");
    unsigned long compared = check->compared;

    state = seed ? strtoull(seed, NULL, 10) : (uint64_t)clock_now_ns();
    printf("EDGED_SEED=%llu\n", (unsigned long long)state);
    while (check->compared - compared < FRAMES * (check->quick ? SETS / 10 : SETS)) {
        struct drawn set = draw_set(false);

        check_set(check, &set);
    }
}

// Of the lists, those for which the GPU has kernels; the CPU computes the others.
void check_lists(struct check *check)
{
    unsigned long compared = check->compared;
    struct frame_layout none = {.format = pixel_format_by_name("GREY")};

    for (unsigned i = 0; i < (check->quick ? LISTS / 4 : LISTS); i++) {
        struct drawn set = draw_set(true);

        check_set(check, &set);
    }
    check_count(check, check->compared > compared, &(struct check_case){0}, &none,
                "no list of stages is computed by the GPU");
}
