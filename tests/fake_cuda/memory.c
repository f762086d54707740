#include "tests/fake_cuda/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct memory memory_blocks[MEMORY_BLOCKS_MAX];

static const char *const kind_names[] = {"none", "device", "pinned", "managed", "registered"};

static size_t round_up(size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (size + page - 1) / page * page;
}

static void *map_new(size_t size, int protection)
{
    void *mapping = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    return mapping == MAP_FAILED ? NULL : mapping;
}

// One memory at two addresses.
static bool map_twice(struct memory *memory)
{
    int fd = memfd_create("managed", MFD_CLOEXEC);
    void *views[2] = {MAP_FAILED, MAP_FAILED};

    for (int i = 0; i < 2 && fd >= 0 && ftruncate(fd, (off_t)memory->mapped_bytes) == 0; i++) {
        views[i] = mmap(NULL, memory->mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (views[0] == MAP_FAILED || views[1] == MAP_FAILED) {
        return false;
    }
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
        memory->bytes = memory->cpu = map_new(memory->mapped_bytes, PROT_READ | PROT_WRITE);
        memory->address = (uintptr_t)memory->cpu;
        return memory->cpu;
    case MEMORY_DEVICE:
        memory->bytes = map_new(memory->mapped_bytes, PROT_READ | PROT_WRITE);
        reserved = map_new(memory->mapped_bytes, PROT_NONE);
        memory->address = (uintptr_t)reserved;
        return memory->bytes && reserved;
    default:
        return false;
    }
}

static void unmap_block(const struct memory *memory)
{
    bool ours = memory->kind != MEMORY_REGISTERED;

    if (memory->address != (uintptr_t)memory->cpu) {
        munmap((void *)(uintptr_t)memory->address, memory->mapped_bytes);
    }
    if (ours && memory->bytes != memory->cpu) {
        munmap(memory->bytes, memory->mapped_bytes);
    }
    if (ours && memory->cpu) {
        munmap(memory->cpu, memory->mapped_bytes);
    }
}

static struct memory *find_free(void)
{
    struct memory *memory = memory_blocks;

    while (memory < memory_blocks + MEMORY_BLOCKS_MAX && memory->kind != MEMORY_NONE) {
        memory++;
    }
    return memory < memory_blocks + MEMORY_BLOCKS_MAX ? memory : NULL;
}

static size_t used_bytes(void)
{
    size_t used = 0;

    for (const struct memory *m = memory_blocks; m < memory_blocks + MEMORY_BLOCKS_MAX; m++) {
        used += m->kind == MEMORY_NONE || m->kind == MEMORY_REGISTERED ? 0 : m->mapped_bytes;
    }
    return used;
}

static int allocate(enum memory_kind kind, size_t size, struct memory **ret_memory)
{
    struct memory memory = {.kind = kind, .size = size, .mapped_bytes = round_up(size)};
    struct memory *slot = find_free();

    if (size == 0) {
        return RESULT_INVALID_VALUE;
    }
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
        if (m->kind != MEMORY_NONE && address >= m->address && address - m->address < m->size) {
            return m;
        }
    }
    return NULL;
}

static struct memory *find_host(enum memory_kind kind, const void *address)
{
    for (struct memory *m = memory_blocks; m < memory_blocks + MEMORY_BLOCKS_MAX; m++) {
        if (m->kind == kind && m->cpu == address) {
            return m;
        }
    }
    return NULL;
}

// Whether all pages are there: msync() has nothing to do but to look.
static bool is_mapped(const void *address, size_t size)
{
    size_t offset = (uintptr_t)address % (uintptr_t)sysconf(_SC_PAGESIZE);

    return msync((uint8_t *)address - offset, size + offset, MS_ASYNC) == 0;
}

static const char *why_not(const struct CUstream_st *stream, const struct memory *memory,
                           uint64_t address, size_t size)
{
    if (!memory) {
        return "no memory of the device's";
    }
    if (size > memory->size - (address - memory->address)) {
        return "beyond the end of a block";
    }
    if (memory->kind == MEMORY_MANAGED) {
        return memory_forbidden(memory, stream);
    }
    if (memory->kind == MEMORY_REGISTERED && !is_mapped(memory->cpu, memory->size)) {
        return "registered, and unmapped since";
    }
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

// Waits for all that is queued first, as the driver does: it may use the block.
static int release(int r, struct memory *memory, int otherwise)
{
    if (r != 0 && !call_was_told()) {
        return r;
    }
    if (!memory) {
        return otherwise;
    }
    device_wait_idle();
    unmap_block(memory);
    *memory = (struct memory){0};
    return r;
}

int cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    int r = call_begin(CALL_cuMemAlloc_v2);
    struct memory *memory;

    r = r == 0 ? allocate(MEMORY_DEVICE, bytes, &memory) : r;
    if (r == 0) {
        *address = memory->address;
    }
    return call_end(r);
}

int cuMemAllocManaged(uint64_t *address, size_t bytes, unsigned flags)
{
    int r = call_begin(CALL_cuMemAllocManaged);
    struct memory *memory;

    if (r == 0 && flags != CUDA_ATTACH_GLOBAL && flags != CUDA_ATTACH_HOST) {
        r = RESULT_INVALID_VALUE;
    }
    r = r == 0 ? allocate(MEMORY_MANAGED, bytes, &memory) : r;
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
    return call_end(release(r, memory, RESULT_INVALID_VALUE));
}

int cuMemHostAlloc(void **ret_memory, size_t bytes, unsigned flags)
{
    int r = call_begin(CALL_cuMemHostAlloc);
    struct memory *memory;

    r = r == 0 ? allocate(MEMORY_PINNED, bytes, &memory) : r;
    if (r == 0) {
        memory->device_mapped = flags & CUDA_HOST_DEVICEMAP;
        *ret_memory = memory->cpu;
    }
    return call_end(r);
}

int cuMemFreeHost(void *memory)
{
    int r = call_begin(CALL_cuMemFreeHost);

    return call_end(release(r, find_host(MEMORY_PINNED, memory), RESULT_INVALID_VALUE));
}

static bool overlaps_host(const uint8_t *from, size_t bytes)
{
    for (const struct memory *m = memory_blocks; m < memory_blocks + MEMORY_BLOCKS_MAX; m++) {
        if (m->kind != MEMORY_NONE && m->cpu && from < m->cpu + m->size && m->cpu < from + bytes) {
            return true;
        }
    }
    return false;
}

static int register_memory(void *from, size_t bytes, unsigned flags)
{
    struct memory *memory = find_free();
    size_t mapped = round_up(bytes + (size_t)sysconf(_SC_PAGESIZE));
    uint64_t address = (uintptr_t)from;

    if (bytes == 0 || !is_mapped(from, bytes)) {
        return RESULT_INVALID_VALUE;
    }
    if (overlaps_host(from, bytes)) {
        return RESULT_ALREADY_REGISTERED;
    }
    if (device.options.board->own_address) {
        address = (uintptr_t)map_new(mapped, PROT_NONE);
    }
    if (!memory || address == 0) {
        return RESULT_OUT_OF_MEMORY;
    }
    *memory = (struct memory){.kind = MEMORY_REGISTERED,
                              .address = address,
                              .bytes = from,
                              .cpu = from,
                              .size = bytes,
                              .mapped_bytes = mapped,
                              .device_mapped = flags & CUDA_HOST_DEVICEMAP};
    return 0;
}

int cuMemHostRegister_v2(void *memory, size_t bytes, unsigned flags)
{
    int r = call_begin(CALL_cuMemHostRegister_v2);

    return call_end(r == 0 ? register_memory(memory, bytes, flags) : r);
}

int cuMemHostUnregister(void *address)
{
    int r = call_begin(CALL_cuMemHostUnregister);
    struct memory *memory = find_host(MEMORY_REGISTERED, address);

    if (memory && !is_mapped(memory->cpu, memory->size)) {
        fprintf(stderr, "fake_cuda: registered memory was unmapped before it was unregistered\n");
    }
    return call_end(release(r, memory, RESULT_NOT_REGISTERED));
}

int cuMemHostGetDevicePointer_v2(uint64_t *address, void *memory, unsigned flags)
{
    int r = call_begin(CALL_cuMemHostGetDevicePointer_v2);

    for (const struct memory *m = memory_blocks; m < memory_blocks + MEMORY_BLOCKS_MAX; m++) {
        const uint8_t *at = memory;

        if (r == 0 && flags == 0 && m->device_mapped && at >= m->cpu && at < m->cpu + m->size) {
            *address = m->address + (uint64_t)(at - m->cpu);
            return call_end(0);
        }
    }
    return call_end(r == 0 ? RESULT_INVALID_VALUE : r);
}
