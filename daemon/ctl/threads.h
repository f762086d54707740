// The threads that a command of edgectl computes with.
#pragma once

#include "kernels/pool.h"

// A pool for `threads` (1..POOL_THREADS_MAX); where the system starts fewer, stderr says so.
// -ENOMEM. The caller owns it: pool_free().
int threads_start(unsigned threads, struct error *error, struct pool **ret_pool);
