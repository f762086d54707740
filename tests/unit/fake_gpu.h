// For tests on the driver that stands in for CUDA's (tests/fakes/cuda): loads it in front of any
// other, and gives it its options.
#pragma once

#include "kernels/gpu/gpu.h"
#include "tests/unit/fake_path.h"
#include "tests/unit/unit.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void *fake_gpu_library;

// Opens it by its path; whoever opens "libcuda.so.1" afterwards gets the same. `variant`: "", or
// "old/" for the one that lacks a function.
static inline void fake_gpu_load(const char *variant)
{
    char name[64], path[600];

    snprintf(name, sizeof name, "cuda/%slibcuda.so.1", variant);
    fake_path(name, path);
    fake_gpu_library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!fake_gpu_library)
        fail_msg("%s", dlerror());
}

static inline void *fake_gpu_find(const char *name)
{
    if (!fake_gpu_library)
        fake_gpu_load("");
    return dlsym(fake_gpu_library, name);
}

// A new process's driver with these options. Nothing of the one before is in use.
static inline void fake_gpu_play(const char *options)
{
    void (*reset)(void) = fake_gpu_find("fake_cuda_reset");

    setenv("EDGED_FAKE_CUDA", options, 1);
    reset();
}

// The same, and the GPU that this process finds then.
static inline struct gpu *fake_gpu_open(const char *options)
{
    struct error error = {0};
    struct gpu *gpu = NULL;

    fake_gpu_play(options);
    if (gpu_new(&error, &gpu) < 0)
        fail_msg("%s: %s", options, error.text);
    return gpu;
}

// Other options for the driver in use; what wait= holds goes on.
static inline void fake_gpu_change(const char *options)
{
    void (*change)(const char *) = fake_gpu_find("fake_cuda_change");

    change(options);
}

// Calls that wait= holds.
static inline unsigned fake_gpu_waiting(void)
{
    unsigned (*waiting)(void) = fake_gpu_find("fake_cuda_waiting");

    return waiting();
}

// Objects left; calls since fake_gpu_play().
static inline unsigned fake_gpu_leaks(void)
{
    unsigned (*leaks)(void) = fake_gpu_find("fake_cuda_leaks");

    return leaks();
}

static inline uint64_t fake_gpu_calls(void)
{
    uint64_t (*calls)(void) = fake_gpu_find("fake_cuda_calls");

    return calls();
}

// Group teardown: lets go of what lost GPUs left.
static inline int fake_gpu_end(void **state)
{
    (void)state;
    fake_gpu_play("");
    return 0;
}

// Runs `body` in a process of its own. Returns how that ended, as waitpid() says, with what it
// wrote to stderr. 10 s at most: an alarm ends it.
static inline int fake_gpu_run_child(void (*body)(const void *context), const void *context,
                                     char *ret_stderr, size_t size)
{
    int pipe_fds[2], status = -1;
    size_t length = 0;
    ssize_t count;
    pid_t child;

    assert_int_equal(pipe(pipe_fds), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(pipe_fds[1], STDERR_FILENO);
        close(pipe_fds[0]);
        close(pipe_fds[1]);
        alarm(60);
        body(context);
        _exit(0);
    }
    close(pipe_fds[1]);
    while ((count = read(pipe_fds[0], ret_stderr + length, size - 1 - length)) > 0)
        length += (size_t)count;
    ret_stderr[length] = '\0';
    close(pipe_fds[0]);
    waitpid(child, &status, 0);
    return status;
}
