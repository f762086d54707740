// Messages about a driver that the linker does not open: the linker is this test's own.
#include "kernels/gpu/cuda_driver.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

static char reason[256];

void *dlopen(const char *path, int flags)
{
    (void)flags;
    assert_string_equal(path, "libcuda.so.1");
    return NULL;
}

char *dlerror(void)
{
    return reason;
}

static void assert_told(const char *linker, const char *text)
{
    struct cuda_driver driver;
    struct error error = {0};

    snprintf(reason, sizeof reason, "%s", linker);
    assert_int_equal(cuda_driver_init(&driver, &error), -ENODEV);
    assert_string_equal(error.text, text);
}

// The linker's sentences are glibc's.
TEST(test_machine_without_a_driver_is_told_in_a_few_words)
{
    assert_told("libcuda.so.1: cannot open shared object file: No such file or directory",
                "no NVIDIA driver here (libcuda.so.1)");
}

TEST(test_driver_that_does_not_load_is_told_with_the_reason)
{
    assert_told("libnvrm_gpu.so: cannot open shared object file: No such file or directory",
                "the NVIDIA driver does not load: libnvrm_gpu.so: cannot open shared object file: "
                "No such file or directory");
    assert_told("libcuda.so.1: cannot open shared object file: Permission denied",
                "the NVIDIA driver does not load: libcuda.so.1: cannot open shared object file: "
                "Permission denied");
}

RUN_TESTS(NULL, NULL)
