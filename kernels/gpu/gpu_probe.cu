// The self-test of a memory kind: reads what the CPU wrote, writes what the CPU will read.
//
//   output[i] = ~input[i]
//
// `input` and `output` are arrays of `count` words; a thread takes one; 8 bytes moved a thread.
#include <stdint.h>

extern "C" __global__ void gpu_probe(const uint32_t *__restrict__ input,
                                     uint32_t *__restrict__ output, uint32_t count)
{
    uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;

    if (i < count)
        output[i] = ~input[i];
}
