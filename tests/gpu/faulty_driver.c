// A libcuda.so.1 that provokes faults on a real GPU: put in front of NVIDIA's by LD_LIBRARY_PATH,
// it hands every function that edged calls on to the real one, and now and then launches a kernel
// of faulty.cu in place of edged's.
//
//   EDGED_REAL_CUDA   path of the real library
//   EDGED_FAULT_FILE  when this file is there, its first word, "illegal" or "endless", names the
//                     fault of the next launch; the file is removed then
#include "kernels/gpu/cuda_driver.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        "faulty_image:\n"
        ".incbin \"faulty.fatbin\"\n"
        ".popsection\n");
extern const unsigned char faulty_image[] __attribute__((visibility("hidden")));

static struct {
    struct cuda_driver driver;  // the real one
    struct cuda_driver offered; // the same, but for the launch
    const char *fault_file;
    struct CUmod_st *module;
} faulty;

// The fault that is due, taken. Written by another process, which renames it into its place.
static bool take_fault(char *ret_fault, size_t size)
{
    FILE *file = faulty.fault_file ? fopen(faulty.fault_file, "re") : NULL;

    if (!file)
        return false;
    bool taken = fgets(ret_fault, (int)size, file) != NULL;
    fclose(file);
    unlink(faulty.fault_file);
    ret_fault[strcspn(ret_fault, "\n")] = 0;
    return taken;
}

// Loads the kernels ahead of the fault: loading waits until the GPU is idle.
static void load_kernels(void)
{
    if (!faulty.module && faulty.driver.module_load(&faulty.module, faulty_image) != CUDA_SUCCESS)
        fprintf(stderr, "faulty_driver: no kernels for this GPU\n");
}

static int launch(struct CUfunc_st *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                  struct CUstream_st *stream, void **parameters, void **extra)
{
    struct CUfunc_st *kernel;
    char fault[16], name[32];

    load_kernels();
    if (!take_fault(fault, sizeof fault)) {
        return faulty.driver.launch(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                    shared_bytes, stream, parameters, extra);
    }
    snprintf(name, sizeof name, "faulty_%s", fault);
    int result = faulty.driver.module_function(&kernel, faulty.module, name);
    return result ? result : faulty.driver.launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream, NULL, NULL);
}

__attribute__((constructor)) static void open_real(void)
{
    const char *path = getenv("EDGED_REAL_CUDA");

    faulty.fault_file = getenv("EDGED_FAULT_FILE");
    faulty.driver.library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!faulty.driver.library) {
        fprintf(stderr, "faulty_driver: EDGED_REAL_CUDA: %s\n", path ? dlerror() : "not set");
        return;
    }
#define FIND(name, symbol, parameters)                                                             \
    *(void **)&faulty.driver.name = dlsym(faulty.driver.library, #symbol);
    CUDA_DRIVER_FUNCTIONS(FIND)
#undef FIND
    faulty.offered = faulty.driver;
    faulty.offered.launch = launch;
}

// Each symbol is whatever its resolver says when edged looks it up: the real function itself, so
// that nothing of its parameters has to be known here.
#define RESOLVE(name, symbol, parameters)                                                          \
    __attribute__((unused)) static __typeof__(faulty.offered.name) resolve_##name(void)            \
    {                                                                                              \
        return faulty.offered.name;                                                                \
    }                                                                                              \
    int symbol parameters __attribute__((ifunc("resolve_" #name)));
CUDA_DRIVER_FUNCTIONS(RESOLVE)
