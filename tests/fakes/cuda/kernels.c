// The table of edged's kernels, what they share, and the smallest one.
#include "tests/fakes/cuda/kernel.h"

#include "tests/fakes/cuda/memory.h"

#include <string.h>

void *kernel_touch_rows(const struct launch *launch, uint64_t address, size_t stride, size_t bytes,
                        uint32_t rows)
{
    return memory_touch(launch->stream, launch->name, address, (rows - 1) * stride + bytes);
}

static int run_probe(const struct launch *launch)
{
    const struct {
        uint64_t input, output;
        uint32_t count;
    } *p = (const void *)launch->parameters;
    uint32_t count = p->count < launch->threads_x ? p->count : launch->threads_x;
    const uint32_t *input = kernel_touch_rows(launch, p->input, 0, count * sizeof *input, 1);
    uint32_t *output = kernel_touch_rows(launch, p->output, 0, count * sizeof *output, 1);

    if (!input || !output)
        return RESULT_ILLEGAL_ADDRESS;
    for (uint32_t i = 0; i < count; i++)
        output[i] = ~input[i];
    return 0;
}

static const char *const probe_names[] = {"gpu_probe", NULL};
static const struct kernel_kind kernel_probe = {probe_names, {8, 8, 4}, run_probe};

const struct kernel_kind *kernel_find(const char *name)
{
    static const struct kernel_kind *const kinds[] = {&kernel_probe, &kernel_selftest};

    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        for (const char *const *known = kinds[i]->names; *known; known++) {
            if (strcmp(*known, name) == 0)
                return kinds[i];
        }
    }
    return kernel_cu_find(name);
}
