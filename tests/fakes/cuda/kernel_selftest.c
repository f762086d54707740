// selftest.cu. Told to be wrong, it flips the lowest bit of the last element.
#include "kernels/selftest/selftest_cuda.h"

#include "tests/fakes/cuda/kernel.h"

#include <math.h>
#include <string.h>

static void run_sum(const uint32_t *sizes, const void *input, void *output)
{
    uint64_t sum = 0;

    (void)input;
    for (uint32_t i = 0; i < sizes[0]; i++) {
        for (uint32_t j = 0; j < sizes[0]; j++)
            sum += (uint64_t)i * j;
    }
    *(uint64_t *)output += sum;
}

static void run_lucas(const uint32_t *sizes, const void *input, void *output)
{
    uint64_t *lucas = output, a = 2, b = 1;

    (void)input;
    for (uint32_t i = 0; i < sizes[0]; i++) {
        uint64_t next = a + b;

        lucas[i] = a;
        a = b;
        b = next;
    }
}

static void run_pi(const uint32_t *sizes, const void *input, void *output)
{
    uint64_t inside = 0, bits;

    (void)input;
    for (uint32_t i = 0; i < sizes[0]; i++) {
        SELFTEST_CUDA_RANDOM(i, bits);
        uint64_t x = bits >> 33, y = bits & 0x7fffffff;
        inside += x * x + y * y < UINT64_C(1) << 62;
    }
    *(uint64_t *)output += inside;
}

static void run_matrix(const uint32_t *sizes, const void *input, void *output)
{
    const float *a = input, *b = a + (size_t)sizes[0] * sizes[1];
    float *c = output;

    for (size_t y = 0; y < sizes[0]; y++) {
        for (size_t x = 0; x < sizes[2]; x++) {
            float sum = 0;

            for (size_t k = 0; k < sizes[1]; k++)
                sum += a[y * sizes[1] + k] * b[k * sizes[2] + x];
            c[y * sizes[2] + x] = sum;
        }
    }
}

static void run_vector(const uint32_t *sizes, const void *input, void *output)
{
    const float *x = input, *y = x + sizes[0];
    float *z = output;

    for (uint32_t i = 0; i < sizes[0]; i++)
        z[i] = sqrtf(fabsf(2 * (x[i] - y[i]) / (x[i] + y[i])));
}

static void run_gray(const uint32_t *sizes, const void *input, void *output)
{
    const uint8_t *pixel = input;
    uint8_t *gray = output;

    for (uint32_t i = 0; i < sizes[0]; i++, pixel += 3) {
        gray[i] =
            (uint8_t)((9798u * pixel[0] + 19235u * pixel[1] + 3735u * pixel[2] + 16384) >> 15);
    }
}

struct program {
    const char *name;
    void (*run)(const uint32_t *sizes, const void *input, void *output);
    size_t input_bytes, output_bytes; // of an element
    bool total;                       // one number in all, by any number of threads
};

static const struct program programs[] = {
    {"selftest_sum", run_sum, 0, 8, true},        {"selftest_lucas", run_lucas, 0, 8, false},
    {"selftest_pi", run_pi, 0, 8, true},          {"selftest_matrix", run_matrix, 4, 4, false},
    {"selftest_vector", run_vector, 8, 4, false}, {"selftest_gray", run_gray, 3, 1, false},
};

static int run(const struct launch *launch)
{
    const struct selftest_cuda *p = (const void *)launch->parameters;
    const struct program *program = programs;
    const uint32_t *sizes = p->sizes;
    size_t width = sizes[0], height = 1, inputs = sizes[0];
    void *input = NULL;
    uint8_t *output;

    while (strcmp(program->name, launch->name) != 0)
        program++;
    if (program->run == run_matrix) {
        width = sizes[2];
        height = sizes[0];
        inputs = (size_t)sizes[0] * sizes[1] + (size_t)sizes[1] * sizes[2];
    } else if (program->total) {
        width = 1;
    }
    if (program->input_bytes > 0)
        input = kernel_touch_rows(launch, p->input, 0, inputs * program->input_bytes, 1);
    output = kernel_touch_rows(launch, p->output, 0, width * height * program->output_bytes, 1);
    if (!output || (program->input_bytes > 0 && !input))
        return RESULT_ILLEGAL_ADDRESS;
    if (launch->threads_x < width || launch->threads_y < height) {
        return 0; // which is a wrong result
    }
    program->run(sizes, input, output);
    output[(width * height - 1) * program->output_bytes] ^= launch->wrong;
    return 0;
}

static const char *const names[] = {
    "selftest_sum",    "selftest_lucas", "selftest_pi", "selftest_matrix",
    "selftest_vector", "selftest_gray",  NULL};

const struct kernel_kind kernel_selftest = {names, {sizeof(struct selftest_cuda)}, run};
