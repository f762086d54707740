// Whether the GPU computes what the CPU computes, bit for bit: every format, norm, gain and range
// at odd sizes, strides and addresses, in every block shape and memory kind.
//
//   check_gpu [--quick]     --quick leaves out the large pictures, for the sanitizers
//
// The CPU's view is the reference; it has its own tests against OpenCV. A line a group, exit status
// 1 if one differs.
#include "kernels/gpu_memory.h"
#include "kernels/gpu_stage.h"
#include "kernels/view.h"
#include "tests/gpu/pictures.h"

#include <stdio.h>
#include <string.h>

#define CANARY 0xa5
#define MARGIN 64

static const char *const formats[] = {"GREY", "NV12", "NV21", "YU12", "422P", "444P",
                                      "YUYV", "UYVY", "RGB3", "BGR3", "XR24"};
static const struct {
    uint32_t width, height;
} sizes[] = {{1, 1},  {1, 9},   {2, 2},    {7, 3},   {8, 4},    {9, 5},     {16, 8},   {17, 11},
             {31, 1}, {63, 33}, {127, 65}, {64, 64}, {641, 37}, {1366, 96}, {854, 48}, {333, 201}},
  large[] = {{1280, 720}, {1920, 1080}, {3840, 2160}, {7680, 4320}, {7679, 4319}};
static const struct config_block blocks[] = {
    {32, 8},  {1, 1},   {1024, 1}, {1, 1024}, {2, 1},   {1, 2},   {3, 5},   {7, 9},
    {16, 16}, {8, 8},   {32, 32},  {64, 4},   {128, 1}, {1, 128}, {128, 8}, {256, 4},
    {512, 2}, {31, 33}, {5, 200},  {200, 5},  {33, 3},  {96, 2},  {16, 64}, {2, 512}};
static const double gains[] = {1.0, 0.3, 1.5, 7.77};

struct bench {
    struct gpu *gpu;
    uint64_t input, output; // device memory
    size_t room;
    uint8_t *result;
    unsigned long compared, different;
};

static int fail(const char *what, const struct error *error)
{
    fprintf(stderr, "check_gpu: %s: %s\n", what, error->text);
    return -1;
}

// Compares rows of `width` bytes and that nothing around them was written.
static void compare(struct bench *bench, const struct frame *expected, size_t stride,
                    const char *what)
{
    uint32_t width = expected->layout.width, height = expected->layout.height;
    unsigned long wrong = 0;

    for (size_t i = 0; i < MARGIN + stride * height + MARGIN; i++) {
        size_t y = (i - MARGIN) / stride, x = (i - MARGIN) % stride;
        uint8_t value = CANARY;

        if (i >= MARGIN && y < height && x < width) {
            value = frame_plane(expected, 0)[y * expected->layout.planes[0].stride + x];
        }
        if (bench->result[i] != value && wrong++ == 0) {
            fprintf(stderr, "%s %ux%u: at (%zd, %zu) %u, expected %u\n", what, width, height,
                    (ssize_t)x, y, bench->result[i], value);
        }
    }
    bench->compared++;
    bench->different += wrong > 0;
}

static int run_once(struct bench *bench, const struct frame *input, const struct frame *expected,
                    struct gpu_stage *stage, size_t stride, const char *what)
{
    const struct cuda_driver *driver = gpu_driver(bench->gpu);
    size_t size = MARGIN + stride * expected->layout.height + MARGIN;
    struct gpu_picture from = gpu_picture_at(&input->layout, bench->input);
    const struct gpu_picture to = {.planes = {{bench->output + MARGIN, (uint32_t)stride}}};
    struct error error = {0};

    memset(bench->result, CANARY, size);
    if (driver->copy_to_device(bench->output, bench->result, size, gpu_stream(bench->gpu)) !=
            CUDA_SUCCESS ||
        driver->copy_to_device(bench->input, input->data, input->layout.size,
                               gpu_stream(bench->gpu)) != CUDA_SUCCESS) {
        return fail("copying to the GPU", &error);
    }
    if (gpu_stage_launch(stage, &from, &to, &error) < 0 ||
        gpu_wait(bench->gpu, clock_now_ns() + 10 * NS_PER_S, &error) < 0) {
        return fail(what, &error);
    }
    driver->copy_to_host(bench->result, bench->output, size);
    compare(bench, expected, stride, what);
    return 0;
}

// One picture with one setting: in each of `count` block shapes from `first` on.
static int check_setting(struct bench *bench, const struct picture *picture,
                         const struct config_view *settings, bool limited, size_t first,
                         size_t count)
{
    struct frame *input = picture->frame;
    struct view *view = NULL;
    struct frame *expected = NULL;
    struct gpu_stage stage = {0};
    const struct stage_setup stage_setup = {settings, &input->layout,
                                            pixel_format_by_name(limited ? "NV12" : "GREY")};
    struct error error = {0};
    const struct view_setup setup = {.settings = settings,
                                     .input = &input->layout,
                                     .output = limited ? VIEW_OUTPUT_STREAM : VIEW_OUTPUT_EXACT,
                                     .frames = 1,
                                     .allocator = frame_allocator_host()};
    int r = view_new(&setup, &error, &view);

    if (r == 0) {
        r = view_run(view, input, &error, &expected);
    }
    if (r == 0) {
        r = gpu_stage_init(&stage, bench->gpu, &stage_setup, first % 2, &error);
    }
    for (size_t i = 0; i < count && r == 0; i++) {
        struct config_block block = blocks[(first + i) % ARRAY_LENGTH(blocks)];
        size_t align = (first + i) % 3 == 0 ? 1 : 64;
        char what[128];

        snprintf(what, sizeof what, "%s %s gain %g %s block %dx%d", input->layout.format->name,
                 settings->norm == CONFIG_NORM_L2 ? "l2" : "l1", settings->gain,
                 limited ? "limited" : "full", block.x, block.y);
        r = gpu_kernel_set_block(&stage.kernel, block, &error);
        if (r == 0) {
            r = run_once(bench, input, expected, &stage,
                         (input->layout.width + align - 1) / align * align, what);
        }
    }
    gpu_stage_finish(&stage);
    frame_unref(expected);
    view_free(view);
    return r < 0 ? fail("setting up", &error) : 0;
}

static int check_picture(struct bench *bench, const struct picture *picture, size_t *turn,
                         size_t count, size_t gain_count)
{
    int r = 0;

    for (unsigned i = 0; i < 4 * gain_count && r == 0; i++) {
        struct config_view settings = {.view = CONFIG_VIEW_EDGES,
                                       .norm = i & 1 ? CONFIG_NORM_L1 : CONFIG_NORM_L2,
                                       .gain = gains[i / 4]};

        r = check_setting(bench, picture, &settings, i & 2, *turn, count);
        *turn += count;
    }
    return r;
}

static void report(struct bench *bench, const char *what)
{
    printf("%-44s %8lu compared, %lu different\n", what, bench->compared, bench->different);
    fflush(stdout);
}

static int check_sizes(struct bench *bench)
{
    size_t turn = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(formats) * ARRAY_LENGTH(sizes); i++) {
        size_t size = i % ARRAY_LENGTH(sizes);

        for (size_t place = 0; place < PICTURE_PLACEMENTS; place++) {
            struct picture picture = {0};
            int r = picture_init(&picture, formats[i / ARRAY_LENGTH(sizes)], sizes[size].width,
                                 sizes[size].height, place, frame_allocator_host());

            r = r < 0 ? r : check_picture(bench, &picture, &turn, 1, ARRAY_LENGTH(gains));
            picture_finish(&picture);
            if (r < 0) {
                return r;
            }
        }
    }
    report(bench, "formats, sizes, placements, gains");
    return 0;
}

static int check_blocks(struct bench *bench)
{
    for (size_t i = 0; i < ARRAY_LENGTH(formats); i++) {
        struct picture picture = {0};
        size_t turn = 0;
        int r = picture_init(&picture, formats[i], 333, 201, i % PICTURE_PLACEMENTS,
                             frame_allocator_host());

        r = r < 0 ? r : check_picture(bench, &picture, &turn, ARRAY_LENGTH(blocks), 2);
        picture_finish(&picture);
        if (r < 0) {
            return r;
        }
    }
    report(bench, "every format in every block shape");
    return 0;
}

static int check_large(struct bench *bench)
{
    static const char *const some[] = {"GREY", "YUYV", "XR24"};
    size_t turn = 0;

    for (size_t i = 0; i < ARRAY_LENGTH(large) * ARRAY_LENGTH(some); i++) {
        struct picture picture = {0};
        size_t size = i % ARRAY_LENGTH(large);
        int r = picture_init(&picture, some[i / ARRAY_LENGTH(large)], large[size].width,
                             large[size].height, i % 2, frame_allocator_host());

        r = r < 0 ? r : check_picture(bench, &picture, &turn, 1, 1);
        picture_finish(&picture);
        if (r < 0) {
            return r;
        }
    }
    report(bench, "720p to 8K");
    return 0;
}

static void compare_frames(struct bench *bench, const struct frame *output,
                           const struct frame *expected)
{
    unsigned wrong = 0;

    for (uint32_t y = 0; y < expected->layout.height; y++) {
        wrong += memcmp(frame_plane(output, 0) + y * output->layout.planes[0].stride,
                        frame_plane(expected, 0) + y * expected->layout.planes[0].stride,
                        expected->layout.width) != 0;
    }
    bench->compared++;
    bench->different += wrong > 0;
}

static int run_rounds(struct bench *bench, struct picture *input,
                      const struct frame_allocator *allocator, struct error *error)
{
    struct config_view settings = {.view = CONFIG_VIEW_EDGES, .norm = CONFIG_NORM_L2, .gain = 1};
    struct view_setup setup = {.settings = &settings,
                               .input = &input->frame->layout,
                               .frames = 1,
                               .allocator = allocator,
                               .gpu = bench->gpu};
    struct view *views[2] = {NULL};
    int r = view_new(&setup, error, &views[0]);

    setup.gpu = NULL;
    r = r < 0 ? r : view_new(&setup, error, &views[1]);
    for (uint32_t round = 0; round < 3 && r == 0; round++) {
        struct frame *outputs[2] = {NULL};

        picture_draw(input->frame, round);
        r = view_run(views[0], input->frame, error, &outputs[0]);
        r = r < 0 ? r : view_run(views[1], input->frame, error, &outputs[1]);
        if (r == 0) {
            compare_frames(bench, outputs[0], outputs[1]);
        }
        frame_unref(outputs[0]);
        frame_unref(outputs[1]);
    }
    view_free(views[0]);
    view_free(views[1]);
    return r;
}

// Camera memory to encoder memory of one kind, nothing copied.
static int check_kind(struct bench *bench, enum config_memory wanted, const char *name)
{
    struct gpu_memory *memory = NULL;
    struct picture input = {0};
    struct error error = {0};
    int r = gpu_memory_new(bench->gpu, wanted, &error, &memory);

    if (r == 0 && gpu_memory_kind(memory) != wanted) {
        printf("%-12s passed over: %s\n", name, error.text);
        gpu_memory_free(memory);
        return 0;
    }
    r = r < 0 ? r : picture_init(&input, "YUYV", 641, 361, 0, gpu_memory_allocator(memory));
    r = r < 0 ? r : run_rounds(bench, &input, gpu_memory_allocator(memory), &error);
    picture_finish(&input);
    gpu_memory_free(memory);
    printf("%-12s %s\n", name, r < 0 ? error.text : "used by CPU and GPU in turn");
    return r;
}

static int check_refusals(struct bench *bench)
{
    struct config_view settings = {.view = CONFIG_VIEW_EDGES, .norm = CONFIG_NORM_L2, .gain = 1};
    static const struct config_block illegal[] = {{0, 1},    {1, 0},   {1025, 1},
                                                  {1, 1025}, {64, 32}, {2048, 1}};
    const struct frame_layout layout = {.format = pixel_format_by_name("GREY")};
    const struct stage_setup setup = {&settings, &layout, layout.format};
    struct gpu_stage stage;
    struct error error = {0};
    int r = gpu_stage_init(&stage, bench->gpu, &setup, false, &error);

    for (size_t i = 0; i < ARRAY_LENGTH(illegal) && r == 0; i++) {
        bench->compared++;
        if (gpu_kernel_set_block(&stage.kernel, illegal[i], &error) == 0) {
            fprintf(stderr, "block %dx%d was taken\n", illegal[i].x, illegal[i].y);
            bench->different++;
        }
    }
    gpu_stage_finish(&stage);
    report(bench, "illegal blocks refused");
    return r;
}

int main(int argc, char **argv)
{
    bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    struct bench bench = {.room = quick ? 4 << 20 : 160 << 20};
    struct error error = {0};
    int r = gpu_new(&error, &bench.gpu);

    if (r < 0) {
        fprintf(stderr, "check_gpu: %s\n", error.text);
        return 1;
    }
    bench.result = malloc(bench.room);
    if (!bench.result || gpu_driver(bench.gpu)->mem_alloc(&bench.input, bench.room) != 0 ||
        gpu_driver(bench.gpu)->mem_alloc(&bench.output, bench.room) != 0) {
        return fail("memory", &error), 1;
    }
    printf("%s, sm_%d\n", gpu_info(bench.gpu)->name, gpu_info(bench.gpu)->sm);
    r = quick ? 0 : check_sizes(&bench);
    r = r < 0 ? r : check_blocks(&bench);
    r = r < 0 || quick ? r : check_large(&bench);
    r = r < 0 ? r : check_kind(&bench, CONFIG_MEMORY_REGISTERED, "registered");
    r = r < 0 ? r : check_kind(&bench, CONFIG_MEMORY_PINNED, "pinned");
    r = r < 0 ? r : check_kind(&bench, CONFIG_MEMORY_MANAGED, "managed");
    r = r < 0 ? r : check_refusals(&bench);
    gpu_driver(bench.gpu)->mem_free(bench.input);
    gpu_driver(bench.gpu)->mem_free(bench.output);
    gpu_free(bench.gpu);
    free(bench.result);
    printf("%s: %lu compared, %lu different\n", r == 0 && bench.different == 0 ? "ok" : "FAILED",
           bench.compared, bench.different);
    return r == 0 && bench.different == 0 ? 0 : 1;
}
