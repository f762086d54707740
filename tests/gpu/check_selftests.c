// The self-tests of the GPU, in both sizes, and the time that those at the start take.
#include "kernels/selftest/gpu_selftest.h"
#include "tests/gpu/check.h"

#include <stdio.h>

#define START_NS (50 * NS_PER_MS) // what opening a GPU may wait for them

static void check_size(struct check *check, enum selftest_size size)
{
    for (size_t i = 0; gpu_selftest_name(i); i++) {
        struct gpu_selftest_result result;
        struct error error = {0};

        if (gpu_selftest_run(check->gpu, i, size, &error, &result) < 0) {
            check_failed(check, "self-tests", &error);
            continue;
        }
        check->compared++;
        if (size == SELFTEST_FULL) {
            printf("  %-8s %9.3f ms  %s\n", gpu_selftest_name(i),
                   (double)result.took_ns / NS_PER_MS, result.value);
        }
    }
}

void check_selftests(struct check *check)
{
    struct error error = {0};
    int64_t start_ns = clock_now_ns(), took_ns;

    check_size(check, SELFTEST_START); // kernels are loaded by their first launch
    took_ns = clock_now_ns() - start_ns;
    printf("  at the start %.1f ms\n", (double)took_ns / NS_PER_MS);
    if (!check->quick && took_ns > START_NS) {
        error_set(&error, 0, "took longer than %d ms", (int)(START_NS / NS_PER_MS));
        check_failed(check, "self-tests at the start", &error);
    }
    check_size(check, check->quick ? SELFTEST_START : SELFTEST_FULL);
}
