// A launch for the self-tests of memory: the GPU reads words that the CPU wrote, and writes words
// that it will read.
#pragma once

#include "kernels/gpu/gpu.h"

#define GPU_PROBE_WORDS 4096 // of 32 bits

// Queues output[i] = ~input[i] in the GPU's stream and returns. Both are addresses of
// GPU_PROBE_WORDS words; the GPU's context is current. Returns CUDA's error.
int gpu_probe_launch(struct gpu *gpu, uint64_t input, uint64_t output, struct error *error);
