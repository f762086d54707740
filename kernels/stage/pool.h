// A few threads that share the rows of a picture.
//
// A job cuts the rows into slices, a few for each thread, and smaller ones as the end comes near.
// The caller takes slices like every other thread, and a thread that wakes up too late finds none
// left; so nobody waits for a thread that does not get a CPU, but for the slices already taken.
// Between jobs the threads sleep. They run on the CPUs that the caller may use, but keep away from
// the one it runs on.
#pragma once

#include <stdint.h>

#define POOL_THREADS_MAX 16

struct error;
struct pool;

// Computes rows first..end-1 (first < end, first even). `worker` (0..pool_threads() - 1; the caller
// is 0) names the thread: it runs one slice at a time and has memory of its own by that number.
typedef void pool_task(void *context, unsigned worker, uint32_t first, uint32_t end);

// For `threads` (1..POOL_THREADS_MAX) threads, the caller's included, named "rows 1", "rows 2", …
// without signals. Where the system starts fewer, there are fewer, and `error` says so; it is left
// as it is otherwise. -ENOMEM.
int pool_new(unsigned threads, struct error *error, struct pool **ret_pool);
// No job is running. Takes NULL.
void pool_free(struct pool *pool);

// The caller's included; 1 without a pool.
unsigned pool_threads(const struct pool *pool);

// Runs `task` on slices that cover rows 0..rows-1, each row once, and returns when all are done.
// The task sees what the caller wrote before; the caller then sees what the task wrote. One caller
// at a time. Without a pool, or for few rows, it is one slice in the caller's thread.
void pool_run(struct pool *pool, uint32_t rows, pool_task *task, void *context);
