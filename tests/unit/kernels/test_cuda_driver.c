#include "kernels/gpu/cuda_driver.h"

#include "tests/unit/fake_gpu.h"

#include <errno.h>

// In the child, what is asserted ends in a status that is not 0.
static void open_old_driver(const void *context)
{
    struct cuda_driver driver;
    struct error error = {0};

    (void)context;
    fake_gpu_load("old/");
    if (cuda_driver_init(&driver, &error) != -ENOSYS || driver.library)
        _exit(1);
    fputs(error.text, stderr);
}

// First: what this process has loaded its children have too.
TEST(test_driver_that_lacks_a_function_is_called_too_old)
{
    char text[1024];

    assert_int_equal(fake_gpu_run_child(open_old_driver, NULL, text, sizeof text), 0);
    assert_non_null(strstr(text, "cuStreamAttachMemAsync"));
    assert_non_null(strstr(text, "too old"));
}

static void open_driver(struct cuda_driver *driver, const char *options)
{
    struct error error = {0};

    fake_gpu_play(options);
    assert_int_equal(cuda_driver_init(driver, &error), 0);
}

TEST(test_results_become_errors_with_the_texts_of_cuda)
{
    static const struct {
        int result, error;
        const char *text;
    } cases[] = {
        {1, -EINVAL, "doing: invalid argument (CUDA_ERROR_INVALID_VALUE, 1)"},
        {2, -ENOMEM, "doing: out of memory (CUDA_ERROR_OUT_OF_MEMORY, 2)"},
        {100, -ENODEV, "doing: no CUDA-capable device is detected (CUDA_ERROR_NO_DEVICE, 100)"},
        {209, -ENOTSUP,
         "doing: no kernel image is available for execution on the device "
         "(CUDA_ERROR_NO_BINARY_FOR_GPU, 209)"},
        {600, -EBUSY, "doing: device not ready (CUDA_ERROR_NOT_READY, 600)"},
        {700, -EIO,
         "doing: an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS, 700)"},
        {702, -ETIMEDOUT,
         "doing: the launch timed out and was terminated (CUDA_ERROR_LAUNCH_TIMEOUT, 702)"},
    };
    struct cuda_driver driver;

    open_driver(&driver, "");
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct error error = {0};

        assert_int_equal(cuda_driver_check(&driver, cases[i].result, "doing", &error),
                         cases[i].error);
        assert_string_equal(error.text, cases[i].text);
    }
    cuda_driver_finish(&driver);
}

TEST(test_result_without_a_text_keeps_its_number)
{
    struct cuda_driver driver;
    struct error error = {0};

    open_driver(&driver, "fail=cuGetErrorName:1:999,fail=cuGetErrorString:1:999");
    assert_int_equal(cuda_driver_check(&driver, 719, "launching", &error), -EIO);
    assert_string_equal(error.text, "launching: unknown error (CUresult, 719)");
    cuda_driver_finish(&driver);
}

RUN_TESTS(NULL, fake_gpu_end)
