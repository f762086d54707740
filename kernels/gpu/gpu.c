#include "kernels/gpu/gpu.h"

#include "kernels/gpu/gpu_fence.h"
#include "kernels/gpu/gpu_images.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define IMAGES_MAX 32

struct gpu {
    struct cuda_driver driver;
    int device;
    struct CUctx_st *context;                     // retained
    struct CUstream_st *streams[GPU_STREAMS_MAX]; // made when they are used for the first time
    unsigned stream;                              // the number of the one that is used now
    struct CUevent_st *fork;                      // of what is queued in stream 0
    struct gpu_waiter *waiter;                    // owned
    struct gpu_fence idle;
    struct CUmod_st *modules[IMAGES_MAX];
    unsigned module_count;
    struct gpu_info info;
    struct gpu_blocks blocks;
    atomic_bool lost;
};

static int check(const struct gpu *gpu, int result, const char *doing, struct error *error)
{
    return cuda_driver_check(&gpu->driver, result, doing, error);
}

static int make_stream(struct gpu *gpu, unsigned number, struct error *error)
{
    return check(gpu, gpu->driver.stream_create(&gpu->streams[number], CUDA_STREAM_NON_BLOCKING),
                 "making a stream", error);
}

// 0 where the driver does not know the attribute: for those that edged can do without.
static int attribute(const struct gpu *gpu, int number)
{
    int value = 0;

    return gpu->driver.device_attribute(&value, number, gpu->device) == CUDA_SUCCESS ? value : 0;
}

// Reads the attributes that kernels and blocks are chosen by, without which there is no GPU.
static int read_limits(struct gpu *gpu, struct error *error)
{
    struct gpu_info *info = &gpu->info;
    int major = 0, minor = 0;
    const struct {
        int number, *value;
        const char *doing;
    } needed[] = {
        {CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &major, "asking the GPU's compute capability"},
        {CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &minor, "asking the GPU's compute capability"},
        {CUDA_ATTRIBUTE_MAX_BLOCK_DIM_X, &info->block_x_max, "asking the GPU's largest block"},
        {CUDA_ATTRIBUTE_MAX_BLOCK_DIM_Y, &info->block_y_max, "asking the GPU's largest block"},
    };

    for (size_t i = 0; i < ARRAY_LENGTH(needed); i++) {
        int r =
            check(gpu, gpu->driver.device_attribute(needed[i].value, needed[i].number, gpu->device),
                  needed[i].doing, error);

        if (r < 0)
            return r;
    }
    info->sm = 10 * major + minor;
    return 0;
}

static int read_info(struct gpu *gpu, struct error *error)
{
    struct gpu_info *info = &gpu->info;
    int r = check(gpu, gpu->driver.device_name(info->name, sizeof info->name, gpu->device),
                  "asking the GPU's name", error);

    if (r == 0)
        r = read_limits(gpu, error);
    if (r < 0)
        return r;
    gpu->driver.driver_version(&info->driver_version);
    info->multiprocessors = attribute(gpu, CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    info->l2_bytes = attribute(gpu, CUDA_ATTRIBUTE_L2_CACHE_SIZE);
    info->integrated = attribute(gpu, CUDA_ATTRIBUTE_INTEGRATED);
    info->can_map_host = attribute(gpu, CUDA_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
    info->can_register = attribute(gpu, CUDA_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
    info->can_manage = attribute(gpu, CUDA_ATTRIBUTE_MANAGED_MEMORY);
    info->concurrent_managed_access = attribute(gpu, CUDA_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
    info->multiprocessor_threads = attribute(gpu, CUDA_ATTRIBUTE_MULTIPROCESSOR_THREADS);
    return 0;
}

static int open_device(struct gpu *gpu, struct error *error)
{
    const struct cuda_driver *driver = &gpu->driver;
    int r = check(gpu, driver->init(0), "starting CUDA", error);

    if (r == 0)
        r = check(gpu, driver->device_get(&gpu->device, 0), "opening the GPU", error);
    if (r == 0)
        r = read_info(gpu, error);
    if (r == 0) {
        r = check(gpu, driver->context_retain(&gpu->context, gpu->device),
                  "making the GPU's context", error);
    }
    if (r == 0)
        r = check(gpu, driver->context_set(gpu->context), "entering the GPU's context", error);
    if (r == 0)
        r = make_stream(gpu, 0, error);
    if (r == 0)
        r = gpu_waiter_new(driver, gpu->context, error, &gpu->waiter);
    if (r == 0)
        r = gpu_fence_init(&gpu->idle, driver, gpu->waiter, error);
    return r;
}

static int load_kernels(struct gpu *gpu, struct error *error)
{
    const struct gpu_image *image;

    for (size_t i = 0; i < IMAGES_MAX && (image = gpu_image_at(i)); i++) {
        int r = check(gpu, gpu->driver.module_load(&gpu->modules[i], image->start),
                      "loading the kernels", error);

        if (r < 0)
            return error_prefix(error, r, "%s, sm_%d", gpu->info.name, gpu->info.sm);
        gpu->module_count++;
    }
    return 0;
}

int gpu_new(struct error *error, struct gpu **ret_gpu)
{
    _cleanup_(cleanup_gpu) struct gpu *gpu = NULL;
    int r;

    if (gpu_image_at(0)->start == gpu_image_at(0)->end) {
        return error_set(error, -ENOTSUP,
                         "this edged has no CUDA kernels, it was built without nvcc");
    }
    gpu = calloc(1, sizeof *gpu);
    if (!gpu)
        return error_set(error, -ENOMEM, "no memory for a GPU");
    r = cuda_driver_init(&gpu->driver, error);
    if (r == 0)
        r = open_device(gpu, error);
    if (r == 0)
        r = load_kernels(gpu, error);
    if (r == 0)
        *ret_gpu = TAKE(gpu);
    return r;
}

void gpu_free(struct gpu *gpu)
{
    if (!gpu)
        return;
    if (gpu->lost) {
        gpu_waiter_free(gpu->waiter, true);
        free(gpu); // the library stays, threads of its own may be in it
        return;
    }
    if (gpu->context) {
        gpu->driver.context_set(gpu->context); // of any thread; what was made is released in it
    }
    while (gpu->module_count > 0)
        gpu->driver.module_unload(gpu->modules[--gpu->module_count]);
    gpu_fence_finish(&gpu->idle);
    gpu_waiter_free(gpu->waiter, false);
    for (unsigned i = 0; i < GPU_STREAMS_MAX; i++) {
        if (gpu->streams[i])
            gpu->driver.stream_destroy(gpu->streams[i]);
    }
    if (gpu->fork)
        gpu->driver.event_destroy(gpu->fork);
    if (gpu->context) {
        gpu->driver.context_set(NULL);
        gpu->driver.context_release(gpu->device);
    }
    cuda_driver_finish(&gpu->driver);
    free(gpu);
}

int gpu_enter(const struct gpu *gpu, struct error *error)
{
    return check(gpu, gpu->driver.context_set(gpu->context), "entering the GPU's context", error);
}

void gpu_lose(struct gpu *gpu)
{
    gpu->lost = true;
}

bool gpu_is_lost(const struct gpu *gpu)
{
    return gpu->lost;
}

const struct gpu_info *gpu_info(const struct gpu *gpu)
{
    return &gpu->info;
}

const struct cuda_driver *gpu_driver(const struct gpu *gpu)
{
    return &gpu->driver;
}

struct CUstream_st *gpu_stream(const struct gpu *gpu)
{
    return gpu->streams[gpu->stream];
}

// Stream `number`, whose work comes behind what is queued in number 0.
static int fork_stream(struct gpu *gpu, unsigned number, struct error *error)
{
    const struct cuda_driver *driver = &gpu->driver;
    int r = 0;

    if (!gpu->fork) {
        r = check(gpu, driver->event_create(&gpu->fork, CUDA_EVENT_DISABLE_TIMING),
                  "making an event", error);
    }
    if (r == 0 && !gpu->streams[number])
        r = make_stream(gpu, number, error);
    if (r == 0)
        r = check(gpu, driver->event_record(gpu->fork, gpu->streams[0]), "forking a stream", error);
    return r < 0 ? r
                 : check(gpu, driver->stream_wait_event(gpu->streams[number], gpu->fork, 0),
                         "forking a stream", error);
}

int gpu_use_stream(struct gpu *gpu, unsigned number, struct error *error)
{
    int r = number > 0 ? fork_stream(gpu, number, error) : 0;

    gpu->stream = r < 0 ? 0 : number;
    return r;
}

struct gpu_waiter *gpu_waiter(const struct gpu *gpu)
{
    return gpu->waiter;
}

struct gpu_blocks *gpu_blocks(struct gpu *gpu)
{
    return &gpu->blocks;
}

int gpu_kernel(const struct gpu *gpu, const char *name, struct error *error,
               struct CUfunc_st **ret_kernel)
{
    for (unsigned i = 0; i < gpu->module_count; i++) {
        const char *image = gpu_image_at(i)->name;

        if (strncmp(name, image, strlen(image)) == 0 &&
            gpu->driver.module_function(ret_kernel, gpu->modules[i], name) == CUDA_SUCCESS) {
            return 0;
        }
    }
    return error_set(error, -ENOENT, "no kernel %s", name);
}

int gpu_block_check(const struct gpu *gpu, struct CUfunc_st *kernel, struct config_block block,
                    struct error *error)
{
    int x_max = gpu->info.block_x_max, y_max = gpu->info.block_y_max, threads_max = 0;
    int r =
        check(gpu, gpu->driver.function_attribute(&threads_max, CUDA_FUNCTION_MAX_THREADS, kernel),
              "asking a kernel's limits", error);

    if (r < 0)
        return r;
    if (block.x < 1 || block.x > x_max || block.y < 1 || block.y > y_max)
        return error_set(error, -EINVAL, "this GPU takes [1 to %d, 1 to %d]", x_max, y_max);
    if ((int64_t)block.x * block.y > threads_max) {
        return error_set(error, -EINVAL,
                         "that makes %lld threads, this kernel takes at most %d on this GPU",
                         (long long)block.x * block.y, threads_max);
    }
    return 0;
}

int gpu_wait(struct gpu *gpu, int64_t deadline_ns, struct error *error)
{
    int r = 0;

    for (unsigned i = 0; i < GPU_STREAMS_MAX && r == 0; i++) {
        if (gpu->streams[i]) {
            r = gpu_fence_set(&gpu->idle, gpu->streams[i], error);
            r = r < 0 ? r : gpu_fence_wait(&gpu->idle, deadline_ns, error);
        }
    }
    return r;
}
