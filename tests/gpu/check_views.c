// Views on the GPU against views on the CPU, by view_new() and view_run() alone.
#include "tests/gpu/check.h"

#include <stdio.h>

struct size {
    uint32_t width, height;
};

static const struct size sizes[] = {
    {1, 1},  {1, 9},   {2, 2},    {7, 3},   {8, 4},    {9, 5},     {16, 8},   {17, 11},
    {31, 1}, {63, 33}, {127, 65}, {64, 64}, {641, 37}, {1366, 96}, {854, 48}, {333, 201}};

// A picture with what the CPU makes of it.
struct subject {
    struct picture plain; // in host memory, aligned
    struct check_case cases[CHECK_CASES];
    struct frame *expected[CHECK_CASES]; // NULL: nothing to compute
    size_t count;
};

static bool subject_init(struct check *check, struct subject *subject, const char *format,
                         struct size size, size_t count, struct check_case (*case_at)(size_t))
{
    *subject = (struct subject){.count = count};
    if (picture_init(&subject->plain, format, size.width, size.height, 0, frame_allocator_host()) <
        0) {
        check_failed(check, "a picture", &(struct error){.text = "no memory"});
        return false;
    }
    picture_draw(subject->plain.frame, size.width * 31 + size.height);
    for (size_t i = 0; i < count; i++) {
        subject->cases[i] = case_at(i);
        check_expect(check, &subject->cases[i], subject->plain.frame, &subject->expected[i]);
    }
    return true;
}

static void subject_finish(struct subject *subject)
{
    for (size_t i = 0; i < subject->count; i++)
        frame_unref(subject->expected[i]);
    picture_finish(&subject->plain);
}

// One view in `count` blocks from check_blocks[first] on, some with other rows a thread, swapped
// between its frames.
static void check_view(struct check *check, const struct check_case *what, struct frame *input,
                       const struct frame *expected, const struct frame_allocator *allocator,
                       size_t first, size_t count)
{
    static const int rows[] = {0, 2, 0, 16, 0};
    struct config_block blocks[CONFIG_KERNEL_COUNT];
    const struct view_setup setup = {.settings = &what->settings,
                                     .input = &input->layout,
                                     .output = what->output,
                                     .frames = 1,
                                     .allocator = allocator,
                                     .gpu = check->gpu};
    struct error error = {0};
    struct view *view = NULL;
    int r = view_new(&setup, &error, &view);

    for (size_t i = 0; i < count && r == 0; i++) {
        struct config_block block = check_blocks[(first + i) % CHECK_BLOCKS];
        struct frame *output = NULL;
        char detail[64];

        block.rows = rows[(first + i) % ARRAY_LENGTH(rows)];
        for (size_t k = 0; k < CONFIG_KERNEL_COUNT; k++)
            blocks[k] = block;
        snprintf(detail, sizeof detail, "%s memory, block [%d, %d], rows %d", allocator->kind,
                 block.x, block.y, block.rows);
        gpu_set_blocks(check->gpu, blocks);
        r = view_run(view, input, &error, &output);
        r = r < 0 ? r : check_blocks_taken(check, &error);
        if (r == 0)
            check_frames(check, output, expected, what, &input->layout, detail);
        frame_unref(output);
    }
    if (r < 0)
        check_failed(check, "the GPU's view", &error);
    view_free(view);
}

// The subject at one placement in one kind of memory.
static void check_subject(struct check *check, const struct subject *subject, size_t placement,
                          size_t kind, size_t first_block, size_t block_count)
{
    const struct frame_layout *layout = &subject->plain.frame->layout;
    const struct frame_allocator *allocator = check_allocator(check, kind);
    struct picture placed = {0};

    if (picture_init(&placed, layout->format->name, layout->width, layout->height, placement,
                     allocator) < 0) {
        check_failed(check, "a picture", &(struct error){.text = "no memory"});
        return;
    }
    picture_copy(placed.frame, subject->plain.frame);
    for (size_t i = 0; i < subject->count; i++) {
        if (subject->expected[i]) {
            check_view(check, &subject->cases[i], placed.frame, subject->expected[i], allocator,
                       first_block + i, block_count);
        }
    }
    picture_finish(&placed);
}

void check_views(struct check *check)
{
    size_t turn = 0, count = check->quick ? CHECK_FEW : CHECK_CASES;

    for (size_t i = 0; i < CHECK_FORMATS * ARRAY_LENGTH(sizes); i++) {
        size_t size = i % ARRAY_LENGTH(sizes);
        struct subject subject;

        if (check->quick && size != 7 && size != 9)
            continue;
        if (!subject_init(check, &subject, check_formats[i / ARRAY_LENGTH(sizes)], sizes[size],
                          count, check->quick ? check_few_at : check_case_at)) {
            return;
        }
        for (size_t place = 0; place < PICTURE_PLACEMENTS; place++, turn++) {
            check_subject(check, &subject, check->quick ? turn % PICTURE_PLACEMENTS : place, turn,
                          turn, 1);
            if (check->quick)
                break;
        }
        subject_finish(&subject);
    }
}

void check_shapes(struct check *check)
{
    struct size size = check->quick ? (struct size){129, 67} : (struct size){333, 201};

    for (size_t i = 0; i < CHECK_FORMATS; i++) {
        struct subject subject;

        if (!subject_init(check, &subject, check_formats[i], size, CHECK_FEW, check_few_at))
            return;
        check_subject(check, &subject, i % PICTURE_PLACEMENTS, i, i,
                      check->quick ? 3 : CHECK_BLOCKS);
        subject_finish(&subject);
    }
}

void check_large(struct check *check)
{
    // The last has more rows than a grid of one row of threads a block.
    static const struct size large[] = {{1280, 720},  {1920, 1080}, {3840, 2160},
                                        {7680, 4320}, {7679, 4319}, {9, 300001}};

    for (size_t i = 0; i < CHECK_FORMATS * ARRAY_LENGTH(large); i++) {
        struct subject subject;

        if (!subject_init(check, &subject, check_formats[i / ARRAY_LENGTH(large)],
                          large[i % ARRAY_LENGTH(large)], CHECK_FEW, check_few_at)) {
            return;
        }
        check_subject(check, &subject, 0, i, 12, 1);                         // from [128, 1] on
        check_subject(check, &subject, i % PICTURE_PLACEMENTS, i + 1, 4, 1); // from [2, 1] on
        subject_finish(&subject);
    }
}
