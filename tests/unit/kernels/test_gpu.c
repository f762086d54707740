#include "kernels/gpu/gpu.h"

#include "kernels/gpu/gpu_fence.h"
#include "kernels/gpu/gpu_images.h"
#include "tests/unit/fake_gpu.h"
#include "tests/unit/stopwatch.h"

#include <errno.h>
#include <pthread.h>

TEST(test_every_board_is_known_by_what_its_driver_says)
{
    static const struct {
        const char *options, *name;
        int sm, multiprocessors;
        bool integrated, concurrent;
    } boards[] = {
        {"board=xavier", "Xavier", 72, 8, true, false},
        {"board=orin-nano", "Orin", 87, 8, true, false},
        {"board=agx-orin", "Orin", 87, 16, true, false},
        {"board=thor", "NVIDIA Thor", 110, 20, true, true},
        {"board=h200", "NVIDIA H200", 90, 132, false, true},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(boards); i++) {
        struct gpu *gpu = fake_gpu_open(boards[i].options);
        const struct gpu_info *info = gpu_info(gpu);

        assert_string_equal(info->name, boards[i].name);
        assert_int_equal(info->sm, boards[i].sm);
        assert_int_equal(info->multiprocessors, boards[i].multiprocessors);
        assert_int_equal(info->integrated, boards[i].integrated);
        assert_int_equal(info->concurrent_managed_access, boards[i].concurrent);
        assert_true(info->can_map_host && info->can_register && info->can_manage);
        assert_int_equal(info->block_x_max, 1024);
        gpu_free(gpu);
        assert_int_equal(fake_gpu_leaks(), 0);
    }
}

TEST(test_gpu_that_cannot_be_used_says_why)
{
    static const struct {
        const char *options;
        int error;
        const char *text;
    } cases[] = {
        {"fail=cuInit:1:100", -ENODEV, "no CUDA-capable device is detected"},
        {"fail=cuInit:1:803", -ENODEV, "unsupported display driver"},
        {"fail=cuDeviceGet:1:101", -EINVAL, "opening the GPU"},
        {"board=agx-orin,fail=cuModuleLoadData:1:209", -ENOTSUP, "Orin, sm_87"},
        {"fail=cuModuleLoadData:2:209", -ENOTSUP, "no kernel image is available"},
        {"fail=cuDeviceGetAttribute:1:1", -EINVAL, "asking the GPU's compute capability"},
        {"fail=cuDeviceGetAttribute:2:999", -EIO, "asking the GPU's compute capability"},
        {"fail=cuDeviceGetAttribute:3:1", -EINVAL, "asking the GPU's largest block"},
        {"fail=cuDeviceGetAttribute:4:1", -EINVAL, "asking the GPU's largest block"},
        {"fail=cuDevicePrimaryCtxRetain:1:2", -ENOMEM, "out of memory"},
        {"fail=cuStreamCreate:1:304", -EIO, "making a stream"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct error error = {0};
        struct gpu *gpu = NULL;

        fake_gpu_play(cases[i].options);
        assert_int_equal(gpu_new(&error, &gpu), cases[i].error);
        assert_non_null(strstr(error.text, cases[i].text));
        assert_null(gpu);
        assert_int_equal(fake_gpu_leaks(), 0);
    }
}

TEST(test_every_image_has_the_kernels_of_its_name)
{
    struct gpu *gpu = fake_gpu_open("");
    struct error error = {0};
    struct CUfunc_st *kernel = NULL;

    assert_non_null(gpu_image_at(1));
    assert_int_equal(gpu_kernel(gpu, "gpu_probe", &error, &kernel), 0);
    assert_int_equal(gpu_kernel(gpu, "gradient_yuyv_l2_limited", &error, &kernel), 0);
    assert_int_equal(gpu_kernel(gpu, "gradient_yuyv", &error, &kernel), -ENOENT);
    assert_string_equal(error.text, "no kernel gradient_yuyv");
    gpu_free(gpu);
}

// Queues gpu_probe over some device memory, which belongs to the caller.
static uint64_t launch_probe(struct gpu *gpu)
{
    const struct cuda_driver *driver = gpu_driver(gpu);
    uint64_t input = 0, output;
    uint32_t count = 64;
    void *parameters[] = {&input, &output, &count};
    struct CUfunc_st *kernel;

    assert_int_equal(gpu_kernel(gpu, "gpu_probe", NULL, &kernel), 0);
    assert_int_equal(driver->mem_alloc(&input, 512), 0);
    output = input + 256;
    assert_int_equal(
        driver->launch(kernel, 1, 1, 1, 64, 1, 1, 0, gpu_stream(gpu), parameters, NULL), 0);
    return input;
}

TEST(test_wait_ends_at_its_deadline_when_a_kernel_does_not)
{
    struct gpu *gpu = fake_gpu_open("hang=gpu_probe:1");
    struct error error = {0};
    int64_t begin_ns = clock_now_ns();

    launch_probe(gpu);
    assert_int_equal(gpu_wait(gpu, begin_ns + 50 * NS_PER_MS, &error), -ETIMEDOUT);
    assert_lasted(begin_ns, 50 * NS_PER_MS, NS_PER_S);
    gpu_lose(gpu);
    gpu_free(gpu); // would wait for ever if it called the driver
}

TEST(test_wait_lasts_as_long_as_a_slow_kernel)
{
    struct gpu *gpu = fake_gpu_open("slow=gpu_probe:40");
    struct error error = {0};
    int64_t begin_ns = clock_now_ns();
    uint64_t memory = launch_probe(gpu);

    assert_int_equal(gpu_wait(gpu, begin_ns + 10 * NS_PER_S, &error), 0);
    assert_true(clock_now_ns() - begin_ns >= 40 * NS_PER_MS);
    assert_int_equal(gpu_driver(gpu)->mem_free(memory), 0);
    gpu_free(gpu);
    assert_int_equal(fake_gpu_leaks(), 0);
}

static int64_t cpu_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * NS_PER_S + now.tv_nsec;
}

TEST(test_a_thread_sleeps_while_a_kernel_runs)
{
    struct gpu *gpu = fake_gpu_open("slow=gpu_probe:400");
    int64_t begin_ns = cpu_now_ns();
    uint64_t memory = launch_probe(gpu);

    assert_int_equal(gpu_wait(gpu, clock_now_ns() + 60 * NS_PER_S, NULL), 0);
    assert_true(cpu_now_ns() - begin_ns < 40 * NS_PER_MS); // it took none of the rest
    assert_int_equal(gpu_driver(gpu)->mem_free(memory), 0);
    gpu_free(gpu);
    assert_int_equal(fake_gpu_leaks(), 0);
}

TEST(test_an_event_is_waited_for_no_more_once_it_is_gone)
{
    struct gpu *gpu = fake_gpu_open("");

    for (unsigned i = 0; i < 1000; i++) {
        struct gpu_fence fence;

        assert_int_equal(gpu_fence_init(&fence, gpu_driver(gpu), gpu_waiter(gpu), NULL), 0);
        assert_int_equal(gpu_fence_set(&fence, gpu_stream(gpu), NULL), 0);
        assert_int_equal(gpu_waiter_order(gpu_waiter(gpu), fence.event), 0);
        gpu_fence_finish(&fence);
    }
    gpu_free(gpu);
    assert_int_equal(fake_gpu_leaks(), 0);
}

TEST(test_illegal_access_is_an_error_from_then_on)
{
    struct gpu *gpu = fake_gpu_open("illegal=gpu_probe:1");
    struct error error = {0};

    launch_probe(gpu);
    assert_int_equal(gpu_wait(gpu, clock_now_ns() + 10 * NS_PER_S, &error), -EIO);
    assert_non_null(strstr(error.text, "an illegal memory access was encountered"));
    assert_int_equal(gpu_enter(gpu, &error), -EIO);
    gpu_lose(gpu);
    gpu_free(gpu);
}

static void *free_gpu(void *gpu)
{
    gpu_free(gpu);
    return NULL;
}

TEST(test_thread_that_never_entered_the_context_can_free_the_gpu)
{
    struct gpu *gpu = fake_gpu_open("");
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, free_gpu, gpu), 0);
    pthread_join(thread, NULL);
    assert_int_equal(fake_gpu_leaks(), 0);
}

RUN_TESTS(NULL, fake_gpu_end)
