// The GPU's speed: kernels beside copies and NPP, and a frame's whole path by kind of memory.
//
//   bench_gpu [--json] [kernels | canny | path | camera | cells]
//
// Blocks and rows a thread are compared by `edgectl tune`.
#include "tests/gpu/bench.h"

#include <stdio.h>
#include <string.h>

static bool has_word(int argc, char **argv, const char *word)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], word) == 0)
            return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    bool kernels = has_word(argc, argv, "kernels"), path = has_word(argc, argv, "path");
    bool canny = has_word(argc, argv, "canny"), camera = has_word(argc, argv, "camera");
    bool cells = has_word(argc, argv, "cells");
    struct bench bench;
    struct error error = {0};
    int r = bench_open(&bench, has_word(argc, argv, "--json"), &error);

    if (r < 0) {
        fprintf(stderr, "bench_gpu: %s\n", error.text);
        bench_close(&bench);
        return 1;
    }
    printf(bench.json ? "{\"gpu\": \"%s\", \"sm\": %d, \"npp\": %s" : "%s, sm_%d, NPP here: %s\n",
           gpu_info(bench.gpu)->name, gpu_info(bench.gpu)->sm, bench.npp ? "true" : "false");
    bool all = !kernels && !path && !canny && !camera && !cells;
    if (all || kernels)
        r = bench_kernels(&bench);
    if (r == 0 && (all || canny))
        r = bench_canny(&bench);
    if (r == 0 && (all || camera))
        r = bench_camera(&bench);
    if (r == 0 && (all || cells))
        r = bench_cells(&bench);
    if (r == 0 && (all || path))
        r = bench_path(&bench);
    printf(bench.json ? "}\n" : "");
    bench_close(&bench);
    return r < 0 ? 1 : 0;
}
