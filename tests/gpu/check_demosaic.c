// Demosaics by the GPU against the CPU's: every way that samples lie in memory, every order and
// output, at odd sizes and awkward places, as they are and developed.
#include "tests/gpu/check.h"

#include "kernels/demosaic/demosaic.h"

// Counted under this name.
static const struct check_case camera = {.settings = {.view = CONFIG_VIEW_CAMERA}};

// One picture by `gpu`, or by the CPU; NULL after a failure, which is counted.
static struct frame *make_by(struct check *check, bool colour, struct frame *input,
                             const struct frame_allocator *allocator, struct gpu *gpu)
{
    const struct demosaic_setup setup = {
        .input = &input->layout, .colour = colour, .frames = 1, .allocator = allocator, .gpu = gpu};
    struct demosaic *demosaic = NULL;
    struct frame *output = NULL;
    struct error error = {0};
    int r = demosaic_new(&setup, &error, &demosaic);

    r = r < 0 ? r : demosaic_run(demosaic, input, &error, &output);
    r = r < 0 ? r : frame_to_cpu(input, &error);
    r = r < 0 ? r : frame_to_cpu(output, &error);
    if (r < 0) {
        check_failed(check, "a demosaic", &error);
        frame_unref(output);
        output = NULL;
    }
    demosaic_free(demosaic);
    return output;
}

static void check_one(struct check *check, const char *format, bool colour, const uint32_t size[2],
                      size_t turn)
{
    static const struct frame_development developments[] = {
        {0, 1, 1, 1}, {9, 1.75, 1.25, 3.5}, {200, 1e9, 1e-6, 16}};
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
        for (unsigned i = 0; i < 2; i++) {
            pictures[i].frame->layout.development = developments[turn / 2 % 3];
        }
        expected = make_by(check, colour, pictures[0].frame, frame_allocator_host(), NULL);
        output = make_by(check, colour, pictures[1].frame, mapped, check->gpu);
        if (expected && output) {
            check_frames(check, output, expected, &camera, &pictures[0].frame->layout,
                         colour ? "to RGB3" : "to GREY");
        }
        frame_unref(output);
        frame_unref(expected);
    }
    picture_finish(&pictures[1]);
    picture_finish(&pictures[0]);
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
            check_one(check, formats[f], true, sizes[i], turn++);
            check_one(check, formats[f], false, sizes[i], turn++);
        }
        turn++;
    }
}
