#include "kernels/gpu/gpu_memory.h"

#include "tests/unit/fake_gpu.h"
#include "tests/unit/stopwatch.h"

#include <errno.h>
#include <signal.h>

struct bed {
    struct gpu *gpu;
    struct gpu_memory *memory;
    struct frame_pool *pool;
    struct frame *frame;
};

static void bed_finish(struct bed *bed)
{
    frame_unref(bed->frame);
    frame_pool_unref(bed->pool);
    gpu_memory_free(bed->memory);
    gpu_free(bed->gpu);
}

// A GPU with these options and, when it opens, memory of the kind that is wanted.
static int bed_init(struct bed *bed, const char *options, enum config_memory wanted,
                    struct error *error)
{
    int r;

    *bed = (struct bed){0};
    fake_gpu_play(options);
    r = gpu_new(error, &bed->gpu);
    return r < 0 ? r : gpu_memory_new(bed->gpu, wanted, error, &bed->memory);
}

static int bed_take_frame(struct bed *bed)
{
    struct frame_layout layout;
    int r;

    frame_layout_init(&layout, pixel_format_by_name("GREY"), 64, 64, 1);
    r = frame_pool_new(&layout, 2, gpu_memory_allocator(bed->memory), &bed->pool);
    if (r == 0)
        bed->frame = frame_pool_take(bed->pool);
    return r;
}

TEST(test_every_board_can_use_every_kind)
{
    static const char *const boards[] = {"board=xavier", "board=orin-nano", "board=agx-orin",
                                         "board=thor", "board=h200"};
    static const enum config_memory kinds[][2] = {
        {CONFIG_MEMORY_AUTO, CONFIG_MEMORY_REGISTERED},
        {CONFIG_MEMORY_REGISTERED, CONFIG_MEMORY_REGISTERED},
        {CONFIG_MEMORY_PINNED, CONFIG_MEMORY_PINNED},
        {CONFIG_MEMORY_MANAGED, CONFIG_MEMORY_MANAGED},
        {CONFIG_MEMORY_HOST, CONFIG_MEMORY_HOST},
    };

    for (size_t b = 0; b < ARRAY_LENGTH(boards); b++) {
        for (size_t k = 0; k < ARRAY_LENGTH(kinds); k++) {
            struct error why = {0};
            struct bed bed;

            assert_int_equal(bed_init(&bed, boards[b], kinds[k][0], &why), 0);
            assert_int_equal(gpu_memory_kind(bed.memory), kinds[k][1]);
            assert_string_equal(why.text, "");
            bed_finish(&bed);
            assert_int_equal(fake_gpu_leaks(), 0);
        }
    }
}

TEST(test_kind_that_fails_its_test_is_passed_over_with_the_reason)
{
    static const struct {
        const char *options;
        enum config_memory wanted, used;
        const char *why;
    } cases[] = {
        {"fail=cuMemHostRegister_v2:1+:801", CONFIG_MEMORY_AUTO, CONFIG_MEMORY_PINNED,
         "registered memory: registering memory: operation not supported "
         "(CUDA_ERROR_NOT_SUPPORTED, "
         "801)"},
        {"fail=cuMemHostGetDevicePointer_v2:1:1", CONFIG_MEMORY_AUTO, CONFIG_MEMORY_PINNED,
         "registered memory: asking for a frame's device address: invalid argument "
         "(CUDA_ERROR_INVALID_VALUE, 1)"},
        {"fail=cuMemHostRegister_v2:1+:801,fail=cuMemHostAlloc:1+:2", CONFIG_MEMORY_AUTO,
         CONFIG_MEMORY_MANAGED,
         "registered memory: registering memory: operation not supported "
         "(CUDA_ERROR_NOT_SUPPORTED, "
         "801); pinned memory: allocating pinned memory: out of memory (CUDA_ERROR_OUT_OF_MEMORY, "
         "2)"},
        {"memory=16384", CONFIG_MEMORY_PINNED, CONFIG_MEMORY_HOST,
         "pinned memory: allocating pinned memory: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2); "
         "managed memory: allocating managed memory: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)"},
        {"fail=cuLaunchKernel:1+:701", CONFIG_MEMORY_MANAGED, CONFIG_MEMORY_HOST,
         "managed memory: launching the probe: too many resources requested for launch "
         "(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701)"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct error why = {0};
        struct bed bed;

        assert_int_equal(bed_init(&bed, cases[i].options, cases[i].wanted, &why), 0);
        assert_int_equal(gpu_memory_kind(bed.memory), cases[i].used);
        assert_string_equal(why.text, cases[i].why);
        bed_finish(&bed);
        assert_int_equal(fake_gpu_leaks(), 0);
    }
}

TEST(test_why_a_frame_got_no_memory_is_kept_once)
{
    struct error why = {0};
    struct bed bed;

    // The self-test takes the first.
    assert_int_equal(bed_init(&bed, "fail=cuMemHostRegister_v2:2:801", CONFIG_MEMORY_AUTO, &why),
                     0);
    assert_int_equal(gpu_memory_take_failure(bed.memory, &why), 0);
    assert_int_equal(bed_take_frame(&bed), -ENOTSUP);
    assert_int_equal(gpu_memory_take_failure(bed.memory, &why), -ENOTSUP);
    assert_string_equal(why.text, "registering memory: operation not supported "
                                  "(CUDA_ERROR_NOT_SUPPORTED, 801)");
    assert_int_equal(gpu_memory_take_failure(bed.memory, &why), 0);
    assert_int_equal(bed_take_frame(&bed), 0);
    bed_finish(&bed);
    assert_int_equal(fake_gpu_leaks(), 0);
}

// Queues gpu_probe over the frame: its second half becomes the complement of the first.
static void launch_probe(const struct bed *bed, uint64_t address)
{
    uint64_t output = address + 2048;
    uint32_t count = 512;
    void *parameters[] = {&address, &output, &count};
    struct CUfunc_st *kernel;

    assert_int_equal(gpu_kernel(bed->gpu, "gpu_probe", NULL, &kernel), 0);
    assert_int_equal(gpu_driver(bed->gpu)->launch(kernel, 2, 1, 1, 256, 1, 1, 0,
                                                  gpu_stream(bed->gpu), parameters, NULL),
                     0);
}

TEST(test_frame_goes_to_the_gpu_and_comes_back_in_every_kind)
{
    for (enum config_memory kind = CONFIG_MEMORY_REGISTERED; kind < CONFIG_MEMORY_HOST; kind++) {
        struct error error = {0};
        struct bed bed;
        uint64_t address;

        assert_int_equal(bed_init(&bed, "board=xavier,slow=gpu_probe:5", kind, &error), 0);
        assert_int_equal(bed_take_frame(&bed), 0);
        for (unsigned i = 0; i < 2048; i++)
            bed.frame->data[i] = (uint8_t)(i * 7);
        assert_int_equal(frame_to_gpu(bed.frame, &error, &address), 0);
        launch_probe(&bed, address);
        assert_int_equal(frame_to_cpu(bed.frame, &error), 0);
        for (unsigned i = 0; i < 2048; i++)
            assert_int_equal(bed.frame->data[2048 + i], (uint8_t) ~(i * 7));
        bed_finish(&bed);
        assert_int_equal(fake_gpu_leaks(), 0);
    }
}

struct touch {
    const char *options;
    bool other; // the frame that no kernel was given
};

// The CPU reads managed memory between launch and frame_to_cpu().
static void touch_while_a_kernel_runs(const void *context)
{
    const struct touch *touch = context;
    struct error error = {0};
    struct bed bed;
    uint64_t address;
    struct frame *other;

    if (bed_init(&bed, touch->options, CONFIG_MEMORY_MANAGED, &error) < 0 ||
        bed_take_frame(&bed) < 0) {
        _exit(1);
    }
    other = frame_pool_take(bed.pool);
    frame_to_gpu(bed.frame, &error, &address);
    launch_probe(&bed, address);
    *(volatile uint8_t *)(touch->other ? other : bed.frame)->data = 1;
    fputs("went on\n", stderr);
    if (frame_to_cpu(bed.frame, &error) < 0)
        _exit(1);
    frame_unref(other);
    bed_finish(&bed);
}

TEST(test_touch_of_managed_memory_while_a_kernel_runs_is_caught)
{
    static const struct touch touches[] = {{"board=xavier", false},
                                           {"board=orin-nano", false},
                                           {"board=agx-orin,slow=gpu_probe:20", false}};
    char text[4096];

    for (size_t i = 0; i < ARRAY_LENGTH(touches); i++) {
        int status = fake_gpu_run_child(touch_while_a_kernel_runs, &touches[i], text, sizeof text);

        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
        assert_non_null(strstr(text, "CPU touched managed memory at 0x"));
        assert_non_null(strstr(text, "while kernel gpu_probe runs"));
        assert_null(strstr(text, "went on"));
    }
}

TEST(test_touch_is_allowed_where_the_rule_allows_it)
{
    // Boards where both may touch at once; and memory that belongs to the host meanwhile.
    static const struct touch touches[] = {{"board=thor,slow=gpu_probe:20", false},
                                           {"board=h200,slow=gpu_probe:20", false},
                                           {"board=orin-nano,slow=gpu_probe:20", true}};
    char text[4096];

    for (size_t i = 0; i < ARRAY_LENGTH(touches); i++) {
        assert_int_equal(
            fake_gpu_run_child(touch_while_a_kernel_runs, &touches[i], text, sizeof text), 0);
        assert_string_equal(text, "went on\n");
    }
}

TEST(test_kernel_that_does_not_end_fails_the_frame_within_its_second)
{
    struct error error = {0};
    struct bed bed;
    uint64_t address;

    // The self-test of the memory is the first two launches.
    assert_int_equal(bed_init(&bed, "hang=gpu_probe:3", CONFIG_MEMORY_AUTO, &error), 0);
    assert_int_equal(bed_take_frame(&bed), 0);
    assert_int_equal(frame_to_gpu(bed.frame, &error, &address), 0);
    launch_probe(&bed, address);
    int64_t begin_ns = clock_now_ns();
    assert_int_equal(frame_to_cpu(bed.frame, &error), -ETIMEDOUT);
    assert_lasted(begin_ns, 0, 2 * NS_PER_S);
    gpu_lose(bed.gpu);
    bed_finish(&bed);
}

RUN_TESTS(NULL, fake_gpu_end)
