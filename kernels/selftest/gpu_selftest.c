#include "kernels/selftest/gpu_selftest.h"

#include "kernels/gpu/gpu_kernel.h"
#include "kernels/selftest/selftest.h"
#include "kernels/selftest/selftest_cuda.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define WAIT_NS NS_PER_S

// A test under way.
struct selftest_run {
    struct gpu *gpu;
    const struct selftest *test;
    const uint32_t *sizes;
    struct selftest_plan plan;
    uint8_t *buffer;   // owned; the input, then the output
    uint8_t *expected; // owned; what the output should be
    uint64_t memory;   // owned; of the device, as the buffer
};

const char *gpu_selftest_name(size_t index)
{
    const struct selftest *test = selftest_at(index);

    return test ? test->name : NULL;
}

const char *gpu_selftest_what(size_t index)
{
    const struct selftest *test = selftest_at(index);

    return test ? test->what : NULL;
}

static int check(const struct selftest_run *run, int result, const char *doing, struct error *error)
{
    return cuda_driver_check(gpu_driver(run->gpu), result, doing, error);
}

static void run_finish(struct selftest_run *run)
{
    if (run->memory && !gpu_is_lost(run->gpu))
        gpu_driver(run->gpu)->mem_free(run->memory);
    free(run->buffer);
    free(run->expected);
}

// Memory with the input in it, and zeros for the output.
static int run_prepare(struct selftest_run *run, struct error *error)
{
    const struct cuda_driver *driver = gpu_driver(run->gpu);
    size_t size;
    int r;

    run->plan = run->test->plan(run->sizes);
    size = run->plan.input_bytes + run->plan.output_bytes;
    run->buffer = calloc(1, size);
    run->expected = calloc(1, run->plan.output_bytes);
    if (!run->buffer || !run->expected)
        return error_set(error, -ENOMEM, "no memory for %zu bytes", size);
    if (run->test->fill)
        run->test->fill(run->sizes, run->buffer);
    run->test->expect(run->sizes, run->buffer, run->expected);
    r = check(run, driver->mem_alloc(&run->memory, size), "allocating memory", error);
    if (r < 0) {
        run->memory = 0;
        return r;
    }
    r = check(run, driver->copy_to_device(run->memory, run->buffer, size, gpu_stream(run->gpu)),
              "copying to the GPU", error);
    return r < 0 ? r : gpu_wait(run->gpu, clock_now_ns() + WAIT_NS, error);
}

static int run_launch(const struct selftest_run *run, struct error *error)
{
    const struct selftest_plan *plan = &run->plan;
    struct selftest_cuda parameters = {.input = run->memory,
                                       .output = run->memory + plan->input_bytes};
    struct CUfunc_st *kernel;
    int r = gpu_kernel(run->gpu, run->test->kernel, error, &kernel);

    memcpy(parameters.sizes, run->sizes, sizeof parameters.sizes);
    if (r == 0) {
        r = gpu_launch(run->gpu, kernel, (struct gpu_grid){plan->grid[0], plan->grid[1], 1},
                       plan->block[0], plan->block[1], &parameters, error);
    }
    return r < 0 ? r : gpu_wait(run->gpu, clock_now_ns() + WAIT_NS, error);
}

static int run_compute(struct selftest_run *run, struct error *error, int64_t *ret_took_ns)
{
    int r = run_prepare(run, error);
    int64_t start_ns = clock_now_ns();

    if (r == 0) {
        r = run_launch(run, error);
        *ret_took_ns = clock_now_ns() - start_ns;
    }
    if (r == 0) {
        uint64_t output = run->memory + run->plan.input_bytes;

        r = check(run,
                  gpu_driver(run->gpu)->copy_to_host(run->buffer + run->plan.input_bytes, output,
                                                     run->plan.output_bytes),
                  "copying from the GPU", error);
    }
    if (r == -ETIMEDOUT)
        gpu_lose(run->gpu);
    return r < 0 ? error_prefix(error, r, "self-test \"%s\"", run->test->name) : 0;
}

int gpu_selftest_run(struct gpu *gpu, size_t index, enum selftest_size size, struct error *error,
                     struct gpu_selftest_result *ret_result)
{
    const struct selftest *test = selftest_at(index);
    _cleanup_(run_finish) struct selftest_run run = {gpu, .test = test, .sizes = test->sizes[size]};
    struct gpu_selftest_result result = {0};
    struct selftest_texts texts;
    int r = run_compute(&run, error, &result.took_ns);

    if (r < 0)
        return r;
    if (!test->judge(run.sizes, run.buffer + run.plan.input_bytes, run.expected, &texts)) {
        return error_set(error, -EBADMSG,
                         "the GPU computes wrongly: self-test \"%s\" gave %s, expected %s",
                         test->name, texts.value, texts.expected);
    }
    memcpy(result.value, texts.value, sizeof result.value);
    *ret_result = result;
    return 0;
}

int gpu_selftest_start(struct gpu *gpu, struct error *error)
{
    struct gpu_selftest_result result;
    int r = 0;

    for (size_t i = 0; r == 0 && selftest_at(i); i++)
        r = gpu_selftest_run(gpu, i, SELFTEST_START, error, &result);
    return r;
}
