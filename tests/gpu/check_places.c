// Kernels at places that no view would choose: device memory without a byte to spare, unaligned
// starts and odd strides on both sides, any number of rows a thread. Nothing but the pixels may be
// written.
#include "kernels/graph/runner.h"
#include "tests/gpu/check.h"

#include <stdio.h>
#include <string.h>

#define CANARY 0xa5
#define MARGIN 64

// Where the output goes: device memory and what it should hold afterwards.
struct target {
    struct frame_layout layout;
    size_t size; // with a margin on either side
    uint64_t address;
    uint8_t *expected, *result;
};

static void target_finish(struct check *check, struct target *target)
{
    if (target->address)
        gpu_driver(check->gpu)->mem_free(target->address);
    free(target->expected);
    free(target->result);
}

// Canaries everywhere but in the planes that a stage writes.
static bool target_init(struct check *check, struct target *target, const struct frame *expected,
                        const struct check_case *what, size_t placement)
{
    const struct frame_layout *from = &expected->layout;
    unsigned planes = config_view_is_colour(&what->settings) ? from->format->plane_count : 1;

    *target = (struct target){0};
    picture_layout(&target->layout, from->format->name, from->width, from->height, placement);
    target->size = MARGIN + target->layout.size + MARGIN;
    target->expected = malloc(target->size);
    target->result = malloc(target->size);
    if (!target->expected || !target->result ||
        gpu_driver(check->gpu)->mem_alloc(&target->address, target->size) != CUDA_SUCCESS) {
        return false;
    }
    memset(target->expected, CANARY, target->size);
    memset(target->result, CANARY, target->size);
    for (unsigned i = 0; i < planes; i++) {
        for (uint32_t y = 0; y < from->planes[i].rows; y++) {
            memcpy(target->expected + MARGIN + target->layout.planes[i].offset +
                       y * target->layout.planes[i].stride,
                   frame_plane(expected, i) + y * from->planes[i].stride,
                   from->planes[i].width_bytes);
        }
    }
    return true;
}

static int compute(struct check *check, const struct check_case *what, const struct frame *input,
                   uint64_t address, struct target *target, struct config_block block,
                   unsigned rows, struct error *error)
{
    const struct cuda_driver *driver = gpu_driver(check->gpu);
    const struct view_setup setup = {.settings = &what->settings, .input = &input->layout};
    struct plan plan = plan_make(&what->settings, input->layout.format, what->output);
    struct mask_plane *mask = NULL;
    struct config_block blocks[CONFIG_KERNEL_COUNT];
    struct gpu_picture from = gpu_picture_at(&input->layout, address);
    struct gpu_picture to = gpu_picture_at(&target->layout, target->address + MARGIN);
    struct runner runner;
    int r = plan_load_mask(&plan, &setup, error, &mask);

    if (r < 0)
        return r;
    block.rows = (int)rows;
    for (size_t i = 0; i < CONFIG_KERNEL_COUNT; i++)
        blocks[i] = block;
    gpu_set_blocks(check->gpu, blocks);
    r = runner_init_plan(&runner, check->gpu, &plan, &input->layout, false, error);
    mask_plane_unref(mask); // the GPU has it
    r = r < 0 ? r : check_blocks_taken(check, error);
    if (r == 0 && (driver->copy_to_device(address, input->data, input->layout.size,
                                          gpu_stream(check->gpu)) != CUDA_SUCCESS ||
                   driver->copy_to_device(target->address, target->result, target->size,
                                          gpu_stream(check->gpu)) != CUDA_SUCCESS)) {
        r = error_set(error, -1, "copying to the GPU");
    }
    r = r < 0 ? r : runner_launch(&runner, (struct gpu_pictures){from, from, to}, error);
    r = r < 0 ? r : gpu_wait(check->gpu, clock_now_ns() + 10 * NS_PER_S, error);
    if (r == 0) {
        r = cuda_driver_check(driver,
                              driver->copy_to_host(target->result, target->address, target->size),
                              "copying from the GPU", error);
    }
    runner_finish(&runner);
    return r;
}

// One picture, one case; `rows` 0: those of the kernel.
static void check_place(struct check *check, const struct check_case *what, struct frame *input,
                        size_t placement, struct config_block block, unsigned rows)
{
    struct target target = {0};
    struct frame *expected = NULL;
    struct error error = {0};
    uint64_t address = 0;
    char detail[64];

    if (!check_expect(check, what, input, &expected))
        return;
    snprintf(detail, sizeof detail, "to placement %zu, block [%d, %d], %u rows", placement, block.x,
             block.y, rows);
    if (!target_init(check, &target, expected, what, placement) ||
        gpu_driver(check->gpu)->mem_alloc(&address, input->layout.size) != CUDA_SUCCESS) {
        check_failed(check, detail, &(struct error){.text = "no memory"});
    } else if (compute(check, what, input, address, &target, block, rows, &error) < 0) {
        check_failed(check, detail, &error);
    } else {
        check_count(check, memcmp(target.result, target.expected, target.size) == 0, what,
                    &input->layout, detail);
    }
    if (address)
        gpu_driver(check->gpu)->mem_free(address);
    target_finish(check, &target);
    frame_unref(expected);
}

void check_places(struct check *check)
{
    static const uint32_t sizes[][2] = {{1, 1},  {2, 2},  {3, 7},   {8, 4},
                                        {17, 2}, {30, 5}, {67, 35}, {256, 66}};
    size_t count = CHECK_FORMATS * ARRAY_LENGTH(sizes) * PICTURE_PLACEMENTS;

    for (size_t i = 0; i < count; i += check->quick ? 3 : 1) {
        const uint32_t *size = sizes[i % ARRAY_LENGTH(sizes)];
        size_t placement = i / ARRAY_LENGTH(sizes) % PICTURE_PLACEMENTS;
        struct picture picture = {0};

        if (picture_init(&picture, check_formats[i / ARRAY_LENGTH(sizes) / PICTURE_PLACEMENTS],
                         size[0], size[1], placement, frame_allocator_host()) < 0) {
            check_failed(check, "a picture", &(struct error){.text = "no memory"});
            return;
        }
        picture_draw(picture.frame, (uint32_t)i);
        for (size_t k = 0; k < CHECK_FEW; k++) {
            struct check_case what = check_few_at(k);

            check_place(check, &what, picture.frame, (i + k) % PICTURE_PLACEMENTS,
                        check_blocks[(i + k) % CHECK_BLOCKS], 0);
        }
        picture_finish(&picture);
    }
}

void check_rows(struct check *check)
{
    static const unsigned rows[] = {1, 2, 3, 4, 5, 8, 16, 31, 64, 1000};

    for (size_t i = 0; i < CHECK_FORMATS * ARRAY_LENGTH(rows); i += check->quick ? 7 : 1) {
        struct picture picture = {0};

        if (picture_init(&picture, check_formats[i / ARRAY_LENGTH(rows)], 265, 91, 0,
                         frame_allocator_host()) < 0) {
            check_failed(check, "a picture", &(struct error){.text = "no memory"});
            return;
        }
        picture_draw(picture.frame, (uint32_t)i);
        for (size_t k = 0; k < 2; k++) {
            struct check_case what = check_few_at(k);

            check_place(check, &what, picture.frame, 0, check_blocks[i % CHECK_BLOCKS],
                        rows[i % ARRAY_LENGTH(rows)]);
        }
        picture_finish(&picture);
    }
}

void check_tiles(struct check *check)
{
    static const uint32_t sizes[][2] = {{8, 4}, {264, 64}};

    for (size_t i = 0; i < CHECK_FORMATS * ARRAY_LENGTH(sizes); i++) {
        const uint32_t *size = sizes[i % ARRAY_LENGTH(sizes)];
        struct picture picture = {0};

        if (picture_init(&picture, check_formats[i / ARRAY_LENGTH(sizes)], size[0], size[1], 0,
                         frame_allocator_host()) < 0) {
            check_failed(check, "a picture", &(struct error){.text = "no memory"});
            return;
        }
        picture_draw(picture.frame, (uint32_t)i);
        for (size_t k = check->quick ? i % 7 : 0; k < CHECK_CASES; k += check->quick ? 7 : 1) {
            struct check_case what = check_case_at(k);

            check_place(check, &what, picture.frame, 0, check_blocks[(i + k) % CHECK_BLOCKS], 0);
        }
        picture_finish(&picture);
    }
}
