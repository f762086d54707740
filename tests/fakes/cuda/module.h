// Modules, their functions, and launches of them.
#pragma once

#include "tests/fakes/cuda/kernel.h"

// All are called with the lock held.

struct geometry {
    unsigned grid[3], block[3];
};

// CUresult: whether a kernel may be launched so, and its parameters as a launch holds them.
int module_prepare(const struct CUfunc_st *function, const struct geometry *geometry,
                   void *const *parameters, uint8_t ret_parameters[KERNEL_PARAMETER_BYTES]);
// Queues what was prepared so.
int module_launch(const struct CUfunc_st *function, const struct geometry *geometry,
                  const uint8_t parameters[KERNEL_PARAMETER_BYTES], struct CUstream_st *stream);

unsigned modules_leaks(void);
void modules_forget(void);
