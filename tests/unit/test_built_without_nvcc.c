// What an edged whose build had no nvcc says of every machine, with a GPU or without: the images of
// the kernels are empty here.
#include "kernels/gpu.h"
#include "kernels/gpu_images.h"
#include "tests/unit/unit.h"

#include <errno.h>

static const unsigned char nothing;

const struct gpu_image *gpu_image_at(size_t index)
{
    static const struct gpu_image image = {"gradient", &nothing, &nothing};

    return index == 0 ? &image : NULL;
}

static void test_build_without_nvcc_is_named_before_the_driver_is_asked(void **state)
{
    struct gpu *gpu = NULL;
    struct error error = {0};

    (void)state;
    assert_int_equal(gpu_new(&error, &gpu), -ENOTSUP);
    assert_string_equal(error.text, "this edged has no CUDA kernels, it was built without nvcc");
    assert_null(gpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_build_without_nvcc_is_named_before_the_driver_is_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
