// Decides between GPU and CPU, and says why. The GPU is played here: the functions of kernels/gpu.h
// and kernels/gpu_memory.h that compute.c calls are these, so that a driver can answer late, badly
// or never.

#include "daemon/camera/compute.h"

#include "kernels/gpu_memory.h"

#include <errno.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

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
    int open_result;
    const char *open_error;
    bool hangs; // until `answer` is posted
    sem_t entered, answer;
    enum config_memory kind; // the one that passes its test
    const char *passed_over;
    atomic_int opened, gpus, memories;
} driver;

// Whose context is current in the thread.
static __thread const struct gpu *entered;

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
    entered = *ret_gpu;
    return 0;
}

int gpu_enter(const struct gpu *gpu, struct error *error)
{
    assert_false(gpu->lost);
    entered = gpu;
    (void)error;
    return 0;
}

// In the context of the GPU, which is current where it was made or entered.
void gpu_free(struct gpu *gpu)
{
    assert_true(!gpu || gpu->lost || entered == gpu);
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

// stderr, caught in a file: what the log said.
static FILE *caught;
static int stderr_before;

static int setup(void **state)
{
    memset(&driver, 0, sizeof driver);
    sem_init(&driver.entered, 0, 0);
    sem_init(&driver.answer, 0, 0);
    driver.kind = CONFIG_MEMORY_REGISTERED;
    caught = tmpfile();
    assert_non_null(caught);
    fflush(stderr);
    stderr_before = dup(2);
    assert_int_equal(dup2(fileno(caught), 2), 2);
    (void)state;
    return 0;
}

static int teardown(void **state)
{
    dup2(stderr_before, 2);
    close(stderr_before);
    fclose(caught);
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

static struct compute *make(enum config_backend backend, enum config_memory memory)
{
    static const struct config_block blocks[CONFIG_KERNEL_COUNT] = {{32, 8}};
    struct compute_settings settings = {.camera = "front",
                                        .backend = backend,
                                        .memory = memory,
                                        .blocks = blocks,
                                        .changed = count_decision};
    struct compute *compute;

    sem_init(&decisions, 0, 0);
    assert_int_equal(compute_new(&settings, &compute), 0);
    return compute;
}

// Waits until the thread has come out of the driver.
static void settle(struct compute *compute)
{
    assert_int_equal(compute_wait(compute, clock_now_ns() + 10 * NS_PER_S), 0);
}

static struct compute *start(enum config_backend backend, enum config_memory memory)
{
    struct compute *compute = make(backend, memory);

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

static void test_a_gpu_computes_and_its_facts_are_told_once(void **state)
{
    struct compute *compute = start(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_AUTO);

    assert_computes_on_gpu(compute, "registered");
    assert_int_equal(sem_trywait(&decisions), 0);
    assert_log(FACTS);
    compute_free(compute);
    (void)state;
}

static void test_without_a_driver_auto_says_so_in_one_line(void **state)
{
    driver.open_result = -ENODEV;
    driver.open_error = "no CUDA driver: libcuda.so.1";
    struct compute *compute = start(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_AUTO);

    assert_computes_on_cpu(compute, "no CUDA driver: libcuda.so.1");
    assert_int_equal(sem_trywait(&decisions), 0);
    assert_log("edged: front: no CUDA driver: libcuda.so.1, using the CPU\n");
    compute_free(compute);
    (void)state;
}

static void test_a_wish_for_cuda_and_its_memory_is_answered_with_a_warning(void **state)
{
    driver.open_result = -ENODEV;
    driver.open_error = "no CUDA driver";
    struct compute *compute = start(CONFIG_BACKEND_CUDA, CONFIG_MEMORY_MANAGED);

    assert_computes_on_cpu(compute, "no CUDA driver");
    assert_log("edged: warning: front: backend = \"cuda\": no CUDA driver, using the CPU and host "
               "memory instead of \"managed\"\n");
    compute_free(compute);
    (void)state;
}

static void test_backend_cpu_leaves_the_driver_alone(void **state)
{
    struct compute *compute = start(CONFIG_BACKEND_CPU, CONFIG_MEMORY_AUTO);

    assert_computes_on_cpu(compute, "backend = \"cpu\"");
    assert_int_equal(driver.opened, 0);
    assert_log("edged: front: backend = \"cpu\", using the CPU\n");
    compute_free(compute);
    (void)state;
}

static void test_host_memory_means_the_cpu(void **state)
{
    struct compute *compute = start(CONFIG_BACKEND_CUDA, CONFIG_MEMORY_HOST);

    assert_computes_on_cpu(compute, "memory = \"host\" is not for a GPU");
    assert_int_equal(driver.opened, 0);
    assert_log("edged: warning: front: backend = \"cuda\": memory = \"host\" is not for a GPU, "
               "using the CPU\n");
    compute_free(compute);
    (void)state;
}

static void test_a_kind_of_memory_passed_over_is_told_with_the_one_used(void **state)
{
    driver.kind = CONFIG_MEMORY_PINNED;
    driver.passed_over = "registered memory: CPU and GPU see different bytes";
    struct compute *compute = start(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_REGISTERED);

    assert_computes_on_gpu(compute, "pinned");
    assert_log(FACTS "edged: warning: front: registered memory: CPU and GPU see different bytes, "
                     "using pinned memory\n");
    compute_free(compute);
    (void)state;
}

static void test_a_gpu_without_memory_to_share_is_no_use(void **state)
{
    driver.kind = CONFIG_MEMORY_HOST;
    driver.passed_over = "managed memory: this GPU has none";
    struct compute *compute = start(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_AUTO);

    assert_computes_on_cpu(compute, "Board: CPU and GPU share no memory, the last kind tried: "
                                    "managed memory: this GPU has none");
    compute_free(compute);
    (void)state;
}

static void test_a_driver_that_does_not_answer_is_waited_for_10_s(void **state)
{
    struct compute *compute = make(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_AUTO);
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

    // What comes late is given back; the next try is a new one.
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
    (void)state;
}

static void test_a_failure_that_comes_late_changes_nothing(void **state)
{
    struct compute *compute = make(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_AUTO);
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
    (void)state;
}

static void test_the_cpu_computes_until_a_tried_gpu_is_open(void **state)
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
    (void)state;
}

static void test_a_try_that_fails_is_told_once_for_each_reason(void **state)
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
    (void)state;
}

static void test_a_gpu_given_up_is_kept_and_can_be_tried_again(void **state)
{
    struct compute *compute = start(CONFIG_BACKEND_AUTO, CONFIG_MEMORY_AUTO);

    compute_give_up(compute, "out of memory");
    assert_computes_on_cpu(compute, "out of memory");
    assert_int_equal(driver.gpus, 1); // frames in its memory may still be out
    assert_log(FACTS "edged: front: out of memory, using the CPU\n");
    compute_try(compute, CONFIG_BACKEND_AUTO);
    assert_computes_on_gpu(compute, "registered");
    assert_int_equal(driver.opened, 1);
    compute_free(compute);
    (void)state;
}

static void test_a_lost_gpu_is_named_and_not_tried_again(void **state)
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
    (void)state;
}

static void test_blocks_are_taken_once_the_newest_first_of_all(void **state)
{
    static const struct config_block other[CONFIG_KERNEL_COUNT] = {{64, 4}},
                                     newest[CONFIG_KERNEL_COUNT] = {{128, 2}};
    struct compute *compute = make(CONFIG_BACKEND_CPU, CONFIG_MEMORY_AUTO);
    struct config_block blocks[CONFIG_KERNEL_COUNT];

    assert_true(compute_take_blocks(compute, blocks));
    assert_int_equal(blocks[0].x, 32);
    assert_int_equal(blocks[0].y, 8);
    assert_false(compute_take_blocks(compute, blocks));
    compute_set_blocks(compute, other);
    compute_set_blocks(compute, newest);
    assert_true(compute_take_blocks(compute, blocks));
    assert_memory_equal(blocks, newest, sizeof blocks);
    assert_false(compute_take_blocks(compute, blocks));
    compute_free(compute);
    (void)state;
}

// One thread sets blocks whose x and y agree, the other must never see two halves.
static void *set_many_blocks(void *context)
{
    for (int i = 1; i <= 2000; i++) {
        struct config_block blocks[CONFIG_KERNEL_COUNT];

        for (int kernel = 0; kernel < CONFIG_KERNEL_COUNT; kernel++) {
            blocks[kernel] = (struct config_block){i, i};
        }
        compute_set_blocks(context, blocks);
    }
    return NULL;
}

static void test_blocks_set_in_another_thread_are_never_torn(void **state)
{
    struct compute *compute = make(CONFIG_BACKEND_CPU, CONFIG_MEMORY_AUTO);
    struct config_block blocks[CONFIG_KERNEL_COUNT];
    pthread_t thread;

    assert_true(compute_take_blocks(compute, blocks));
    assert_int_equal(pthread_create(&thread, NULL, set_many_blocks, compute), 0);
    do {
        if (compute_take_blocks(compute, blocks)) {
            for (int kernel = 0; kernel < CONFIG_KERNEL_COUNT; kernel++) {
                assert_int_equal(blocks[kernel].x, blocks[0].x);
                assert_int_equal(blocks[kernel].y, blocks[0].x);
            }
        }
    } while (blocks[0].x < 2000);
    pthread_join(thread, NULL);
    compute_free(compute);
    (void)state;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_gpu_computes_and_its_facts_are_told_once),
        TEST(test_without_a_driver_auto_says_so_in_one_line),
        TEST(test_a_wish_for_cuda_and_its_memory_is_answered_with_a_warning),
        TEST(test_backend_cpu_leaves_the_driver_alone),
        TEST(test_host_memory_means_the_cpu),
        TEST(test_a_kind_of_memory_passed_over_is_told_with_the_one_used),
        TEST(test_a_gpu_without_memory_to_share_is_no_use),
        TEST(test_a_driver_that_does_not_answer_is_waited_for_10_s),
        TEST(test_a_failure_that_comes_late_changes_nothing),
        TEST(test_the_cpu_computes_until_a_tried_gpu_is_open),
        TEST(test_a_try_that_fails_is_told_once_for_each_reason),
        TEST(test_a_gpu_given_up_is_kept_and_can_be_tried_again),
        TEST(test_a_lost_gpu_is_named_and_not_tried_again),
        TEST(test_blocks_are_taken_once_the_newest_first_of_all),
        TEST(test_blocks_set_in_another_thread_are_never_torn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
