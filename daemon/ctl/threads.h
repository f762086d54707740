// The threads that a command of edgectl computes with.
#pragma once

#include "kernels/stage/pool.h"

// Starts a pool of `threads` (1..POOL_THREADS_MAX) threads; says on stderr if the system starts
// fewer. -ENOMEM. The caller owns it: pool_free().
int threads_start(unsigned threads, struct error *error, struct pool **ret_pool);
