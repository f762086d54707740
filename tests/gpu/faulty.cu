// Kernels that go wrong, each in a way of its own; launched by one thread, without parameters.
//
// faulty_illegal   writes to address 16, which is nobody's: error 700, and the context is lost.
// faulty_endless   does not end before any deadline: it spins for 20 s by the GPU's own clock, so
//                  that a card whose watchdog is off is not left busy for ever.
#include <stdint.h>

#define ENDLESS_NS 20000000000ull

extern "C" __global__ void faulty_illegal()
{
    *reinterpret_cast<volatile uint32_t *>(uintptr_t{16}) = 1;
}

static __device__ uint64_t globaltimer_ns()
{
    uint64_t now;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

extern "C" __global__ void faulty_endless()
{
    const uint64_t begin = globaltimer_ns();

    while (globaltimer_ns() - begin < ENDLESS_NS) {
    }
}
