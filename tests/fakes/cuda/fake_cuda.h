// A libcuda.so.1 for tests: plays a board, computes edged's kernels on the CPU, breaks on request.
//
// Loaded in place of the real one (LD_LIBRARY_PATH, or opened by its path beforehand). The
// environment variable EDGED_FAKE_CUDA holds options between commas, read by cuInit():
//
//   board=NAME            xavier, orin-nano (when nothing is said), agx-orin, thor, h200
//   driver=NUMBER         what cuDriverGetVersion() says, 12060 for 12.6
//   memory=BYTES          device, pinned and managed memory that there is; the board's without
//   registers=KERNEL:N    registers a thread of kernels whose name begins so; 64 without
//   fail=SYMBOL:N:RESULT  the Nth call of a function fails with this CUresult; N+: it and all after
//                         it. SYMBOL * counts the calls of all functions, a wait that asks
//                         about an event again and again as one, so that a program's calls have the
//                         same numbers every time.
//   wait=SYMBOL:N         the Nth call of a function does not return before fake_cuda_change()
//   hang=KERNEL:N         the Nth launch of kernels whose name begins so never ends
//   illegal=KERNEL:N      it touches an illegal address: the context is lost (700)
//   slow=KERNEL:MS        every one takes so long
//   wrong=KERNEL          every one gets a bit of its result wrong; not levels and hysteresis
//   trigger=FILE          a file that a running process looks for at each launch: hang=KERNEL,
//                         illegal=KERNEL or refuse=KERNEL (701, once), done to the next launch that
//                         it fits, when the file is removed
//   report=FILE           appended at exit: a line with the calls of each function, and of all
//
// An option that is not understood ends the process. What the process did wrong goes to stderr in
// lines that begin with "fake_cuda: "; what it may do with none of the boards (touch device memory,
// touch managed memory that a kernel may be using) ends it. Objects that are left at exit are told
// unless the context was lost.
#pragma once

#include <stdint.h>

// For programs that opened the library themselves; found with dlsym().
// Objects made and not released (contexts, modules, streams, events, graphs,
// memory, images); tells each on stderr.
unsigned fake_cuda_leaks(void);
// Calls of all functions since fake_cuda_reset(), counted as for fail=*.
uint64_t fake_cuda_calls(void);
// Calls that wait=SYMBOL:N holds now.
unsigned fake_cuda_waiting(void);
// These options instead of those before, of the same board, while the library is in use.
void fake_cuda_change(const char *options);
// Forgets everything, as a new process would: objects, faults, a lost context, endless kernels. No
// other thread is in the library.
void fake_cuda_reset(void);
