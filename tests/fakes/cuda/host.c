// Memory of the host that the device knows: the driver's own, pinned, and what was registered.
#include "tests/fakes/cuda/memory.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static struct memory *find_host(enum memory_kind kind, const void *address)
{
    for (struct memory *m = memory_blocks; m < memory_blocks + MEMORY_BLOCKS_MAX; m++) {
        if (m->kind == kind && m->cpu == address)
            return m;
    }
    return NULL;
}

// Whether all pages are there: msync() has nothing to do but to look.
static bool is_mapped(const uint8_t *address, size_t size)
{
    size_t offset = (uintptr_t)address % memory_pages(1);

    return msync((void *)(uintptr_t)(address - offset), size + offset, MS_ASYNC) == 0;
}

// A second view of the pages of `from`, which the device keeps whatever becomes of the first, as
// hardware keeps the pages. Private ones are moved into memory that can be mapped twice; shared
// ones, a camera driver's, can be as they are.
static uint8_t *view_pages(uint8_t *from, size_t size)
{
    void *view = mremap(from, 0, size, MREMAP_MAYMOVE);
    int fd;

    if (view != MAP_FAILED)
        return view;
    fd = memfd_create("registered", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
        view = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (view != MAP_FAILED) {
        void *moved;

        memcpy(view, from, size);
        moved = mmap(from, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
        if (moved != from) {
            munmap(view, size);
            view = MAP_FAILED;
        }
    }
    if (fd >= 0)
        close(fd);
    return view == MAP_FAILED ? NULL : view;
}

int cuMemHostAlloc(void **ret_memory, size_t bytes, unsigned flags)
{
    int r = call_begin(CALL_cuMemHostAlloc);
    struct memory *memory;

    r = r == 0 ? memory_allocate(MEMORY_PINNED, bytes, &memory) : r;
    if (r == 0) {
        memory->device_mapped = flags & CUDA_HOST_DEVICEMAP;
        *ret_memory = memory->cpu;
    }
    return call_end(r);
}

int cuMemFreeHost(void *memory)
{
    int r = call_begin(CALL_cuMemFreeHost);

    return call_end(memory_release(r, find_host(MEMORY_PINNED, memory), RESULT_INVALID_VALUE));
}

static bool overlaps_host(const uint8_t *from, size_t bytes)
{
    for (const struct memory *m = memory_blocks; m < memory_blocks + MEMORY_BLOCKS_MAX; m++) {
        if (m->kind != MEMORY_NONE && m->cpu && from < m->cpu + m->size && m->cpu < from + bytes)
            return true;
    }
    return false;
}

static int register_memory(uint8_t *from, size_t size, unsigned flags)
{
    size_t offset = (uintptr_t)from % memory_pages(1);
    struct memory *slot = memory_find_free();
    struct memory memory = {.kind = MEMORY_REGISTERED,
                            .address = (uintptr_t)from,
                            .cpu = from,
                            .size = size,
                            .offset = offset,
                            .mapped_bytes = memory_pages(size + offset),
                            .device_mapped = flags & CUDA_HOST_DEVICEMAP};

    if (size == 0 || !is_mapped(from, size))
        return RESULT_INVALID_VALUE;
    if (overlaps_host(from, size))
        return RESULT_ALREADY_REGISTERED;
    if (device.options.board->own_address)
        memory.address = (uintptr_t)memory_map(memory.mapped_bytes, PROT_NONE) + offset;
    memory.bytes = view_pages(from - offset, memory.mapped_bytes);
    if (!slot || memory.address == offset || !memory.bytes)
        return RESULT_OUT_OF_MEMORY;
    memory.bytes += offset;
    *slot = memory;
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

    if (memory && !is_mapped(memory->cpu, memory->size))
        fprintf(stderr, "fake_cuda: registered memory was unmapped before it was unregistered\n");
    return call_end(memory_release(r, memory, RESULT_NOT_REGISTERED));
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
