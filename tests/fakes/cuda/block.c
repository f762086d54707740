#include "tests/fakes/cuda/block.h"

#include "tests/fakes/cuda/toolkit/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define WARP FAKE_CUDA_WARP
#define BARRIERS 2
#define THREADS_MAX 1024
#define STACK_BYTES 16384
#define STACKS_BYTES ((size_t)THREADS_MAX * STACK_BYTES)

// Where threads wait for each other.
struct meeting {
    unsigned arrived;
    unsigned turn;            // how often all were there
    uint64_t values[2][WARP]; // of a warp: what its lanes gave at even and odd turns
};

struct fiber {
    void *at[5];            // where it goes on
    struct meeting *awaits; // NULL: nothing
    unsigned turn;          // that ends there
    bool begun;             // in this launch
    bool ended;             // the kernel, in this block
};

struct block {
    void (*call)(const void *context);
    const void *context;
    void *scheduler[5]; // where it goes on when a fiber waits
    uint32_t current;   // fiber that runs
    uint32_t threads;
    uint8_t *stacks; // owned
    struct fiber fibers[THREADS_MAX];
    struct meeting warps[THREADS_MAX / WARP], barriers[BARRIERS];
};

__thread struct fake_cuda_thread fake_cuda_thread;
static __thread struct block *block; // NULL: the thread is a block of its own

// swapcontext() asks the kernel for the signal mask each time; the compiler's own jumps do not, and
// no sanitizer takes them for a return. They have to be in functions of their own, of which callers
// assume nothing (noipa): GCC's -fipa-ra would keep values in registers that the fiber in between
// has changed, and does on arm64. Clang has no such pass and no such attribute.
#ifdef __clang__
#define OPAQUE __attribute__((noinline))
#else
#define OPAQUE __attribute__((noipa))
#endif

static __attribute__((noinline, noreturn)) void jump(void **to)
{
    __builtin_longjmp(to, 1);
}

static OPAQUE void wait_here(struct fiber *fiber)
{
    if (__builtin_setjmp(fiber->at) == 0)
        jump(block->scheduler);
}

static void run_fiber(void)
{
    struct fiber *self = &block->fibers[block->current];

    for (;;) {
        block->call(block->context);
        self->ended = true;
        wait_here(self);
    }
}

static void start(void)
{
    ucontext_t context;

    getcontext(&context);
    context.uc_stack.ss_sp = block->stacks + (size_t)block->current * STACK_BYTES;
    context.uc_stack.ss_size = STACK_BYTES;
    makecontext(&context, run_fiber, 0);
    setcontext(&context);
}

static OPAQUE void go_on(struct fiber *fiber)
{
    if (__builtin_setjmp(block->scheduler) == 0) {
        if (fiber->begun)
            jump(fiber->at);
        fiber->begun = true;
        start();
    }
}

static void meet(struct meeting *meeting, unsigned threads)
{
    struct fiber *self = &block->fibers[block->current];

    if (++meeting->arrived == threads) {
        meeting->arrived = 0;
        meeting->turn++;
        return;
    }
    self->awaits = meeting;
    self->turn = meeting->turn;
    wait_here(self);
}

// Nobody is two turns ahead of another lane, so that the values of a turn stay while they are read.
const uint64_t *fake_cuda_meet_warp(uint64_t value)
{
    static __thread uint64_t alone[WARP];
    uint32_t warp, rest;
    uint64_t *values;

    if (!block) {
        alone[0] = value;
        return alone;
    }
    warp = block->current / WARP;
    rest = block->threads - warp * WARP;
    values = block->warps[warp].values[block->warps[warp].turn % 2];
    values[block->current % WARP] = value;
    meet(&block->warps[warp], rest < WARP ? rest : WARP);
    return values;
}

void fake_cuda_meet_block(unsigned barrier, unsigned threads)
{
    if (block)
        meet(&block->barriers[barrier], threads ? threads : block->threads);
}

// Runs those threads of a warp that do not wait. False: all wait or are at their end.
static bool run_warp(uint32_t first)
{
    bool ran = false;

    for (uint32_t i = first; i < first + WARP && i < block->threads; i++) {
        struct fiber *fiber = &block->fibers[i];

        if (fiber->ended || (fiber->awaits && fiber->awaits->turn == fiber->turn))
            continue;
        fiber->awaits = NULL;
        block->current = i;
        fake_cuda_thread.thread = (struct fake_cuda_size){i % fake_cuda_thread.block_size.x,
                                                          i / fake_cuda_thread.block_size.x, 0};
        go_on(fiber);
        ran = true;
    }
    return ran;
}

static void run_block(const char *name)
{
    bool ran = true;

    for (uint32_t i = 0; i < block->threads; i++)
        block->fibers[i].ended = false;
    while (ran) {
        ran = false;
        for (uint32_t i = 0; i < block->threads; i += WARP) {
            while (run_warp(i))
                ran = true;
        }
    }
    for (uint32_t i = 0; i < block->threads; i++) {
        if (!block->fibers[i].ended) {
            fprintf(stderr, "fake_cuda: %s: thread %u waits for one that never comes\n", name, i);
            abort();
        }
    }
}

// Their stacks are touched anew by each block, so that they are kept from launch to launch.
static struct block *spare;

static struct block *block_take(void)
{
    struct block *taken = __atomic_exchange_n(&spare, NULL, __ATOMIC_ACQ_REL);

    if (!taken) {
        taken = calloc(1, sizeof *taken);
        taken->stacks = mmap(NULL, STACKS_BYTES, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (taken->stacks == MAP_FAILED)
            abort();
    }
    return taken;
}

static void block_give_back(struct block *taken)
{
    taken = __atomic_exchange_n(&spare, taken, __ATOMIC_ACQ_REL);
    if (taken) {
        munmap(taken->stacks, STACKS_BYTES);
        free(taken);
    }
}

void block_run_grid(const struct launch *launch, void (*call)(const void *context),
                    const void *context)
{
    const struct fake_cuda_size size = {launch->block_x, launch->block_y, 1};
    const struct fake_cuda_size grid = {launch->threads_x / size.x, launch->threads_y / size.y, 1};

    block = block_take();
    block->call = call;
    block->context = context;
    block->threads = size.x * size.y;
    memset(block->fibers, 0, sizeof block->fibers);
    memset(block->warps, 0, sizeof block->warps);
    memset(block->barriers, 0, sizeof block->barriers);
    for (uint32_t i = 0; i < grid.x * grid.y; i++) {
        fake_cuda_thread = (struct fake_cuda_thread){
            .block = {i % grid.x, i / grid.x, 0}, .block_size = size, .grid_size = grid};
        run_block(launch->name);
    }
    block_give_back(block);
    block = NULL;
}
