// What is decided at the start between GPU and CPU, what is said about it, and the block sizes.
#include "tests/unit/daemon/played_driver.h"

#include <pthread.h>

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

TEST(test_auto_asks_for_nvmm_on_a_board_with_an_encoder_alone, setup, teardown)
{
    for (int has_encoder = 0; has_encoder < 2; has_encoder++) {
        struct compute_settings settings = {.camera = "front",
                                            .memory = CONFIG_MEMORY_AUTO,
                                            .has_encoder = has_encoder,
                                            .changed = count_decision};
        struct compute *compute;

        surfaces_asked = 0;
        sem_init(&decisions, 0, 0);
        assert_int_equal(compute_new(&settings, &compute), 0);
        compute_start(compute);
        settle(compute);
        assert_int_equal(surfaces_asked, has_encoder);
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

RUN_TESTS(NULL, NULL)
