#include "tests/fakes/cuda/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct memory memory_blocks[MEMORY_BLOCKS_MAX];

static const char *const kind_names[] = {"none",    "device",     "pinned",
                                         "managed", "registered", "surface"};

size_t memory_pages(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (size + page - 1) / page * page;
}

void *memory_map(size_t size, int protection)
{
    void *mapping = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return mapping == MAP_FAILED ? NULL : mapping;
}

// One memory at two addresses.
static bool map_twice(struct memory *memory)
{
    int fd = memfd_create("managed", MFD_CLOEXEC);
    void *views[2] = {MAP_FAILED, MAP_FAILED};

    for (int i = 0; i < 2 && fd >= 0 && ftruncate(fd, (off_t)memory->mapped_bytes) == 0; i++)
        views[i] = mmap(NULL, memory->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd >= 0)
        close(fd);
    if (views[0] == MAP_FAILED || views[1] == MAP_FAILED)
        return false;
    memory->cpu = views[0];
    memory->bytes = views[1];
    memory->address = (uintptr_t)views[0];
    return true;
}

static bool map_block(struct memory *memory)
{
    void *reserved;

    switch (memory->kind) {
    case MEMORY_MANAGED:
        return map_twice(memory);
    case MEMORY_PINNED:
        memory->bytes = memory->cpu = memory_map(memory->mapped_bytes, PROT_READ | PROT_WRITE);
        memory->address = (uintptr_t)memory->cpu;
        return memory->cpu;
    case MEMORY_DEVICE:
        memory->bytes = memory_map(memory->mapped_bytes, PROT_READ | PROT_WRITE);
        reserved = memory_map(memory->mapped_bytes, PROT_NONE);
        memory->address = (uintptr_t)reserved;
        return memory->bytes && reserved;
    default:
        return false;
    }
}

// Of registered memory the CPU's view is not ours.
static void unmap_block(const struct memory *memory)
{
    if (memory->address != (uintptr_t)memory->cpu)
        munmap((void *)(uintptr_t)(memory->address - memory->offset), memory->mapped_bytes);
    if (memory->bytes != memory->cpu)
        munmap(memory->bytes - memory->offset, memory->mapped_bytes);
    if (memory->kind != MEMORY_REGISTERED && memory->cpu)
        munmap(memory->cpu, memory->mapped_bytes);
}

struct memory *memory_find_free(void)
{
    struct memory *memory = memory_blocks;

    while (memory < memory_blocks + MEMORY_BLOCKS_MAX && memory->kind != MEMORY_NONE)
        memory++;
    return memory < memory_blocks + MEMORY_BLOCKS_MAX ? memory : NULL;
}

static size_t used_bytes(void)
{
    size_t used = 0;

    for (const struct memory *m = memory_blocks; m < memory_blocks + MEMORY_BLOCKS_MAX; m++) {
        bool ours =
            m->kind != MEMORY_NONE && m->kind != MEMORY_REGISTERED && m->kind != MEMORY_SURFACE;

        used += ours ? m->mapped_bytes : 0;
    }
    return used;
}

int memory_allocate(enum memory_kind kind, size_t size, struct memory **ret_memory)
{
    struct memory memory = {.kind = kind, .size = size, .mapped_bytes = memory_pages(size)};
    struct memory *slot = memory_find_free();

    if (size == 0)
        return RESULT_INVALID_VALUE;
    if (!slot || memory.mapped_bytes > device.options.memory_bytes - used_bytes() ||
        !map_block(&memory)) {
        return RESULT_OUT_OF_MEMORY;
    }
    *slot = memory;
    *ret_memory = slot;
    return 0;
}

struct memory *memory_at(uint64_t address)
{
    for (struct memory *m = memory_blocks; m < memory_blocks + MEMORY_BLOCKS_MAX; m++) {
        if (m->kind != MEMORY_NONE && address >= m->address && address - m->address < m->size)
            return m;
    }
    return NULL;
}

static const char *why_not(const struct CUstream_st *stream, const struct memory *memory,
                           uint64_t address, size_t size)
{
    if (!memory)
        return "no memory of the device's";
    if (size > memory->size - (address - memory->address))
        return "beyond the end of a block";
    if (memory->kind == MEMORY_MANAGED)
        return memory_forbidden(memory, stream);
    return memory->kind != MEMORY_DEVICE && !memory->device_mapped ? "not mapped for the device"
                                                                   : NULL;
}

void *memory_touch(const struct CUstream_st *stream, const char *kernel, uint64_t address,
                   size_t size)
{
    struct memory *memory;
    const char *why;
    void *bytes = NULL;

    pthread_mutex_lock(&device.lock);
    memory = memory_at(address);
    why = why_not(stream, memory, address, size);
    if (why) {
        fprintf(stderr, "fake_cuda: %s touches %zu bytes at 0x%llx, which are %s\n", kernel, size,
                (unsigned long long)address, why);
    } else {
        bytes = memory->bytes + (address - memory->address);
    }
    pthread_mutex_unlock(&device.lock);
    return bytes;
}

unsigned memory_leaks(void)
{
    unsigned leaks = 0;

    for (const struct memory *m = memory_blocks; m < memory_blocks + MEMORY_BLOCKS_MAX; m++) {
        if (m->kind != MEMORY_NONE) {
            fprintf(stderr, "fake_cuda: leaked: %zu bytes of %s memory\n", m->size,
                    kind_names[m->kind]);
            leaks++;
        }
    }
    return leaks;
}

void memory_forget(void)
{
    for (struct memory *m = memory_blocks; m < memory_blocks + MEMORY_BLOCKS_MAX; m++) {
        if (m->kind != MEMORY_NONE) {
            unmap_block(m);
            *m = (struct memory){0};
        }
    }
}

int memory_release(int r, struct memory *memory, int otherwise)
{
    if (r != 0 && !call_was_told())
        return r;
    if (!memory)
        return otherwise;
    device_wait_idle();
    unmap_block(memory);
    *memory = (struct memory){0};
    return r;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    int r = call_begin(CALL_cuMemAlloc_v2);
    struct memory *memory;

    r = r == 0 ? memory_allocate(MEMORY_DEVICE, bytes, &memory) : r;
    if (r == 0)
        *address = memory->address;
    return call_end(r);
}

int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags)
{
    int r = call_begin(CALL_cuMemAllocManaged);
    struct memory *memory;

    if (r == 0 && flags != CUDA_ATTACH_GLOBAL && flags != CUDA_ATTACH_HOST)
        r = RESULT_INVALID_VALUE;
    r = r == 0 ? memory_allocate(MEMORY_MANAGED, bytes, &memory) : r;
    if (r == 0) {
        memory->asked.attached = memory->applied.attached = flags;
        memory_protect();
        *address = memory->address;
    }
    return call_end(r);
}

int cuMemFree_v2(uint64_t address)
{
    int r = call_begin(CALL_cuMemFree_v2);
    struct memory *memory = memory_at(address);

    if (memory && (memory->address != address ||
                   (memory->kind != MEMORY_DEVICE && memory->kind != MEMORY_MANAGED))) {
        memory = NULL;
    }
    return call_end(memory_release(r, memory, RESULT_INVALID_VALUE));
}
