// What the machine, busy with other programs, kept from this one.
#pragma once

#include <glob.h>
#include <stdint.h>
#include <stdio.h>

// How long this process's threads have stood in a queue for a CPU, in all.
static inline int64_t waited_for_cpu_ns(void)
{
    int64_t total_ns = 0;
    glob_t files;

    if (glob("/proc/self/task/*/schedstat", 0, NULL, &files) != 0) {
        return 0;
    }
    for (size_t i = 0; i < files.gl_pathc; i++) {
        FILE *file = fopen(files.gl_pathv[i], "re");
        long long waited_ns;

        if (file && fscanf(file, "%*s %lld", &waited_ns) == 1) {
            total_ns += waited_ns;
        }
        if (file) {
            fclose(file);
        }
    }
    globfree(&files);
    return total_ns;
}
