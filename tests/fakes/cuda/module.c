#include "tests/fakes/cuda/module.h"

#include "config/base.h"

#include <stdio.h>
#include <string.h>

#define FUNCTIONS_MAX 128
#define REGISTERS 64
#define GRID_MAX 65535 // in y and z

struct CUfunc_st {
    char name[64];
    const struct kernel_kind *kind;
};

struct CUmod_st {
    struct CUmod_st *next; // in the list of all
    struct CUfunc_st functions[FUNCTIONS_MAX];
    unsigned count;
};

static struct CUmod_st *modules;

static struct CUmod_st **find_module(const struct CUmod_st *module)
{
    struct CUmod_st **at = &modules;

    while (*at && *at != module)
        at = &(*at)->next;
    return *at ? at : NULL;
}

static bool is_function(const struct CUfunc_st *function)
{
    const struct CUmod_st *module = modules;

    while (module &&
           (function < module->functions || function >= module->functions + module->count)) {
        module = module->next;
    }
    return module;
}

unsigned modules_leaks(void)
{
    unsigned leaks = 0;

    for (const struct CUmod_st *module = modules; module; module = module->next) {
        fprintf(stderr, "fake_cuda: leaked: a module\n");
        leaks++;
    }
    return leaks;
}

void modules_forget(void)
{
    while (modules) {
        struct CUmod_st *module = modules;

        modules = module->next;
        free(module);
    }
}

// Any image will do, but an empty one: kernels are known by their names.
int cuModuleLoadData(struct CUmod_st **ret_module, const void *image)
{
    int r = call_begin(CALL_cuModuleLoadData);
    struct CUmod_st *module;

    if (r == 0 && (!image || *(const char *)image == '\0'))
        r = RESULT_INVALID_IMAGE;
    if (r != 0)
        return call_end(r);
    module = calloc(1, sizeof *module);
    if (!module)
        return call_end(RESULT_OUT_OF_MEMORY);
    module->next = modules;
    modules = module;
    *ret_module = module;
    return call_end(0);
}

int cuModuleUnload(struct CUmod_st *module)
{
    int r = call_begin(CALL_cuModuleUnload);
    struct CUmod_st **at = find_module(module);

    if (r == 0 && !at) {
        r = RESULT_INVALID_HANDLE;
    } else if ((r == 0 || call_was_told()) && at) {
        device_wait_idle();
        *at = module->next;
        free(module);
    }
    return call_end(r);
}

static int find_function(struct CUmod_st *module, const char *name, struct CUfunc_st **ret_function)
{
    const struct kernel_kind *kind = kernel_find(name);

    for (unsigned i = 0; i < module->count; i++) {
        if (strcmp(module->functions[i].name, name) == 0) {
            *ret_function = &module->functions[i];
            return 0;
        }
    }
    if (!kind || module->count == FUNCTIONS_MAX)
        return RESULT_NOT_FOUND;
    *ret_function = &module->functions[module->count++];
    (*ret_function)->kind = kind;
    snprintf((*ret_function)->name, sizeof(*ret_function)->name, "%s", name);
    return 0;
}

int cuModuleGetFunction(struct CUfunc_st **function, struct CUmod_st *module, const char *name)
{
    int r = call_begin(CALL_cuModuleGetFunction);

    if (r == 0 && !find_module(module))
        r = RESULT_INVALID_HANDLE;
    return call_end(r == 0 ? find_function(module, name, function) : r);
}

static bool fits(const struct options_kernel *kernel, const struct CUfunc_st *function)
{
    return strncmp(function->name, kernel->prefix, strlen(kernel->prefix)) == 0;
}

static int registers_of(const struct CUfunc_st *function)
{
    for (unsigned i = 0; i < device.options.kernel_count; i++) {
        const struct options_kernel *kernel = &device.options.kernels[i];

        if (kernel->act == ACT_REGISTERS && fits(kernel, function))
            return (int)kernel->value;
    }
    return REGISTERS;
}

int cuFuncGetAttribute(int *value, int attribute, struct CUfunc_st *function)
{
    int r = call_begin(CALL_cuFuncGetAttribute);

    if (r == 0 && !is_function(function))
        r = RESULT_INVALID_HANDLE;
    if (r != 0)
        return call_end(r);
    switch (attribute) {
    case CUDA_FUNCTION_MAX_THREADS:
        *value = board_block_threads(registers_of(function));
        return call_end(0);
    case CUDA_FUNCTION_LOCAL_BYTES:
        *value = 0;
        return call_end(0);
    case CUDA_FUNCTION_REGISTERS:
        *value = registers_of(function);
        return call_end(0);
    default:
        return call_end(RESULT_INVALID_VALUE);
    }
}

int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, struct CUfunc_st *function,
                                                int threads, size_t shared_bytes)
{
    int r = call_begin(CALL_cuOccupancyMaxActiveBlocksPerMultiprocessor);

    if (r == 0 && (!is_function(function) || threads < 1 || shared_bytes > 0))
        r = RESULT_INVALID_VALUE;
    if (r == 0)
        *blocks = board_resident_blocks(device.options.board, registers_of(function), threads);
    return call_end(r);
}

// One act, on a launch that is about to be queued.
static int act(const struct options_kernel *kernel, struct launch *launch)
{
    switch (kernel->act) {
    case ACT_HANG:
        launch->hang = true;
        break;
    case ACT_ILLEGAL:
        launch->illegal = true;
        break;
    case ACT_SLOW:
        launch->slow_ms = (unsigned)kernel->value;
        break;
    case ACT_REFUSE:
        return RESULT_OUT_OF_RESOURCES;
    case ACT_WRONG:
        launch->wrong = true;
        break;
    case ACT_REGISTERS:
        break;
    }
    return 0;
}

static int act_on(const struct CUfunc_st *function, struct launch *launch)
{
    int r = 0;

    for (unsigned i = 0; i < device.options.kernel_count; i++) {
        struct options_kernel *kernel = &device.options.kernels[i];
        bool every =
            kernel->act == ACT_SLOW || kernel->act == ACT_REGISTERS || kernel->act == ACT_WRONG;

        if (fits(kernel, function) && (++kernel->seen == kernel->value || every))
            r = r == 0 ? act(kernel, launch) : r;
    }
    return r;
}

// Takes an action that came at run time, in a file, by removing the file.
static int act_on_trigger(const struct CUfunc_st *function, struct launch *launch)
{
    const char *path = device.options.trigger;
    FILE *file = path[0] ? fopen(path, "re") : NULL;
    char key[32], value[64];
    struct options_kernel kernel;
    bool read;

    if (!file)
        return 0;
    read = fscanf(file, "%31[a-z]=%63s", key, value) == 2;
    fclose(file);
    if (!read || !options_read_kernel(key, value, &kernel) || !fits(&kernel, function) ||
        unlink(path) != 0) {
        return 0;
    }
    return act(&kernel, launch);
}

static int check_geometry(const struct CUfunc_st *function, const struct geometry *geometry)
{
    const unsigned *grid = geometry->grid, *block = geometry->block;
    int side = board_attribute(device.options.board, CUDA_ATTRIBUTE_MAX_BLOCK_DIM_X);

    if (grid[0] < 1 || grid[1] < 1 || grid[2] < 1 || grid[0] > INT32_MAX || grid[1] > GRID_MAX ||
        grid[2] > GRID_MAX || block[0] < 1 || block[1] < 1 || block[2] != 1 ||
        block[0] > (unsigned)side || block[1] > (unsigned)side) {
        return RESULT_INVALID_VALUE;
    }
    return block[0] * block[1] > (unsigned)board_block_threads(registers_of(function))
               ? RESULT_OUT_OF_RESOURCES
               : 0;
}

static void copy_parameters(const struct kernel_kind *kind, void *const *from, uint8_t *to)
{
    for (unsigned i = 0; i < KERNEL_PARAMETERS_MAX && kind->sizes[i] > 0; i++) {
        memcpy(to, from[i], kind->sizes[i]);
        to += (kind->sizes[i] + 7) / 8 * 8;
    }
}

// Ends when the time is over, or when the stream is abandoned: false.
static bool take_time(const struct launch *launch)
{
    int64_t end_ns = clock_now_ns() + launch->slow_ms * NS_PER_MS;
    struct timespec end;
    bool abandoned;

    pthread_mutex_lock(&device.lock);
    while (!launch->stream->abandoned && (launch->hang || clock_now_ns() < end_ns)) {
        clock_gettime(CLOCK_REALTIME, &end);
        end.tv_sec += (end.tv_nsec + NS_PER_MS) / NS_PER_S;
        end.tv_nsec = (end.tv_nsec + NS_PER_MS) % NS_PER_S;
        pthread_cond_timedwait(&device.changed, &device.lock, &end);
    }
    abandoned = launch->stream->abandoned;
    pthread_mutex_unlock(&device.lock);
    return !abandoned;
}

static int run_kernel(struct CUstream_st *stream, void *payload)
{
    const struct launch *launch = payload;

    (void)stream;
    if ((launch->hang || launch->slow_ms > 0) && !take_time(launch))
        return 0;
    if (launch->illegal) {
        fprintf(stderr, "fake_cuda: %s touches an illegal address, as told\n", launch->name);
        return RESULT_ILLEGAL_ADDRESS;
    }
    return kernel_find(launch->name)->run(launch);
}

int module_prepare(const struct CUfunc_st *function, const struct geometry *geometry,
                   void *const *parameters, uint8_t ret_parameters[KERNEL_PARAMETER_BYTES])
{
    int r = is_function(function) ? check_geometry(function, geometry) : RESULT_INVALID_HANDLE;

    if (r == 0)
        copy_parameters(function->kind, parameters, ret_parameters);
    return r;
}

int module_launch(const struct CUfunc_st *function, const struct geometry *geometry,
                  const uint8_t parameters[KERNEL_PARAMETER_BYTES], struct CUstream_st *stream)
{
    struct launch launch = {
        .stream = stream,
        .name = function->name,
        .threads_x = geometry->grid[0] * geometry->block[0],
        .threads_y = geometry->grid[1] * geometry->grid[2] * geometry->block[1],
        .block_x = geometry->block[0],
        .block_y = geometry->block[1],
    };
    int r = act_on(function, &launch);

    r = r == 0 ? act_on_trigger(function, &launch) : r;
    stream->told = stream->told || launch.hang || launch.slow_ms > 0;
    if (r != 0)
        return r;
    memcpy(launch.parameters, parameters, KERNEL_PARAMETER_BYTES);
    return stream_queue(stream, run_kernel, &launch, sizeof launch, function->name);
}

int cuLaunchKernel(struct CUfunc_st *function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                   struct CUstream_st *handle, void **parameters, void **extra)
{
    const struct geometry geometry = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}};
    uint8_t packed[KERNEL_PARAMETER_BYTES] = {0};
    int r = call_begin(CALL_cuLaunchKernel);
    struct CUstream_st *stream = r == 0 ? stream_find(handle) : NULL;

    if (r == 0 && !stream) {
        r = RESULT_INVALID_HANDLE;
    } else if (r == 0 && (shared_bytes > 0 || extra)) {
        r = RESULT_INVALID_VALUE; // no kernel of edged's has any
    } else if (r == 0) {
        r = module_prepare(function, &geometry, parameters, packed);
    }
    return call_end(r == 0 ? module_launch(function, &geometry, packed, stream) : r);
}
