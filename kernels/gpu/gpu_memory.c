#include "kernels/gpu/gpu_memory.h"

#include "kernels/gpu/gpu_probe.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#define WAIT_NS NS_PER_S

struct gpu_memory {
    struct gpu *gpu; // not owned; NULL: host
    enum config_memory kind;
    struct frame_allocator allocator, device_allocator;

    pthread_mutex_t lock; // guards both below: memory is allocated in any thread
    int failed;           // errno of the newest allocation in vain, 0: none
    struct error failure;
};

static int check(const struct gpu_memory *memory, int result, const char *doing,
                 struct error *error)
{
    return cuda_driver_check(gpu_driver(memory->gpu), result, doing, error);
}

// Memory is made and released in any thread; a lost GPU is left alone.
static int enter(const struct gpu_memory *memory, struct error *error)
{
    return gpu_is_lost(memory->gpu) ? error_set(error, -EIO, "the GPU is lost")
                                    : gpu_enter(memory->gpu, error);
}

// Any thread may release memory. A call of the driver may return the error of work queued before
// it, once: then the second try enters the context, unless it was current already.
static bool may_release(const struct gpu_memory *memory)
{
    if (enter(memory, NULL) < 0)
        enter(memory, NULL);
    return !gpu_is_lost(memory->gpu);
}

// An allocator only returns a number: why there is no memory is kept for gpu_memory_take_failure().
static int fail(struct gpu_memory *memory, int code, const struct error *why)
{
    pthread_mutex_lock(&memory->lock);
    memory->failed = code;
    memory->failure = *why;
    pthread_mutex_unlock(&memory->lock);
    return code;
}

static int registered_allocate(void *context, size_t size, void **ret_memory)
{
    struct gpu_memory *memory = context;
    struct error error = {0};
    void *mapping;
    int r = enter(memory, &error);

    if (r < 0)
        return fail(memory, r, &error);
    mapping =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (mapping == MAP_FAILED) {
        r = error_set(&error, -errno, "mapping %zu bytes: %s", size, strerror(errno));
        return fail(memory, r, &error);
    }
    r = check(memory, gpu_driver(memory->gpu)->host_register(mapping, size, CUDA_HOST_DEVICEMAP),
              "registering memory", &error);
    if (r < 0) {
        munmap(mapping, size);
        return fail(memory, r, &error);
    }
    *ret_memory = mapping;
    return 0;
}

static void registered_release(void *context, void *block, size_t size)
{
    const struct gpu_memory *memory = context;

    if (may_release(memory))
        gpu_driver(memory->gpu)->host_unregister(block);
    munmap(block, size);
}

// Whether the driver takes memory that another one has mapped shows when its address is asked for.
static int registered_lend(void *context, void *block, size_t size)
{
    const struct gpu_memory *memory = context;
    const struct cuda_driver *driver = gpu_driver(memory->gpu);
    uint64_t address;
    int r = enter(memory, NULL);

    if (r == 0) {
        r = check(memory, driver->host_register(block, size, CUDA_HOST_DEVICEMAP),
                  "registering a driver's buffer", NULL);
    }
    if (r < 0)
        return r;
    r = check(memory, driver->host_address(&address, block, 0), "asking for its device address",
              NULL);
    if (r < 0)
        driver->host_unregister(block);
    return r;
}

static void registered_end_loan(void *context, void *block)
{
    const struct gpu_memory *memory = context;

    if (may_release(memory))
        gpu_driver(memory->gpu)->host_unregister(block);
}

static int pinned_allocate(void *context, size_t size, void **ret_memory)
{
    struct gpu_memory *memory = context;
    struct error error = {0};
    void *block;
    int r = enter(memory, &error);

    if (r < 0)
        return fail(memory, r, &error);
    r = check(memory, gpu_driver(memory->gpu)->host_alloc(&block, size, CUDA_HOST_DEVICEMAP),
              "allocating pinned memory", &error);
    if (r < 0)
        return fail(memory, r, &error);
    *ret_memory = memset(block, 0, size);
    return 0;
}

static void pinned_release(void *context, void *block, size_t size)
{
    const struct gpu_memory *memory = context;

    (void)size;
    if (may_release(memory))
        gpu_driver(memory->gpu)->host_free(block);
}

// Attached to the host from the start: no kernel of another stream keeps the CPU from it.
static int managed_allocate(void *context, size_t size, void **ret_memory)
{
    struct gpu_memory *memory = context;
    struct error error = {0};
    uint64_t address;
    int r = enter(memory, &error);

    if (r < 0)
        return fail(memory, r, &error);
    r = check(memory, gpu_driver(memory->gpu)->mem_alloc_managed(&address, size, CUDA_ATTACH_HOST),
              "allocating managed memory", &error);
    if (r < 0)
        return fail(memory, r, &error);
    *ret_memory = memset((void *)(uintptr_t)address, 0, size);
    return 0;
}

// Of managed memory, and of the GPU's own.
static void managed_release(void *context, void *block, size_t size)
{
    const struct gpu_memory *memory = context;

    (void)size;
    if (may_release(memory))
        gpu_driver(memory->gpu)->mem_free((uintptr_t)block);
}

static int device_allocate(void *context, size_t size, void **ret_memory)
{
    struct gpu_memory *memory = context;
    struct error error = {0};
    uint64_t address = 0;
    int r = enter(memory, &error);

    if (r == 0) {
        r = check(memory, gpu_driver(memory->gpu)->mem_alloc(&address, size),
                  "allocating the GPU's own memory", &error);
    }
    if (r < 0)
        return fail(memory, r, &error);
    r = check(memory, gpu_driver(memory->gpu)->mem_clear(address, 0, size, gpu_stream(memory->gpu)),
              "clearing the GPU's own memory", &error);
    if (r < 0) {
        managed_release(memory, (void *)(uintptr_t)address, size);
        return fail(memory, r, &error);
    }
    *ret_memory = (void *)(uintptr_t)address;
    return 0;
}

static int device_to_gpu(void *context, void *block, size_t size, struct error *error,
                         uint64_t *ret_address)
{
    (void)context;
    (void)size;
    (void)error;
    *ret_address = (uintptr_t)block;
    return 0;
}

static int device_to_cpu(void *context, void *block, size_t size, struct error *error)
{
    (void)context;
    (void)block;
    (void)size;
    (void)error;
    return 0;
}

static int find_address(const struct gpu_memory *memory, void *block, struct error *error,
                        uint64_t *ret_address)
{
    if (memory->kind == CONFIG_MEMORY_MANAGED) {
        *ret_address = (uintptr_t)block;
        return 0;
    }
    return check(memory, gpu_driver(memory->gpu)->host_address(ret_address, block, 0),
                 "asking for a frame's device address", error);
}

static int attach(const struct gpu_memory *memory, void *block, unsigned flags, struct error *error)
{
    if (memory->kind != CONFIG_MEMORY_MANAGED)
        return 0;
    return check(
        memory,
        gpu_driver(memory->gpu)->stream_attach(gpu_stream(memory->gpu), (uintptr_t)block, 0, flags),
        "attaching managed memory", error);
}

static int memory_to_gpu(void *context, void *block, size_t size, struct error *error,
                         uint64_t *ret_address)
{
    const struct gpu_memory *memory = context;
    int r = find_address(memory, block, error, ret_address);

    (void)size;
    return r < 0 ? r : attach(memory, block, CUDA_ATTACH_SINGLE, error);
}

static int memory_to_cpu(void *context, void *block, size_t size, struct error *error)
{
    (void)size;
    return attach(context, block, CUDA_ATTACH_HOST, error);
}

static int memory_wait(void *context, struct error *error)
{
    const struct gpu_memory *memory = context;

    return gpu_wait(memory->gpu, clock_now_ns() + WAIT_NS, error);
}

static int run_probe(struct gpu_memory *memory, uint32_t *block, struct error *error)
{
    size_t half = GPU_PROBE_WORDS * sizeof *block, size = 2 * half;
    uint64_t input;
    int r = memory_to_gpu(memory, block, size, error, &input);

    if (r == 0)
        r = gpu_probe_launch(memory->gpu, input, input + half, error);
    if (r == 0)
        r = memory_to_cpu(memory, block, size, error);
    return r < 0 ? r : memory_wait(memory, error);
}

// Twice, with other values: a stale cache line would show the first ones.
static int probe(struct gpu_memory *memory, uint32_t *block, struct error *error)
{
    for (uint32_t round = 1; round <= 2; round++) {
        int r;

        for (uint32_t i = 0; i < GPU_PROBE_WORDS; i++)
            block[i] = i * 2654435761U * round;
        r = run_probe(memory, block, error);
        if (r < 0)
            return r;
        for (uint32_t i = 0; i < GPU_PROBE_WORDS; i++) {
            if (block[GPU_PROBE_WORDS + i] != ~(i * 2654435761U * round))
                return error_set(error, -EIO, "CPU and GPU see different bytes");
        }
    }
    return 0;
}

static int use_kind(struct gpu_memory *memory, enum config_memory kind, struct error *error)
{
    static const struct frame_allocator allocators[] = {
        [CONFIG_MEMORY_REGISTERED] = {"registered", NULL, NULL, registered_allocate,
                                      registered_release, memory_to_gpu, memory_to_cpu, memory_wait,
                                      registered_lend, registered_end_loan},
        [CONFIG_MEMORY_PINNED] = {"pinned", NULL, NULL, pinned_allocate, pinned_release,
                                  memory_to_gpu, memory_to_cpu, memory_wait, NULL, NULL},
        [CONFIG_MEMORY_MANAGED] = {"managed", NULL, NULL, managed_allocate, managed_release,
                                   memory_to_gpu, memory_to_cpu, memory_wait, NULL, NULL},
    };
    const struct gpu_info *info = gpu_info(memory->gpu);
    size_t size = 2 * GPU_PROBE_WORDS * sizeof(uint32_t);
    void *block = NULL;

    if ((size_t)kind >= ARRAY_LENGTH(allocators) || !allocators[kind].allocate)
        return error_set(error, -EINVAL, "this is no memory of a GPU");
    if (kind == CONFIG_MEMORY_MANAGED ? !info->can_manage : !info->can_map_host)
        return error_set(error, -ENOTSUP, "this GPU has none");
    memory->kind = kind;
    memory->allocator = allocators[kind];
    memory->allocator.context = memory;
    memory->device_allocator = memory->allocator;
    memory->device_allocator.kind = "device";
    memory->device_allocator.allocate = device_allocate;
    memory->device_allocator.release = managed_release;
    memory->device_allocator.to_gpu = device_to_gpu;
    memory->device_allocator.to_cpu = device_to_cpu;
    memory->device_allocator.lend = NULL;
    int r = memory->allocator.allocate(memory, size, &block);
    if (r < 0 || !block) {
        gpu_memory_take_failure(memory, error);
        return r < 0 ? r : -ENOMEM;
    }
    r = probe(memory, block, error);
    memory->allocator.release(memory, block, size);
    return r;
}

// Adds what is wrong with a kind to what is wrong with those before.
static void pass_over(enum config_memory kind, const struct error *error, struct error *reasons)
{
    struct error before = *reasons;

    error_set(reasons, 0, "%s%s%s memory: %s", before.text, before.text[0] ? "; " : "",
              config_memory_name(kind), error->text);
}

int gpu_memory_new(struct gpu *gpu, enum config_memory wanted, struct error *why,
                   struct gpu_memory **ret_memory)
{
    struct gpu_memory *memory = calloc(1, sizeof *memory);
    enum config_memory kind = wanted < CONFIG_MEMORY_REGISTERED ? CONFIG_MEMORY_REGISTERED : wanted;
    struct error reasons = {0};
    int r = -ENOTSUP;

    if (!memory)
        return error_set(why, -ENOMEM, "no memory for a kind of memory");
    pthread_mutex_init(&memory->lock, NULL);
    memory->gpu = gpu;
    for (; gpu && r < 0 && kind < CONFIG_MEMORY_HOST; kind++) {
        struct error error = {0};

        r = use_kind(memory, kind, &error);
        if (r < 0)
            pass_over(kind, &error, &reasons);
    }
    if (r < 0) {
        memory->kind = CONFIG_MEMORY_HOST;
        memory->allocator = memory->device_allocator = *frame_allocator_host();
    }
    if (reasons.text[0])
        error_set(why, 0, "%s", reasons.text);
    *ret_memory = memory;
    return 0;
}

void gpu_memory_free(struct gpu_memory *memory)
{
    if (memory) {
        pthread_mutex_destroy(&memory->lock);
        free(memory);
    }
}

int gpu_memory_take_failure(struct gpu_memory *memory, struct error *ret_why)
{
    pthread_mutex_lock(&memory->lock);
    int code = memory->failed;
    if (code && ret_why)
        *ret_why = memory->failure;
    memory->failed = 0;
    pthread_mutex_unlock(&memory->lock);
    return code;
}

enum config_memory gpu_memory_kind(const struct gpu_memory *memory)
{
    return memory->kind;
}

const struct frame_allocator *gpu_memory_allocator(const struct gpu_memory *memory)
{
    return &memory->allocator;
}

const struct frame_allocator *gpu_memory_device_allocator(const struct gpu_memory *memory)
{
    return &memory->device_allocator;
}
