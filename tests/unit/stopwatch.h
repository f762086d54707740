// What the machine, busy with other programs, kept from the one under test.
#pragma once

#include "config/base.h"

#include <glob.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#define WINDOWS 6 // of which one has to be undisturbed by what else runs on the machine

// How long the threads of process `pid` have stood in a queue for a CPU, in all; 0 if it has ended.
static inline int64_t waited_for_cpu_ns(pid_t pid)
{
    char pattern[64];
    int64_t total_ns = 0;
    glob_t files;

    snprintf(pattern, sizeof pattern, "/proc/%d/task/*/schedstat", (int)pid);
    if (glob(pattern, 0, NULL, &files) != 0) {
        return 0;
    }
    for (size_t i = 0; i < files.gl_pathc; i++) {
        FILE *file = fopen(files.gl_pathv[i], "re");
        int64_t waited_ns;

        if (file && fscanf(file, "%*s %" SCNd64, &waited_ns) == 1) {
            total_ns += waited_ns;
        }
        if (file) {
            fclose(file);
        }
    }
    globfree(&files);
    return total_ns;
}

// How long the CPUs of this machine, if it is a virtual one, have run others, in all.
static inline int64_t stolen_ns(void)
{
    FILE *file = fopen("/proc/stat", "re");
    int64_t ticks = 0;

    if (file) {
        if (fscanf(file, "cpu %*s %*s %*s %*s %*s %*s %*s %" SCNd64, &ticks) != 1) {
            ticks = 0;
        }
        fclose(file);
    }
    return ticks * (NS_PER_S / sysconf(_SC_CLK_TCK));
}

// What was kept from this process, in all; a thread that ends takes its part along.
static inline int64_t kept_ns(void)
{
    return waited_for_cpu_ns(getpid()) + stolen_ns();
}

// What was kept since kept_ns() returned `before_ns`, as far as the threads are still there.
static inline int64_t kept_since_ns(int64_t before_ns)
{
    int64_t since_ns = kept_ns() - before_ns;

    return since_ns > 0 ? since_ns : 0;
}

struct stopwatch {
    int64_t begin_ns, kept_ns;
};

static inline struct stopwatch stopwatch_start(void)
{
    return (struct stopwatch){clock_now_ns(), kept_ns()};
}

// Asserts that what began with the watch has lasted from `least_ns` to `most_ns`, and longer only
// by what was kept from this process meanwhile.
#define assert_lasted(watch, least_ns, most_ns)                                                    \
    do {                                                                                           \
        int64_t lasted_ns = clock_now_ns() - (watch).begin_ns;                                     \
        int64_t late_ns = kept_since_ns((watch).kept_ns);                                          \
        assert_in_range(lasted_ns, least_ns, (most_ns) + late_ns);                                 \
    } while (0)
