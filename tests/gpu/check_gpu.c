// Whether the GPU computes what the CPU computes, bit for bit: every format, view, norm, gain and
// range at odd sizes, strides and addresses, in every block shape and kind of memory.
//
//   check_gpu [--quick]     --quick: small pictures and few, for the sanitizers
//
// A line a group; exit status 1 if one differs.
#include "tests/gpu/check.h"

#include <stdio.h>
#include <string.h>

// Every kind of memory that passes its own test on this machine.
static int open_memories(struct check *check)
{
    static const enum config_memory kinds[CHECK_KINDS] = {
        CONFIG_MEMORY_REGISTERED, CONFIG_MEMORY_PINNED, CONFIG_MEMORY_MANAGED};

    for (size_t i = 0; i < CHECK_KINDS; i++) {
        struct gpu_memory *memory = NULL;
        struct error error = {0};

        if (gpu_memory_new(check->gpu, kinds[i], &error, &memory) < 0) {
            fprintf(stderr, "check_gpu: %s\n", error.text);
            return -1;
        }
        if (gpu_memory_kind(memory) == kinds[i]) {
            check->memories[check->memory_count++] = memory;
        } else {
            printf("passed over: %s\n", error.text);
            gpu_memory_free(memory);
        }
    }
    return check->memory_count > 0 ? 0 : -1;
}

static void run_group(struct check *check, const char *name, void (*group)(struct check *))
{
    unsigned long compared = check->compared, different = check->different;
    int64_t start_ns = clock_now_ns();

    group(check);
    printf("%-48s %7lu compared, %lu different, %.1f s\n", name, check->compared - compared,
           check->different - different, (double)(clock_now_ns() - start_ns) / NS_PER_S);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    struct check check = {.quick = argc > 1 && strcmp(argv[1], "--quick") == 0};
    struct error error = {0};
    bool ok = gpu_new(&error, &check.gpu) == 0;

    if (!ok) {
        fprintf(stderr, "check_gpu: %s\n", error.text);
        return 1;
    }
    printf("%s, sm_%d\n", gpu_info(check.gpu)->name, gpu_info(check.gpu)->sm);
    ok = open_memories(&check) == 0;
    if (ok) {
        run_group(&check, "self-tests of the GPU", check_selftests);
        run_group(&check, "views: formats, sizes, placements, memory kinds", check_views);
        run_group(&check, "every format and kernel in every block", check_shapes);
        run_group(&check, "device addresses and strides, nothing else written", check_places);
        run_group(&check, "rows a thread", check_rows);
        run_group(&check, "whole tiles, every view", check_tiles);
        run_group(&check, "200 random sizes, settings, places and blocks", check_random);
        run_group(&check, "lists of stages drawn at random", check_lists);
        run_group(&check, "motion, frame after frame", check_motion);
        run_group(&check, "canny: spirals, curves, thresholds", check_canny);
        run_group(&check, "two views side by side", check_split);
        run_group(&check, "pictures another way up", check_flips);
        run_group(&check, "pictures of raw samples", check_demosaics);
        run_group(&check, "cells of motion events", check_cells);
        run_group(&check, "blocks, memory and conversions refused", check_refused);
    }
    if (ok && !check.quick)
        run_group(&check, "720p to 8K, and 300001 rows", check_large);
    while (check.memory_count > 0)
        gpu_memory_free(check.memories[--check.memory_count]);
    gpu_free(check.gpu);
    ok = ok && check.different == 0 && check.compared > 0;
    printf("%s: %lu compared, %lu different\n", ok ? "ok" : "FAILED", check.compared,
           check.different);
    return ok ? 0 : 1;
}
