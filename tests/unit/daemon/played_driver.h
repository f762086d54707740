// The GPU as compute.c sees it, played for one test program: the functions of kernels/gpu/gpu.h and
// kernels/gpu/gpu_memory.h that it calls are these, so that a driver can answer late, badly or
// never.
#pragma once

#include "tests/unit/unit.h"

#include "daemon/camera/compute.h"
#include "kernels/gpu/gpu_memory.h"
#include "kernels/selftest/gpu_selftest.h"
#include "tests/unit/caught_stderr.h"
#include "tests/unit/daemon/no_surfaces.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct gpu {
    struct gpu_info info;
    atomic_bool lost;
};

struct gpu_memory {
    enum config_memory kind;
    struct frame_allocator allocator;
};

// How the driver behaves, and what became of what it gave.
static struct {
    int open_result, selftest_result;
    const char *open_error; // of either
    bool hangs;             // until `answer` is posted
    sem_t entered, answer;
    enum config_memory kind; // the one that passes its test
    const char *passed_over;
    atomic_int opened, gpus, memories;
} driver;

int gpu_new(struct error *error, struct gpu **ret_gpu)
{
    driver.opened++;
    if (driver.hangs) {
        sem_post(&driver.entered);
        sem_wait(&driver.answer);
    }
    if (driver.open_result) {
        return error_set(error, driver.open_result, "%s", driver.open_error);
    }
    *ret_gpu = calloc(1, sizeof **ret_gpu);
    (*ret_gpu)->info = (struct gpu_info){.name = "Board",
                                         .sm = 87,
                                         .multiprocessors = 16,
                                         .driver_version = 11040,
                                         .integrated = true,
                                         .can_map_host = true,
                                         .can_register = true,
                                         .can_manage = true};
    driver.gpus++;
    return 0;
}

void gpu_free(struct gpu *gpu)
{
    driver.gpus -= gpu != NULL;
    free(gpu);
}

void gpu_lose(struct gpu *gpu)
{
    gpu->lost = true;
}

bool gpu_is_lost(const struct gpu *gpu)
{
    return gpu->lost;
}

int gpu_selftest_start(struct gpu *gpu, struct error *error)
{
    gpu->lost = driver.selftest_result == -ETIMEDOUT;
    return driver.selftest_result
               ? error_set(error, driver.selftest_result, "%s", driver.open_error)
               : 0;
}

const struct gpu_info *gpu_info(const struct gpu *gpu)
{
    return &gpu->info;
}

int gpu_memory_new(struct gpu *gpu, enum config_memory wanted, struct error *why,
                   struct gpu_memory **ret_memory)
{
    assert_non_null(gpu);
    assert_int_not_equal(wanted, CONFIG_MEMORY_HOST);
    if (driver.passed_over) {
        error_set(why, 0, "%s", driver.passed_over);
    }
    *ret_memory = calloc(1, sizeof **ret_memory);
    (*ret_memory)->kind = driver.kind;
    (*ret_memory)->allocator.kind = config_memory_name(driver.kind);
    driver.memories++;
    return 0;
}

void gpu_memory_free(struct gpu_memory *memory)
{
    driver.memories -= memory != NULL;
    free(memory);
}

enum config_memory gpu_memory_kind(const struct gpu_memory *memory)
{
    return memory->kind;
}

const struct frame_allocator *gpu_memory_allocator(const struct gpu_memory *memory)
{
    return &memory->allocator;
}

static inline int setup(void **state)
{
    memset(&driver, 0, sizeof driver);
    sem_init(&driver.entered, 0, 0);
    sem_init(&driver.answer, 0, 0);
    driver.kind = CONFIG_MEMORY_REGISTERED;
    catch_stderr();
    (void)state;
    return 0;
}

static inline int teardown(void **state)
{
    release_stderr();
    sem_destroy(&driver.answer);
    sem_destroy(&driver.entered);
    assert_int_equal(driver.gpus, 0);
    assert_int_equal(driver.memories, 0);
    (void)state;
    return 0;
}

static inline void assert_log(const char *expected)
{
    static char text[4096];
    ssize_t size = pread(fileno(caught), text, sizeof text - 1, 0);

    assert_true(size >= 0);
    text[size] = 0;
    assert_string_equal(text, expected);
}

static sem_t decisions;

static inline void count_decision(void *context)
{
    (void)context;
    sem_post(&decisions);
}

static inline struct compute *make(enum config_backend backend, enum config_memory memory)
{
    struct compute_settings settings = {
        .camera = "front", .backend = backend, .memory = memory, .changed = count_decision};
    struct compute *compute;

    sem_init(&decisions, 0, 0);
    assert_int_equal(compute_new(&settings, &compute), 0);
    return compute;
}

// Waits until the thread has come out of the driver.
static inline void settle(struct compute *compute)
{
    assert_int_equal(compute_wait(compute, clock_now_ns() + 10 * NS_PER_S), 0);
}

static inline struct compute *start(enum config_backend backend, enum config_memory memory)
{
    struct compute *compute = make(backend, memory);

    compute_start(compute);
    settle(compute);
    return compute;
}

static inline void assert_status(struct compute *compute, const char *backend, const char *gpu)
{
    struct link_telemetry telemetry;

    compute_describe(compute, &telemetry);
    assert_string_equal(telemetry.backend, backend);
    assert_string_equal(telemetry.gpu, gpu);
}

static inline void assert_computes_on_cpu(struct compute *compute, const char *reason)
{
    struct compute_means means;

    assert_true(compute_ask(compute, clock_now_ns(), &means));
    assert_null(means.gpu);
    assert_string_equal(means.allocator->kind, "host");
    assert_status(compute, "CPU", reason);
}

static inline void assert_computes_on_gpu(struct compute *compute, const char *memory)
{
    struct compute_means means;

    assert_true(compute_ask(compute, clock_now_ns(), &means));
    assert_non_null(means.gpu);
    assert_string_equal(means.allocator->kind, memory);
    assert_status(compute, "CUDA sm_87", "Board");
}

#define FACTS                                                                                      \
    "edged: front: GPU Board: sm_87, 16 multiprocessors, integrated, no concurrent managed "       \
    "access, memory: registered pinned managed, driver for CUDA 11.4, using it\n"
