// The GPU's speed: kernels beside copies and NPP, and a frame's whole path by kind of memory.
//
//   bench_gpu [--json] [--blocks | --rows] [--picture FILE.pgm] [kernels | canny | path | camera]
//
// --picture: a real one for Canny; --blocks: edges in several block shapes; --rows: the path with
// several numbers of rows a thread.
#include "tests/gpu/bench.h"

#include <stdio.h>
#include <string.h>

static bool has_word(int argc, char **argv, const char *word)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], word) == 0) {
            return true;
        }
    }
    return false;
}

static const char *value_of(int argc, char **argv, const char *word)
{
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], word) == 0) {
            return argv[i + 1];
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    bool kernels = has_word(argc, argv, "kernels"), path = has_word(argc, argv, "path");
    bool canny = has_word(argc, argv, "canny"), camera = has_word(argc, argv, "camera");
    bool blocks = has_word(argc, argv, "--blocks"), rows = has_word(argc, argv, "--rows");
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
    bench.picture = value_of(argc, argv, "--picture");
    bool all = !kernels && !blocks && !path && !rows && !canny && !camera;
    if (all || kernels || blocks) {
        r = bench_kernels(&bench, blocks);
    }
    if (r == 0 && (all || canny)) {
        r = bench_canny(&bench);
    }
    if (r == 0 && (all || camera)) {
        r = bench_camera(&bench);
    }
    if (r == 0 && (all || path || rows)) {
        r = bench_path(&bench, rows);
    }
    printf(bench.json ? "}\n" : "");
    bench_close(&bench);
    return r < 0 ? 1 : 0;
}
