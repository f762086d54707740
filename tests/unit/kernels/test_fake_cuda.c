// Mistakes that the driver for tests catches, provoked with the driver's own functions.
#include "kernels/gpu/cuda_driver.h"

#include "tests/unit/fake_gpu.h"
#include "tests/unit/stopwatch.h"

#include <signal.h>
#include <sys/mman.h>

struct bed {
    struct cuda_driver driver;
    struct CUctx_st *context;
    struct CUmod_st *module;
    struct CUfunc_st *probe;
    struct CUstream_st *stream;
};

static void bed_init(struct bed *bed, const char *options)
{
    struct cuda_driver *driver = &bed->driver;
    struct error error;

    fake_gpu_play(options);
    assert_int_equal(cuda_driver_init(driver, &error), 0);
    assert_int_equal(driver->init(0), 0);
    assert_int_equal(driver->context_retain(&bed->context, 0), 0);
    assert_int_equal(driver->context_set(bed->context), 0);
    assert_int_equal(driver->module_load(&bed->module, "an image"), 0);
    assert_int_equal(driver->module_function(&bed->probe, bed->module, "gpu_probe"), 0);
    assert_int_equal(driver->stream_create(&bed->stream, CUDA_STREAM_NON_BLOCKING), 0);
}

static void bed_finish(struct bed *bed)
{
    struct cuda_driver *driver = &bed->driver;

    driver->stream_destroy(bed->stream);
    driver->module_unload(bed->module);
    driver->context_release(0);
    cuda_driver_finish(driver);
}

static int launch(const struct bed *bed, uint64_t input, uint64_t output, uint32_t count)
{
    void *parameters[] = {&input, &output, &count};

    return bed->driver.launch(bed->probe, (count + 63) / 64, 1, 1, 64, 1, 1, 0, bed->stream,
                              parameters, NULL);
}

static int wait_idle(const struct bed *bed)
{
    int64_t end_ns = clock_now_ns() + PATIENCE_NS;
    struct CUevent_st *event;
    int r = bed->driver.event_create(&event, 0);

    if (r == 0)
        r = bed->driver.event_record(event, bed->stream);
    while (r == 0 && (r = bed->driver.event_query(event)) == CUDA_ERROR_NOT_READY &&
           clock_now_ns() < end_ns) {
        r = 0;
    }
    bed->driver.event_destroy(event);
    return r;
}

TEST(test_kernel_outside_a_block_of_memory_loses_the_context)
{
    // In bytes from the start of a block of 4096: input, output; words.
    static const struct {
        int input, output;
        uint32_t count;
        int result;
    } cases[] = {
        {0, 2048, 512, 0},     {0, 2052, 512, 700}, {-4, 2048, 16, 700},
        {4096, 2048, 16, 700}, {0, 4092, 1, 0},     {0, 4092, 2, 700},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct bed bed;
        uint64_t block;

        bed_init(&bed, "");
        assert_int_equal(bed.driver.mem_alloc(&block, 4096), 0);
        assert_int_equal(launch(&bed, block + (uint64_t)cases[i].input,
                                block + (uint64_t)cases[i].output, cases[i].count),
                         0);
        assert_int_equal(wait_idle(&bed), cases[i].result);
        // Lost is lost: every call says so from now on.
        assert_int_equal(bed.driver.mem_free(block), cases[i].result);
        bed_finish(&bed);
    }
}

TEST(test_host_memory_is_for_kernels_once_it_is_registered)
{
    struct bed bed;
    uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t address;

    // Where the device has addresses of its own, as on the boards.
    bed_init(&bed, "board=agx-orin");
    assert_int_equal(bed.driver.host_address(&address, page, 0), 1);
    assert_int_equal(bed.driver.host_register(page, 4096, CUDA_HOST_DEVICEMAP), 0);
    assert_int_equal(bed.driver.host_register(page, 4096, CUDA_HOST_DEVICEMAP), 712);
    assert_int_equal(bed.driver.host_address(&address, page, 0), 0);
    assert_int_equal(launch(&bed, address, address + 2048, 512), 0);
    assert_int_equal(wait_idle(&bed), 0);
    assert_int_equal(page[2048], 0xff);
    assert_int_equal(bed.driver.host_unregister(page), 0);
    assert_int_equal(bed.driver.host_unregister(page), 713);
    assert_int_equal(launch(&bed, (uintptr_t)page, (uintptr_t)page + 2048, 512), 0);
    assert_int_equal(wait_idle(&bed), 700);
    bed_finish(&bed);
    munmap(page, 4096);
}

TEST(test_managed_memory_is_for_the_stream_it_is_attached_to)
{
    static const struct {
        const char *board;
        unsigned attach;
        int result;
    } cases[] = {
        {"board=orin-nano", CUDA_ATTACH_SINGLE, 0},
        {"board=orin-nano", CUDA_ATTACH_HOST, 700},
        {"board=orin-nano", CUDA_ATTACH_GLOBAL, 0},
        {"board=thor", CUDA_ATTACH_HOST, 0},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct bed bed;
        uint64_t block;

        bed_init(&bed, cases[i].board);
        assert_int_equal(bed.driver.mem_alloc_managed(&block, 4096, CUDA_ATTACH_HOST), 0);
        assert_int_equal(bed.driver.stream_attach(bed.stream, block, 0, cases[i].attach), 0);
        assert_int_equal(launch(&bed, block, block + 2048, 512), 0);
        assert_int_equal(wait_idle(&bed), cases[i].result);
        bed.driver.mem_free(block);
        bed_finish(&bed);
    }
}

static void touch_device_memory(const void *context)
{
    struct bed bed;
    uint64_t block;

    (void)context;
    bed_init(&bed, "board=h200");
    bed.driver.mem_alloc(&block, 4096);
    *(volatile uint8_t *)(uintptr_t)block = 1;
}

TEST(test_device_memory_is_not_for_the_cpu)
{
    char text[4096];
    int status = fake_gpu_run_child(touch_device_memory, NULL, text, sizeof text);

    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(text, "CPU touched device memory at 0x"));
}

TEST(test_what_is_not_released_is_told)
{
    struct bed bed;
    uint64_t block;

    bed_init(&bed, "");
    assert_int_equal(bed.driver.mem_alloc(&block, 100), 0);
    // The block, the stream, the module, the context.
    assert_int_equal(fake_gpu_leaks(), 4);
    assert_int_equal(bed.driver.mem_free(block), 0);
    assert_int_equal(fake_gpu_leaks(), 3);
    bed_finish(&bed);
    assert_int_equal(fake_gpu_leaks(), 0);
}

TEST(test_memory_ends_where_the_options_say)
{
    struct bed bed;
    uint64_t first, second;
    void *pinned;

    bed_init(&bed, "memory=12288");
    assert_int_equal(bed.driver.mem_alloc(&first, 4096), 0);
    assert_int_equal(bed.driver.host_alloc(&pinned, 4096, CUDA_HOST_DEVICEMAP), 0);
    assert_int_equal(bed.driver.mem_alloc_managed(&second, 4097, CUDA_ATTACH_HOST), 2);
    assert_int_equal(bed.driver.mem_alloc_managed(&second, 4096, CUDA_ATTACH_HOST), 0);
    assert_int_equal(bed.driver.mem_free(second), 0);
    assert_int_equal(bed.driver.host_free(pinned), 0);
    assert_int_equal(bed.driver.mem_free(first), 0);
    bed_finish(&bed);
}

TEST(test_blocks_beyond_a_kernels_registers_are_refused)
{
    struct bed bed;
    uint64_t block;
    uint32_t count = 16;
    int threads;

    // 128 registers of 65536: 512 threads.
    bed_init(&bed, "registers=gpu_:128");
    assert_int_equal(bed.driver.function_attribute(&threads, CUDA_FUNCTION_MAX_THREADS, bed.probe),
                     0);
    assert_int_equal(threads, 512);
    assert_int_equal(bed.driver.mem_alloc(&block, 4096), 0);
    void *parameters[] = {&block, &block, &count};
    assert_int_equal(
        bed.driver.launch(bed.probe, 1, 1, 1, 32, 16, 1, 0, bed.stream, parameters, NULL), 0);
    assert_int_equal(
        bed.driver.launch(bed.probe, 1, 1, 1, 32, 17, 1, 0, bed.stream, parameters, NULL), 701);
    assert_int_equal(
        bed.driver.launch(bed.probe, 1, 1, 1, 2048, 1, 1, 0, bed.stream, parameters, NULL), 1);
    assert_int_equal(bed.driver.mem_free(block), 0);
    bed_finish(&bed);
}

TEST(test_fault_comes_from_a_file_while_the_process_runs)
{
    char path[] = "/tmp/edged-fake-cuda-XXXXXX", options[128];
    int fd = mkstemp(path);
    struct bed bed;
    uint64_t block;

    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    snprintf(options, sizeof options, "trigger=%s", path);
    bed_init(&bed, options);
    assert_int_equal(bed.driver.mem_alloc(&block, 4096), 0);
    assert_int_equal(launch(&bed, block, block + 2048, 512), 0);
    assert_int_equal(wait_idle(&bed), 0);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    fputs("illegal=gpu_\n", file);
    fclose(file);
    assert_int_equal(launch(&bed, block, block + 2048, 512), 0);
    assert_int_equal(wait_idle(&bed), 700);
    assert_int_equal(access(path, F_OK), -1); // taken
    close(fd);
    bed_finish(&bed);
}

RUN_TESTS(NULL, fake_gpu_end)
