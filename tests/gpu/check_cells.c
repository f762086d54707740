// The cells of motion events on the GPU against the CPU's: every format, at odd sizes and awkward
// places, in every kind of memory, while a view of the same picture is made.
#include "tests/gpu/check.h"

#include "kernels/cells/cells.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

// Counted under this name.
static const struct check_case camera = {.settings = {.view = CONFIG_VIEW_CAMERA}};

// Makes the cells of a picture into `means`, which has room for CELLS_MAX; on a GPU, beside edges.
static int make(struct gpu *gpu, const struct frame_allocator *allocator, struct frame *picture,
                struct error *error, uint8_t *means)
{
    static const struct config_view edges = {.view = CONFIG_VIEW_EDGES, .gain = 1};
    const struct view_setup setup = {.settings = &edges,
                                     .input = &picture->layout,
                                     .output = VIEW_OUTPUT_STREAM,
                                     .frames = 1,
                                     .allocator = allocator,
                                     .gpu = gpu};
    struct cells *cells = NULL;
    struct frame *seen = NULL;
    struct view *view = NULL;
    const uint8_t *found = NULL;
    int r = cells_new(&picture->layout, gpu, allocator, error, &cells);

    if (r == 0 && gpu)
        r = cells_fit(cells, &picture->layout, NULL) ? -EINVAL : view_new(&setup, error, &view);
    r = r < 0 ? r : cells_begin(cells, picture, error);
    if (r == 0 && view)
        r = view_run(view, picture, error, &seen);
    r = r < 0 ? r : cells_end(cells, picture, error, &found);
    if (r == 0) {
        struct cell_grid grid = cells_grid(cells);

        memcpy(means, found, (size_t)grid.columns * grid.rows);
    }
    frame_unref(seen);
    view_free(view);
    cells_free(cells);
    return r;
}

static void check_one(struct check *check, const char *format, const uint32_t size[2], size_t turn)
{
    static uint8_t expected[CELLS_MAX], means[CELLS_MAX];
    const struct frame_allocator *mapped = check_allocator(check, turn);
    struct picture pictures[2] = {0};
    struct error error = {0};
    int r = picture_init(&pictures[0], format, size[0], size[1], 0, frame_allocator_host());

    r = r < 0 ? r
              : picture_init(&pictures[1], format, size[0], size[1], turn % PICTURE_PLACEMENTS,
                             mapped);
    if (r == 0) {
        memset(expected, 0, sizeof expected);
        memset(means, 0, sizeof means);
        picture_draw(pictures[0].frame, (uint32_t)turn);
        picture_copy(pictures[1].frame, pictures[0].frame);
        r = make(NULL, NULL, pictures[0].frame, &error, expected);
        r = r < 0 ? r : make(check->gpu, mapped, pictures[1].frame, &error, means);
    }
    if (r < 0) {
        check_failed(check, "cells", &error);
    } else {
        check_count(check, memcmp(means, expected, sizeof means) == 0, &camera,
                    &pictures[0].frame->layout, "cells");
    }
    picture_finish(&pictures[1]);
    picture_finish(&pictures[0]);
}

void check_cells(struct check *check)
{
    static const uint32_t sizes[][2] = {
        {1, 1},       {3, 2},       {8, 8},       {17, 9},    {160, 90},    {162, 91},
        {333, 100},   {46, 500},    {640, 360},   {1001, 7},  {1366, 769},  {1080, 1920},
        {1920, 1080}, {2592, 1944}, {3840, 2160}, {8192, 17}, {7680, 4320}, {8192, 8192}};
    size_t count = check->quick ? 10 : ARRAY_LENGTH(sizes), turn = 0;

    for (size_t f = 0; f < CHECK_FORMATS; f++) {
        for (size_t i = 0; i < count; i++)
            check_one(check, check_formats[f], sizes[i], turn++);
        turn++;
    }
}
