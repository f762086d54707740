// The free frames are the set bits of one atomic word, so taking and returning never lock and the
// frame used last, warm in the caches, tends to be the next. A pool lives until its owner and all
// frames that are out have dropped their references.
#include "capture/frame_pool.h"

#include <errno.h>
#include <sys/mman.h>

struct frame_pool {
    atomic_uint references;
    _Atomic uint64_t free; // bit i: frame i is in the pool
    struct frame_allocator allocator;
    struct frame_layout layout;
    unsigned count; // frames with memory
    struct frame frames[];
};

static int host_allocate(void *context, size_t size, void **ret_memory)
{
    void *memory;

    (void)context;
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return -errno;
    *ret_memory = memory;
    return 0;
}

static void host_release(void *context, void *memory, size_t size)
{
    (void)context;
    munmap(memory, size);
}

const struct frame_allocator *frame_allocator_host(void)
{
    static const struct frame_allocator allocator = {
        .kind = "host",
        .allocate = host_allocate,
        .release = host_release,
    };

    return &allocator;
}

static int make_memory(const struct frame_pool *pool, struct frame *frame)
{
    const struct frame_allocator *allocator = &pool->allocator;
    void *memory = NULL;
    int r;

    if (allocator->surfaces)
        return allocator->surfaces->allocate(allocator->context, &pool->layout, &frame->surface);
    r = allocator->allocate(allocator->context, pool->layout.size, &memory);
    frame->data = memory;
    return r;
}

static void pool_free(struct frame_pool *pool)
{
    const struct frame_allocator *allocator = &pool->allocator;

    while (pool->count > 0) {
        const struct frame *frame = &pool->frames[--pool->count];

        if (frame->surface)
            allocator->surfaces->release(allocator->context, frame->surface);
        else
            allocator->release(allocator->context, frame->data, pool->layout.size);
    }
    free(pool);
}

// The pool's last reference may be the frame's, which is gone with it then.
static void take_back(struct frame *frame)
{
    struct frame_pool *pool = frame->pool;

    atomic_fetch_or_explicit(&pool->free, UINT64_C(1) << frame->index, memory_order_release);
    frame_pool_unref(pool);
}

int frame_pool_new(const struct frame_layout *layout, unsigned count,
                   const struct frame_allocator *allocator, struct frame_pool **ret_pool)
{
    struct frame_pool *pool;

    if (count < 1 || count > FRAME_POOL_MAX || layout->size == 0)
        return -EINVAL;
    pool = calloc(1, sizeof *pool + count * sizeof pool->frames[0]);
    if (!pool)
        return -ENOMEM;
    pool->allocator = *allocator;
    pool->layout = *layout;
    while (pool->count < count) {
        struct frame *frame = &pool->frames[pool->count];
        int r = make_memory(pool, frame);

        if (r < 0) {
            pool_free(pool);
            return r;
        }
        frame->pool = pool;
        frame->allocator = &pool->allocator;
        frame->give_back = take_back;
        frame->layout = *layout;
        frame->index = pool->count++;
    }
    atomic_init(&pool->free, UINT64_MAX >> (FRAME_POOL_MAX - count));
    atomic_init(&pool->references, 1);
    *ret_pool = pool;
    return 0;
}

struct frame_pool *frame_pool_ref(struct frame_pool *pool)
{
    atomic_fetch_add_explicit(&pool->references, 1, memory_order_relaxed);
    return pool;
}

void frame_pool_unref(struct frame_pool *pool)
{
    if (pool && atomic_fetch_sub_explicit(&pool->references, 1, memory_order_acq_rel) == 1)
        pool_free(pool);
}

struct frame *frame_pool_take(struct frame_pool *pool)
{
    uint64_t available = atomic_load_explicit(&pool->free, memory_order_relaxed);

    while (available != 0) {
        uint64_t lowest = available & -available;

        if (atomic_compare_exchange_weak_explicit(&pool->free, &available, available ^ lowest,
                                                  memory_order_acquire, memory_order_relaxed)) {
            struct frame *frame = &pool->frames[__builtin_ctzll(lowest)];

            frame_pool_ref(pool);
            atomic_store_explicit(&frame->references, 1, memory_order_relaxed);
            return frame;
        }
    }
    return NULL;
}

struct frame *frame_pool_take_for(struct frame_pool *pool, const struct frame *origin)
{
    struct frame *frame = frame_pool_take(pool);

    if (frame) {
        frame->pts_ns = origin->pts_ns;
        frame->grabbed_ns = origin->grabbed_ns;
        frame->sequence = origin->sequence;
    }
    return frame;
}

const struct frame_layout *frame_pool_layout(const struct frame_pool *pool)
{
    return &pool->layout;
}
