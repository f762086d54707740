// Self-tests of the GPU: the small programs that tutorials compute on one, with results that are
// known. A GPU that gives another result is not used.
//
// In small sizes when a GPU is opened (all of them take a few milliseconds), in full for
// `edgectl doctor`. Used in a thread in which the GPU's context is current.
#pragma once

#include "kernels/gpu/gpu.h"
#include "kernels/selftest/selftest.h"

#include <stddef.h>

struct gpu_selftest_result {
    char value[80];  // what the GPU gave, for people: "228826127"
    int64_t took_ns; // from the launch until the GPU was done
};

// The name of test `index` ("lucas"), NULL past the last, and what it computes, in a few words.
const char *gpu_selftest_name(size_t index);
const char *gpu_selftest_what(size_t index);

// Runs one test. -EBADMSG: the GPU computes wrongly, the test, its value and the expected one are
// in `error`. -ETIMEDOUT: it is not done within a second, and lost to this process. CUDA's error,
// with the name of the test; -ENOMEM. *ret_result is written on success.
int gpu_selftest_run(struct gpu *gpu, size_t index, enum selftest_size size, struct error *error,
                     struct gpu_selftest_result *ret_result);

// Runs all in their small size, up to the first that fails. Errors of gpu_selftest_run().
int gpu_selftest_start(struct gpu *gpu, struct error *error);
