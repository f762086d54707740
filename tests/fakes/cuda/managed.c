// The rule of boards without concurrent managed access: the CPU leaves a managed block alone from
// the launch of a kernel that may use it until it has asked and heard that the kernel is done. Any
// kernel may use a block that is attached to all streams, those of its stream one that is attached
// to a single one, none one that is attached to the host.
#include "tests/fakes/cuda/memory.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct attachment {
    struct memory *memory;
    struct memory_owner owner;
};

static struct sigaction before; // what was done about SIGSEGV

static bool cpu_may_touch(const struct memory *memory)
{
    if (device.options.board->concurrent_managed_access || device.lost != 0)
        return true;
    switch (memory->asked.attached) {
    case CUDA_ATTACH_HOST: // once that has happened
        return !memory->asked_in || memory->asked_in->seen >= memory->asked_at;
    case CUDA_ATTACH_SINGLE:
        return stream_seems_idle(memory->asked.stream);
    default:
        return streams_seem_idle();
    }
}

void memory_protect(void)
{
    for (struct memory *m = memory_blocks; m < memory_blocks + MEMORY_BLOCKS_MAX; m++) {
        if (m->kind == MEMORY_MANAGED && m->closed == cpu_may_touch(m)) {
            m->closed = !m->closed;
            mprotect(m->cpu, m->mapped_bytes, m->closed ? PROT_NONE : PROT_READ | PROT_WRITE);
        }
    }
}

const char *memory_forbidden(const struct memory *memory, const struct CUstream_st *stream)
{
    const struct memory_owner *owner = &memory->applied;

    if (device.options.board->concurrent_managed_access || owner->attached == CUDA_ATTACH_GLOBAL)
        return NULL;
    if (owner->attached == CUDA_ATTACH_HOST)
        return "attached to the host";
    return owner->stream == stream ? NULL : "attached to another stream";
}

void memory_forget_stream(const struct CUstream_st *stream)
{
    const struct memory_owner all = {CUDA_ATTACH_GLOBAL, NULL};

    for (struct memory *m = memory_blocks; m < memory_blocks + MEMORY_BLOCKS_MAX; m++) {
        if (m->kind == MEMORY_MANAGED && m->asked_in == stream) {
            m->asked_in = NULL;
            m->asked = m->asked.attached == CUDA_ATTACH_SINGLE ? all : m->asked;
            m->applied = m->applied.attached == CUDA_ATTACH_SINGLE ? all : m->applied;
        }
    }
    memory_protect();
}

// In the handler of a signal: the lock may be held by whom it interrupted.
static const char *closed_kind_at(const void *address)
{
    uint64_t at = (uintptr_t)address;

    for (const struct memory *m = memory_blocks; m < memory_blocks + MEMORY_BLOCKS_MAX; m++) {
        if (m->kind == MEMORY_MANAGED && m->closed && at - m->address < m->mapped_bytes)
            return "managed";
        if (m->kind == MEMORY_DEVICE && at - m->address < m->mapped_bytes)
            return "device";
        if (m->kind == MEMORY_SURFACE && at - m->address < m->mapped_bytes)
            return "the device's address of a surface's";
        if (m->kind == MEMORY_REGISTERED && m->cpu != (void *)(uintptr_t)m->address &&
            at - m->address < m->mapped_bytes) {
            return "the device's address of registered";
        }
    }
    return NULL;
}

// Anything else is left to who cared before: it happens again.
static void handle(int number, siginfo_t *info, void *context)
{
    const char *kind = closed_kind_at(info->si_addr);
    char line[256];
    int length;

    (void)number;
    (void)context;
    if (!kind) {
        sigaction(SIGSEGV, &before, NULL);
        return;
    }
    length = snprintf(line, sizeof line,
                      "fake_cuda: CPU touched %s memory at %p while kernel %s"
                      " runs\n",
                      kind, info->si_addr, streams_kernel());
    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        _exit(EXIT_FAILURE);
    abort();
}

void memory_guard(void)
{
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO}, old;

    sigaction(SIGSEGV, &action, &old);
    if (old.sa_sigaction != handle)
        before = old;
}

static int apply(struct CUstream_st *stream, void *payload)
{
    const struct attachment *attachment = payload;

    (void)stream;
    pthread_mutex_lock(&device.lock);
    attachment->memory->applied = attachment->owner;
    pthread_mutex_unlock(&device.lock);
    return 0;
}

static int attach(struct CUstream_st *stream, struct memory *memory, unsigned flags)
{
    struct attachment attachment = {memory, {flags, flags == CUDA_ATTACH_SINGLE ? stream : NULL}};
    int r = stream_queue(stream, apply, &attachment, sizeof attachment, NULL);

    if (r == 0) {
        memory->asked = attachment.owner;
        memory->asked_in = stream;
        memory->asked_at = stream->queued;
        memory_protect();
    }
    return r;
}

int cuStreamAttachMemAsync(struct CUstream_st *handle, uint64_t address, size_t bytes,
                           unsigned flags)
{
    int r = call_begin(CALL_cuStreamAttachMemAsync);
    struct CUstream_st *stream = r == 0 ? stream_find(handle) : NULL;
    struct memory *memory = memory_at(address);
    bool known = flags == CUDA_ATTACH_GLOBAL || flags == CUDA_ATTACH_HOST ||
                 (flags == CUDA_ATTACH_SINGLE && handle);

    if (r == 0 && !stream) {
        r = RESULT_INVALID_HANDLE;
    } else if (r == 0 && (!memory || memory->kind != MEMORY_MANAGED || !known ||
                          memory->address != address || (bytes != 0 && bytes != memory->size))) {
        r = RESULT_INVALID_VALUE;
    }
    return call_end(r == 0 ? attach(stream, memory, flags) : r);
}
