// An edged whose build had no nvcc, on every machine, with a GPU or without: the images of the
// kernels are empty here.
#include "kernels/gpu/gpu.h"
#include "kernels/gpu/gpu_images.h"
#include "tests/unit/unit.h"

#include <errno.h>

static const unsigned char nothing;

const struct gpu_image *gpu_image_at(size_t index)
{
    static const struct gpu_image image = {"gradient", &nothing, &nothing};

    return index == 0 ? &image : NULL;
}

TEST(test_build_without_nvcc_is_named_before_the_driver_is_asked)
{
    struct gpu *gpu = NULL;
    struct error error = {0};

    assert_int_equal(gpu_new(&error, &gpu), -ENOTSUP);
    assert_string_equal(error.text, "this edged has no CUDA kernels, it was built without nvcc");
    assert_null(gpu);
}

RUN_TESTS(NULL, NULL)
