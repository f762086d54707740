// Flips and demosaics, which the GPU makes before views read them, against the CPU's: every format,
// at odd sizes and awkward places.
#include "tests/gpu/check.h"

#include "kernels/demosaic/demosaic.h"
#include "kernels/flip/flip.h"

#include <stdio.h>

// Counted under this name.
static const struct check_case camera = {.settings = {.view = CONFIG_VIEW_CAMERA}};

struct work {
    const char *format;
    enum config_flip flip; // NONE: a demosaic
    bool colour;           // of a demosaic
};

static int make(const struct work *work, struct frame *input,
                const struct frame_allocator *allocator, struct gpu *gpu, struct error *error,
                struct frame **ret_output)
{
    const struct flip_setup flipped = {.flip = work->flip,
                                       .input = &input->layout,
                                       .frames = 1,
                                       .allocator = allocator,
                                       .gpu = gpu};
    const struct demosaic_setup coloured = {.input = &input->layout,
                                            .colour = work->colour,
                                            .frames = 1,
                                            .allocator = allocator,
                                            .gpu = gpu};
    struct demosaic *demosaic = NULL;
    struct flip *flip = NULL;
    int r;

    if (work->flip) {
        r = flip_new(&flipped, error, &flip);
        r = r < 0 ? r : flip_run(flip, input, error, ret_output);
    } else {
        r = demosaic_new(&coloured, error, &demosaic);
        r = r < 0 ? r : demosaic_run(demosaic, input, error, ret_output);
    }
    r = r < 0 ? r : frame_to_cpu(input, error);
    r = r < 0 ? r : frame_to_cpu(*ret_output, error);
    flip_free(flip);
    demosaic_free(demosaic);
    return r;
}

// One picture by `gpu`, or by the CPU; NULL after a failure, which is counted.
static struct frame *make_by(struct check *check, const struct work *work, struct frame *input,
                             const struct frame_allocator *allocator, struct gpu *gpu)
{
    struct frame *output = NULL;
    struct error error = {0};

    if (make(work, input, allocator, gpu, &error, &output) < 0) {
        check_failed(check, work->flip ? "a flip" : "a demosaic", &error);
        frame_unref(output);
        output = NULL;
    }
    return output;
}

static void check_one(struct check *check, const struct work *work, const uint32_t size[2],
                      size_t turn)
{
    static const struct frame_development developments[] = {
        {0, 1, 1, 1}, {9, 1.75, 1.25, 3.5}, {200, 1e9, 1e-6, 16}};
    const struct frame_allocator *mapped = check_allocator(check, turn);
    struct picture pictures[2] = {0};

    if (check_pictures_init(check, work->format, size[0], size[1], turn % PICTURE_PLACEMENTS,
                            mapped, pictures)) {
        struct frame *expected, *output;

        picture_draw(pictures[0].frame, (uint32_t)turn);
        picture_copy(pictures[1].frame, pictures[0].frame);
        for (unsigned i = 0; i < 2 && !work->flip; i++)
            pictures[i].frame->layout.development = developments[turn / 2 % 3];
        expected = make_by(check, work, pictures[0].frame, frame_allocator_host(), NULL);
        output = make_by(check, work, pictures[1].frame, mapped, check->gpu);
        if (expected && output) {
            check_frames(check, output, expected, &camera, &pictures[0].frame->layout,
                         work->flip     ? config_flip_name(work->flip)
                         : work->colour ? "to RGB3"
                                        : "to GREY");
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
            for (size_t i = 0; i < count; i++)
                check_one(check, &(struct work){check_formats[f], kind, false}, sizes[i], turn++);
        }
    }
}

void check_demosaics(struct check *check)
{
    static const char *const formats[] = {"RGGB", "GRBG", "GBRG", "BA81", "RG10", "BA10",
                                          "GB10", "BG10", "pRAA", "pgAA", "pGAA", "pBAA",
                                          "RG12", "BA12", "GB12", "BG12", "pRCC", "pgCC",
                                          "pGCC", "pBCC", "RG16", "GR16", "GB16", "BYR2"};
    static const uint32_t sizes[][2] = {{1, 1},     {2, 3},      {3, 3},       {5, 4},
                                        {16, 4},    {17, 9},     {31, 33},     {33, 18},
                                        {64, 64},   {130, 67},   {257, 5},     {5, 1030},
                                        {641, 359}, {1280, 720}, {1640, 1232}, {3280, 2464}};
    size_t count = check->quick ? 10 : ARRAY_LENGTH(sizes), turn = 0;

    for (size_t f = 0; f < ARRAY_LENGTH(formats); f++) {
        for (size_t i = 0; i < count; i++) {
            check_one(check, &(struct work){.format = formats[f], .colour = true}, sizes[i],
                      turn++);
            check_one(check, &(struct work){.format = formats[f]}, sizes[i], turn++);
        }
        turn++;
    }
}
