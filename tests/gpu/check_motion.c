// The motion view on the GPU, frame after frame, against the CPU's.
#include "tests/gpu/check.h"

#define FRAMES 4

static const struct {
    uint32_t width, height;
} sizes[] = {{1, 1},   {2, 2},    {3, 5},    {8, 8},      {9, 17},     {17, 33},
             {64, 64}, {333, 20}, {641, 37}, {1366, 769}, {3840, 2160}};
static const int erosions[] = {1, 0, 2, 8};

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
    bool made = check_pictures_init(check, format, width, height, turn % PICTURE_PLACEMENTS,
                                    allocator, pictures);
    int r = 0;

    for (size_t i = 0; i < CONFIG_KERNEL_COUNT; i++)
        blocks[i] = check_blocks[(turn + i) % CHECK_BLOCKS];
    if (made) {
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
    if (made && (r < 0 || !view_is_on_gpu(view)))
        check_failed(check, "a motion view", &error);
    else if (made)
        check_frame_by_frame(check, what, pictures, reference, view, FRAMES);
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
