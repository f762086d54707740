// A camera's GPU, on a played driver: one that is there, comes late, is tried again, given up or
// lost.
#include "tests/unit/caught_stderr.h"
#include "tests/unit/daemon/no_surfaces.h"
#include "tests/unit/stopwatch.h"
#include "tests/unit/unit.h"

#include "daemon/camera/compute.h"
#include "kernels/gpu/gpu_memory.h"
#include "kernels/selftest/gpu_selftest.h"

#include <errno.h>
#include <pthread.h>
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
    bool lacks_memory;
    atomic_int opened, gpus, memories;
} driver;

int gpu_new(struct error *error, struct gpu **ret_gpu)
{
    driver.opened++;
    if (driver.hangs) {
        sem_post(&driver.entered);
        sem_wait(&driver.answer);
    }
    if (driver.open_result)
        return error_set(error, driver.open_result, "%s", driver.open_error);
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
    if (driver.passed_over)
        error_set(why, 0, "%s", driver.passed_over);
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

int gpu_memory_take_failure(struct gpu_memory *memory, struct error *ret_why)
{
    (void)memory;
    return driver.lacks_memory ? error_set(ret_why, -ENOMEM, "no room for a frame") : 0;
}

int gpu_wait(struct gpu *gpu, int64_t deadline_ns, struct error *error)
{
    assert_true(deadline_ns > clock_now_ns());
    return gpu->lost ? error_set(error, -ENOTRECOVERABLE, "it does not answer") : 0;
}

static int setup(void **state)
{
    memset(&driver, 0, sizeof driver);
    sem_init(&driver.entered, 0, 0);
    sem_init(&driver.answer, 0, 0);
    driver.kind = CONFIG_MEMORY_REGISTERED;
    catch_stderr();
    (void)state;
    return 0;
}

static int teardown(void **state)
{
    release_stderr();
    sem_destroy(&driver.answer);
    sem_destroy(&driver.entered);
    assert_int_equal(driver.gpus, 0);
    assert_int_equal(driver.memories, 0);
    (void)state;
    return 0;
}

static void assert_log(const char *expected)
{
    static char text[4096];
    ssize_t size = pread(fileno(caught), text, sizeof text - 1, 0);

    assert_true(size >= 0);
    text[size] = 0;
    assert_string_equal(text, expected);
}

static sem_t decisions;

static void count_decision(void *context)
{
    (void)context;
    sem_post(&decisions);
}

static struct compute *make(enum config_backend backend, enum config_memory memory, bool is_jetson)
{
    static struct config_camera camera = {.name = "front"};
    static struct config config = {.cameras = &camera, .camera_count = 1};
    struct compute *compute;

    config.backend = backend;
    config.memory = memory;
    sem_init(&decisions, 0, 0);
    assert_int_equal(compute_new(&config, is_jetson, count_decision, NULL, &compute), 0);
    return compute;
}

// Waits until the thread has come out of the driver.
static void settle(struct compute *compute)
{
    assert_int_equal(compute_wait(compute, clock_now_ns() + PATIENCE_NS), 0);
}

static struct compute *start(enum config_backend backend, enum config_memory memory)
{
    struct compute *compute = make(backend, memory, false);

    compute_start(compute);
    settle(compute);
    return compute;
}

static void assert_status(struct compute *compute, const char *backend, const char *gpu)
{
    struct link_telemetry telemetry;

    compute_describe(compute, &telemetry);
    assert_string_equal(telemetry.backend, backend);
    assert_string_equal(telemetry.gpu, gpu);
}

static void assert_computes_on_cpu(struct compute *compute, const char *reason)
{
    struct compute_means means;

    assert_true(compute_ask(compute, clock_now_ns(), &means));
    assert_null(means.gpu);
    assert_string_equal(means.allocator->kind, "host");
    assert_status(compute, "CPU", reason);
}

static void assert_computes_on_gpu(struct compute *compute, const char *memory)
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

TEST(test_a_gpu_computes_and_its_facts_are_told_once, setup, teardown)
{
    struct compute *compute = start(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_AUTO);

    assert_computes_on_gpu(compute, "registered");
    assert_int_equal(sem_trywait(&decisions), 0);
    assert_log(FACTS);
    compute_free(compute);
}

TEST(test_without_a_driver_auto_says_so_in_one_line, setup, teardown)
{
    driver.open_result = -ENODEV;
    driver.open_error = "no CUDA driver: libcuda.so.1";
    struct compute *compute = start(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_AUTO);

    assert_computes_on_cpu(compute, "no CUDA driver: libcuda.so.1");
    assert_int_equal(sem_trywait(&decisions), 0);
    assert_log("edged: front: no CUDA driver: libcuda.so.1, using the CPU\n");
    compute_free(compute);
}

TEST(test_a_jetsons_missing_devices_may_come_and_no_others, setup, teardown)
{
    driver.open_result = -ENODEV;
    driver.open_error = "no CUDA device";
    for (int is_jetson = 0; is_jetson < 2; is_jetson++) {
        struct compute *compute = make(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_AUTO, is_jetson);
        struct link_telemetry telemetry;

        compute_start(compute);
        settle(compute);
        compute_describe(compute, &telemetry);
        assert_int_equal(telemetry.gpu_may_return, is_jetson);
        compute_free(compute);
    }
}

TEST(test_a_wish_for_cuda_and_its_memory_is_answered_with_a_warning, setup, teardown)
{
    driver.open_result = -ENODEV;
    driver.open_error = "no CUDA driver";
    struct compute *compute = start(CONFIG_BACKEND_CUDA, CONFIG_MEMORY_MANAGED);

    assert_computes_on_cpu(compute, "no CUDA driver");
    assert_log("edged: warning: front: backend = \"cuda\": no CUDA driver, using the CPU and host "
               "memory instead of \"managed\"\n");
    compute_free(compute);
}

TEST(test_backend_cpu_leaves_the_driver_alone, setup, teardown)
{
    struct compute *compute = start(CONFIG_BACKEND_CPU, CONFIG_MEMORY_AUTO);

    assert_computes_on_cpu(compute, "backend = \"cpu\"");
    assert_int_equal(driver.opened, 0);
    assert_log("edged: front: backend = \"cpu\", using the CPU\n");
    compute_free(compute);
}

TEST(test_host_memory_means_the_cpu, setup, teardown)
{
    struct compute *compute = start(CONFIG_BACKEND_CUDA, CONFIG_MEMORY_HOST);

    assert_computes_on_cpu(compute, "memory = \"host\" is not for a GPU");
    assert_int_equal(driver.opened, 0);
    assert_log("edged: warning: front: backend = \"cuda\": memory = \"host\" is not for a GPU, "
               "using the CPU\n");
    compute_free(compute);
}

TEST(test_a_kind_of_memory_passed_over_is_told_with_the_one_used, setup, teardown)
{
    driver.kind = CONFIG_MEMORY_PINNED;
    driver.passed_over = "registered memory: CPU and GPU see different bytes";
    struct compute *compute = start(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_REGISTERED);

    assert_computes_on_gpu(compute, "pinned");
    assert_log(FACTS "edged: warning: front: registered memory: CPU and GPU see different bytes, "
                     "using pinned memory\n");
    compute_free(compute);
}

TEST(test_nvmm_that_is_not_there_leaves_registered_memory, setup, teardown)
{
    struct compute *compute = start(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_NVMM);
    struct compute_means means;

    assert_computes_on_gpu(compute, "registered");
    assert_true(compute_ask(compute, clock_now_ns(), &means));
    assert_null(means.surfaces);
    assert_log(FACTS "edged: warning: front: nvmm memory: no such library, using registered "
                     "memory\n");
    compute_free(compute);
}

TEST(test_auto_asks_for_nvmm_on_a_jetson_alone, setup, teardown)
{
    for (int is_jetson = 0; is_jetson < 2; is_jetson++) {
        struct compute *compute = make(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_AUTO, is_jetson);

        surfaces_asked = 0;
        compute_start(compute);
        settle(compute);
        assert_int_equal(surfaces_asked, is_jetson);
        compute_free(compute);
    }
}

TEST(test_a_gpu_without_memory_to_share_is_no_use, setup, teardown)
{
    driver.kind = CONFIG_MEMORY_HOST;
    driver.passed_over = "managed memory: this GPU has none";
    struct compute *compute = start(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_AUTO);

    assert_computes_on_cpu(compute, "Board: CPU and GPU share no memory: managed memory: this GPU "
                                    "has none");
    compute_free(compute);
}

TEST(test_a_gpu_that_computes_wrongly_is_refused_for_good, setup, teardown)
{
    driver.selftest_result = -EBADMSG;
    driver.open_error = "the GPU computes wrongly: self-test \"lucas\" gave L(40) = 1";
    struct compute *compute = start(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_AUTO);
    struct link_telemetry telemetry;

    assert_computes_on_cpu(compute, "the GPU computes wrongly: self-test \"lucas\" gave L(40) = 1");
    assert_log(
        "edged: warning: front: the GPU computes wrongly: self-test \"lucas\" gave L(40) = 1, "
        "using the CPU\n");
    assert_false(compute_has_lost(compute));
    compute_describe(compute, &telemetry);
    assert_false(telemetry.gpu_may_return);
    compute_free(compute);
}

TEST(test_a_driver_that_does_not_answer_is_waited_for_10_s, setup, teardown)
{
    struct compute *compute = make(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_AUTO, false);
    struct compute_means means;
    int64_t begun = clock_now_ns();

    driver.hangs = true;
    compute_start(compute);
    sem_wait(&driver.entered);
    assert_false(compute_ask(compute, begun + 9 * NS_PER_S, &means));
    assert_status(compute, "", "");
    assert_true(compute_ask(compute, clock_now_ns() + 10 * NS_PER_S, &means));
    assert_null(means.gpu);
    assert_computes_on_cpu(compute, "the GPU driver did not answer within 10 s");
    assert_int_equal(sem_trywait(&decisions), 0);
    assert_log("edged: front: the GPU driver did not answer within 10 s, using the CPU\n");

    // While the thread hangs the process cannot be wound up, and no second one goes after it.
    assert_int_equal(compute_wait(compute, clock_now_ns()), -ETIMEDOUT);
    compute_try(compute, CONFIG_BACKEND_CUDA);
    assert_int_equal(driver.opened, 1);

    // A GPU that comes late is given back; the next try is a new one.
    sem_post(&driver.answer);
    settle(compute);
    assert_int_equal(driver.gpus, 0);
    assert_int_equal(driver.memories, 0);
    assert_computes_on_cpu(compute, "the GPU driver did not answer within 10 s");
    driver.hangs = false;
    compute_try(compute, CONFIG_BACKEND_AUTO);
    settle(compute);
    assert_computes_on_gpu(compute, "registered");
    compute_free(compute);
}

TEST(test_a_failure_that_comes_late_changes_nothing, setup, teardown)
{
    struct compute *compute = make(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_AUTO, false);
    struct compute_means means;

    driver.hangs = true;
    driver.open_result = -EIO;
    driver.open_error = "late";
    compute_start(compute);
    assert_true(compute_ask(compute, clock_now_ns() + 10 * NS_PER_S, &means));
    sem_post(&driver.answer);
    settle(compute);
    assert_computes_on_cpu(compute, "the GPU driver did not answer within 10 s");
    assert_log("edged: front: the GPU driver did not answer within 10 s, using the CPU\n");
    compute_free(compute);
}

TEST(test_the_cpu_computes_until_a_tried_gpu_is_open, setup, teardown)
{
    struct compute *compute = start(CONFIG_BACKEND_CPU, CONFIG_MEMORY_PINNED);

    driver.hangs = true;
    driver.kind = CONFIG_MEMORY_PINNED;
    compute_try(compute, CONFIG_BACKEND_AUTO);
    compute_try(compute, CONFIG_BACKEND_AUTO);
    assert_computes_on_cpu(compute, "backend = \"cpu\"");
    sem_post(&driver.answer);
    settle(compute);
    assert_computes_on_gpu(compute, "pinned");
    compute_try(compute, CONFIG_BACKEND_AUTO);
    settle(compute);
    assert_int_equal(driver.opened, 1);
    compute_free(compute);
}

TEST(test_a_try_that_fails_is_told_once_for_each_reason, setup, teardown)
{
    struct compute *compute = start(CONFIG_BACKEND_CPU, CONFIG_MEMORY_AUTO);

    driver.open_result = -EIO;
    driver.open_error = "the GPU fell off the bus";
    for (int i = 0; i < 3; i++) {
        compute_try(compute, CONFIG_BACKEND_CUDA);
        settle(compute);
    }
    assert_int_equal(driver.opened, 3);
    assert_computes_on_cpu(compute, "the GPU fell off the bus");
    assert_log("edged: front: backend = \"cpu\", using the CPU\n"
               "edged: warning: front: backend = \"cuda\": the GPU fell off the bus, using the "
               "CPU\n");
    compute_free(compute);
}

TEST(test_a_gpu_given_up_is_kept_and_can_be_tried_again, setup, teardown)
{
    struct compute *compute = start(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_AUTO);

    struct error why = {.text = "view \"edges\""};

    assert_int_equal(compute_blame(compute, -EIO, false, &why), 0); // the camera's
    driver.lacks_memory = true;
    assert_int_equal(compute_blame(compute, -EIO, false, &why), -ENOMEM);
    assert_computes_on_cpu(compute,
                           "the GPU is out of memory: view \"edges\": no room for a frame");
    assert_int_equal(driver.gpus, 1); // frames in its memory may still be out
    assert_log(FACTS "edged: front: the GPU is out of memory: view \"edges\": no room for a frame, "
                     "using the CPU\n");
    compute_try(compute, CONFIG_BACKEND_AUTO);
    assert_computes_on_gpu(compute, "registered");
    assert_int_equal(driver.opened, 1);
    compute_free(compute);
}

TEST(test_a_lost_gpu_is_named_and_not_tried_again, setup, teardown)
{
    struct compute *compute = start(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_AUTO);
    struct compute_means means;

    assert_true(compute_ask(compute, clock_now_ns(), &means));
    compute_lose(compute, "an illegal memory access");
    assert_true(gpu_is_lost(means.gpu));
    assert_status(compute, "", "an illegal memory access");
    compute_try(compute, CONFIG_BACKEND_AUTO);
    assert_int_equal(driver.opened, 1);
    compute_free(compute);
}

TEST(test_a_gpu_that_ends_no_self_test_is_left_alone, setup, teardown)
{
    struct link_telemetry telemetry;

    driver.selftest_result = -ETIMEDOUT;
    driver.open_error = "self-test \"pi\": the GPU is not done in time";
    struct compute *compute = start(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_AUTO);
    assert_computes_on_cpu(compute, "self-test \"pi\": the GPU is not done in time");
    assert_true(compute_has_lost(compute));
    compute_describe(compute, &telemetry);
    assert_false(telemetry.gpu_may_return);
    compute_try(compute, CONFIG_BACKEND_AUTO);
    settle(compute);
    assert_int_equal(driver.opened, 1);
    compute_free(compute);
}

RUN_TESTS(NULL, NULL)
