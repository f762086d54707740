// Impossible settings are refused in words that help, and leave the view as it was.
#include "tests/gpu/check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct check_case edges = {
    .settings = {.view = CONFIG_VIEW_EDGES, .norm = CONFIG_NORM_L2, .gain = 1},
    .output = VIEW_OUTPUT_STREAM,
};

static void check_illegal_blocks(struct check *check, struct view *view, struct frame *input,
                                 const struct frame *expected)
{
    static const struct config_block illegal[] = {{0, 1, 0},    {1, 0, 0},    {1025, 1, 0},
                                                  {1, 1025, 0}, {64, 32, 0},  {2048, 1, 0},
                                                  {-1, 8, 0},   {1, 65536, 0}};

    for (size_t i = 0; i < ARRAY_LENGTH(illegal); i++) {
        const struct config_block blocks[CONFIG_KERNEL_COUNT] = {[CONFIG_KERNEL_GRADIENT] =
                                                                     illegal[i]};
        struct frame *output = NULL;
        struct error error = {0};
        char named[64];

        snprintf(named, sizeof named, "kernels.gradient.block = [%d, %d]: ", illegal[i].x,
                 illegal[i].y);
        gpu_set_blocks(check->gpu, blocks);
        check_count(check,
                    gpu_take_complaint(check->gpu, &error) &&
                        strncmp(error.text, named, strlen(named)) == 0,
                    &edges, &input->layout, error.text);
        if (view_run(view, input, &error, &output) < 0)
            check_failed(check, "a view that refused a block", &error);
        else
            check_frames(check, output, expected, &edges, &input->layout, "after a refusal");
        frame_unref(output);
    }
}

static void check_warnings(struct check *check, const struct frame_layout *input)
{
    static const struct {
        struct config_block block;
        bool warned;
    } cases[] = {{{8, 1, 0}, true}, {{128, 1, 0}, false}, {{1, 1, 0}, true}, {{0, 0, 0}, false}};

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        const struct config_block blocks[CONFIG_KERNEL_COUNT] = {[CONFIG_KERNEL_GRADIENT] =
                                                                     cases[i].block};
        struct error text = {.text = "no warning"};
        bool warned;

        gpu_set_blocks(check->gpu, blocks);
        warned = gpu_take_complaint(check->gpu, &text);
        check_count(check, warned == cases[i].warned, &edges, input, text.text);
        check_count(check, !gpu_take_complaint(check->gpu, &text), &edges, input, "warned twice");
        if (warned)
            printf("  %s\n", text.text);
    }
}

static void check_host_memory(struct check *check, struct view_setup setup)
{
    struct error error = {0};
    struct view *view = NULL;

    setup.allocator = frame_allocator_host();
    check_count(check, view_new(&setup, &error, &view) == -ENOTSUP, &edges, setup.input,
                error.text);
    view_free(view);
}

void check_refused(struct check *check)
{
    const struct frame_allocator *allocator = check_allocator(check, 0);
    struct picture input = {0};
    struct frame *expected = NULL;
    struct view *view = NULL;
    struct error error = {0};
    struct view_setup setup = {
        .settings = &edges.settings, .frames = 1, .allocator = allocator, .gpu = check->gpu};
    char sm[16];

    if (picture_init(&input, "YUYV", 100, 50, 0, allocator) < 0) {
        check_failed(check, "a picture", &(struct error){.text = "no memory"});
        return;
    }
    picture_draw(input.frame, 1);
    setup.input = &input.frame->layout;
    snprintf(sm, sizeof sm, "CUDA sm_%d", gpu_info(check->gpu)->sm);
    if (view_new(&setup, &error, &view) < 0) {
        check_failed(check, "a view", &error);
    } else if (check_expect(check, &edges, input.frame, &expected)) {
        check_count(check, strcmp(view_backend(view), sm) == 0, &edges, setup.input, "backend");
        check_illegal_blocks(check, view, input.frame, expected);
        check_warnings(check, setup.input);
        check_host_memory(check, setup);
    }
    view_free(view);
    frame_unref(expected);
    picture_finish(&input);
}
