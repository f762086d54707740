// Flips by the GPU against the CPU's: every format and flip, at odd sizes and awkward places.
#include "tests/gpu/check.h"

#include "kernels/flip/flip.h"

#include <stdio.h>

// Counted under this name.
static const struct check_case camera = {.settings = {.view = CONFIG_VIEW_CAMERA}};

// One picture by `gpu`, or by the CPU; NULL after a failure, which is counted.
static struct frame *flip_by(struct check *check, enum config_flip kind, struct frame *input,
                             const struct frame_allocator *allocator, struct gpu *gpu)
{
    const struct flip_setup setup = {
        .flip = kind, .input = &input->layout, .frames = 1, .allocator = allocator, .gpu = gpu};
    struct frame *output = NULL;
    struct flip *flip = NULL;
    struct error error = {0};
    int r = flip_new(&setup, &error, &flip);

    r = r < 0 ? r : flip_run(flip, input, &error, &output);
    r = r < 0 ? r : frame_to_cpu(input, &error);
    r = r < 0 ? r : frame_to_cpu(output, &error);
    if (r < 0) {
        check_failed(check, "a flip", &error);
        frame_unref(output);
        output = NULL;
    }
    flip_free(flip);
    return output;
}

static void check_one(struct check *check, enum config_flip kind, const char *format,
                      const uint32_t size[2], size_t turn)
{
    const struct frame_allocator *mapped = check_allocator(check, turn);
    struct picture pictures[2] = {0};

    if (picture_init(&pictures[0], format, size[0], size[1], 0, frame_allocator_host()) < 0 ||
        picture_init(&pictures[1], format, size[0], size[1], turn % PICTURE_PLACEMENTS, mapped) <
            0) {
        check_failed(check, "a picture", &(struct error){"no memory"});
    } else {
        struct frame *expected, *output;

        picture_draw(pictures[0].frame, (uint32_t)turn);
        picture_copy(pictures[1].frame, pictures[0].frame);
        expected = flip_by(check, kind, pictures[0].frame, frame_allocator_host(), NULL);
        output = flip_by(check, kind, pictures[1].frame, mapped, check->gpu);
        if (expected && output) {
            check_frames(check, output, expected, &camera, &pictures[0].frame->layout,
                         config_flip_name(kind));
        }
        frame_unref(output);
        frame_unref(expected);
    }
    picture_finish(&pictures[1]);
    picture_finish(&pictures[0]);
}

void check_flips(struct check *check)
{
    static const uint32_t sizes[][2] = {{1, 1},    {2, 1},     {1, 2},      {3, 3},      {8, 8},
                                        {17, 9},   {31, 33},   {64, 64},    {130, 67},   {257, 5},
                                        {5, 1030}, {641, 359}, {1280, 720}, {3840, 2160}};
    size_t count = check->quick ? 9 : ARRAY_LENGTH(sizes), turn = 0;

    for (size_t f = 0; f < CHECK_FORMATS; f++) {
        for (enum config_flip kind = CONFIG_FLIP_ROTATE_90; kind <= CONFIG_FLIP_VERTICAL; kind++) {
            for (size_t i = 0; i < count; i++) {
                check_one(check, kind, check_formats[f], sizes[i], turn++);
            }
        }
    }
}
