// The self-tests find a GPU that computes wrongly, and name what it got wrong.
#include "kernels/selftest/gpu_selftest.h"

#include "tests/unit/fake_gpu.h"

#include <errno.h>

#define TESTS 6

static const char *const names[TESTS] = {"sum", "lucas", "pi", "matrix", "vector", "gray"};

TEST(test_the_tests_are_those_of_the_tutorials)
{
    for (size_t i = 0; i < TESTS; i++) {
        assert_string_equal(gpu_selftest_name(i), names[i]);
        assert_true(gpu_selftest_what(i)[0] != '\0');
    }
    assert_null(gpu_selftest_name(TESTS));
    assert_null(gpu_selftest_what(TESTS));
}

// The tutorials' results; how many of the first 2^16 and 2^24 points are inside is from a program
// in Python.
TEST(test_known_answers_come_out_of_a_gpu_that_works)
{
    static const char *const values[SELFTEST_SIZES][TESTS] = {
        {"24950025000.0", "L(40) = 228826127", "3.15533, 51697 of 65536 points",
         "1155 numbers, as the CPU", "1027 numbers, as the CPU", "1027 numbers, as the CPU"},
        {"249950002500000.0", "L(40) = 228826127", "3.14129, 13175532 of 16777216 points",
         "196479 numbers, as the CPU", "4194301 numbers, as the CPU",
         "2073599 numbers, as the CPU"},
    };
    struct gpu *gpu = fake_gpu_open("");
    struct error error = {0};

    for (enum selftest_size size = 0; size < SELFTEST_SIZES; size++) {
        for (size_t i = 0; i < TESTS; i++) {
            struct gpu_selftest_result result;

            if (gpu_selftest_run(gpu, i, size, &error, &result) < 0)
                fail_msg("%s", error.text);
            assert_string_equal(result.value, values[size][i]);
            assert_true(result.took_ns > 0);
        }
    }
    gpu_free(gpu);
    assert_int_equal(fake_gpu_leaks(), 0);
}

// One bit of the last number is wrong.
TEST(test_wrong_result_is_refused_with_its_name_and_both_numbers)
{
    static const char *const texts[TESTS] = {
        "self-test \"sum\" gave 24950025000.1, expected 24950025000.0",
        "self-test \"lucas\" gave L(40) = 228826126, expected 228826127",
        "self-test \"pi\" gave 3.15527, 51696 of 65536 points, expected 3.14159 +- 0.02566, 51697",
        "self-test \"matrix\" gave ",
        "self-test \"vector\" gave ",
        "self-test \"gray\" gave ",
    };
    for (size_t i = 0; i < TESTS; i++) {
        char options[64], begin[128];
        struct error error = {0};
        struct gpu *gpu;

        snprintf(options, sizeof options, "wrong=selftest_%s", names[i]);
        snprintf(begin, sizeof begin, "the GPU computes wrongly: %s", texts[i]);
        gpu = fake_gpu_open(options);
        assert_int_equal(gpu_selftest_start(gpu, &error), -EBADMSG);
        if (strncmp(error.text, begin, strlen(begin)) != 0)
            fail_msg("%s", error.text);
        assert_non_null(strstr(error.text, ", expected "));
        gpu_free(gpu);
        assert_int_equal(fake_gpu_leaks(), 0);
    }
}

TEST(test_last_of_many_numbers_is_looked_at)
{
    struct gpu *gpu = fake_gpu_open("wrong=selftest_");
    static const char *const last[TESTS] = {
        [3] = " as number 1154,", [4] = " as number 1026,", [5] = " as number 1026,"};

    for (size_t i = 3; i < TESTS; i++) {
        struct gpu_selftest_result result;
        struct error error = {0};

        assert_int_equal(gpu_selftest_run(gpu, i, SELFTEST_START, &error, &result), -EBADMSG);
        assert_non_null(strstr(error.text, last[i]));
    }
    gpu_free(gpu);
}

TEST(test_gpu_that_does_not_end_a_test_is_lost)
{
    struct gpu *gpu = fake_gpu_open("hang=selftest_pi");
    struct error error = {0};

    assert_int_equal(gpu_selftest_start(gpu, &error), -ETIMEDOUT);
    assert_string_equal(error.text, "self-test \"pi\": the GPU is not done in time");
    assert_true(gpu_is_lost(gpu));
    gpu_free(gpu); // would wait for ever if it called the driver
}

TEST(test_faults_of_cuda_are_told_with_the_test)
{
    static const struct {
        const char *options;
        int error;
        const char *text;
    } cases[] = {
        {"illegal=selftest_vector", -EIO,
         "self-test \"vector\": waiting for the GPU: an illegal memory access was encountered"},
        {"fail=cuMemAlloc_v2:2:2", -ENOMEM,
         "self-test \"lucas\": allocating memory: out of memory"},
        {"fail=cuLaunchKernel:4:701", -EINVAL, "self-test \"matrix\": launching: "},
        {"fail=cuMemcpyDtoH_v2:1:999", -EIO, "self-test \"sum\": copying from the GPU: "},
        {"fail=cuMemcpyHtoDAsync_v2:6:1", -EINVAL, "self-test \"gray\": copying to the GPU: "},
        {"fail=cuModuleGetFunction:1:500", -ENOENT, "self-test \"sum\": no kernel selftest_sum"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct gpu *gpu = fake_gpu_open(cases[i].options);
        struct error error = {0};

        assert_int_equal(gpu_selftest_start(gpu, &error), cases[i].error);
        if (strncmp(error.text, cases[i].text, strlen(cases[i].text)) != 0)
            fail_msg("%s", error.text);
        gpu_free(gpu);
    }
}

RUN_TESTS(NULL, fake_gpu_end)
