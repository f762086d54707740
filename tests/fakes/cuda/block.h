// Blocks of threads that work together: each thread is a fiber, which runs until it has to wait for
// others of its block.
#pragma once

#include "tests/fakes/cuda/kernel.h"

// Runs a kernel over the grid of the launch, block by block: call(context) once a thread.
void block_run_grid(const struct launch *launch, void (*call)(const void *context),
                    const void *context);
