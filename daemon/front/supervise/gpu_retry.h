// Decides whether the GPU is to blame for a camera process that died, and when a GPU that failed is
// tried again. It only keeps counts and times; the supervisor acts on them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum gpu_use {
    GPU_UNUSED,   // none is wanted
    GPU_OPENING,  // the process may use it, and has not said yet what computes
    GPU_COMPUTES, // the process computes on it
    GPU_IDLE,     // the process may use it, but computes on the CPU
    GPU_WITHHELD, // it failed: the process was told to compute on the CPU, as will be the next
    GPU_TRIED,    // the same, and the process was told to try it
};

// Embedded; starts out as {0}. All times are CLOCK_MONOTONIC.
struct gpu_retry {
    enum gpu_use use;
    int64_t computes_ns; // since when the GPU computes, if it does
    int64_t died_ns;     // when a process died with the GPU in use; 0: none did
    unsigned next_ms;    // what the next delay is to be; 0: the first
    bool tried;          // since it failed
    // The caller has replaced a process that may not open the GPU's devices, as they may have come
    // after it had started. A further process could do no better, however late it says that they
    // are refused to it as well, until the GPU has computed.
    bool replaced;
};

// A process is about to start, with the GPU `wanted`: it may use it (GPU_OPENING) unless that has
// failed and not come back (GPU_WITHHELD).
void gpu_retry_begin(struct gpu_retry *retry, bool wanted);
// The process says what computes: "CUDA sm_87", "CPU", "" before it is known.
void gpu_retry_note_backend(struct gpu_retry *retry, const char *backend, int64_t now_ns);
// The process died without saying why, by a signal or not. True when it is the second within 30 s
// that used the GPU, or was killed while it opened it: the GPU is to blame.
bool gpu_retry_note_death(struct gpu_retry *retry, bool by_signal, int64_t now_ns);
// The GPU failed, upon which the caller sets GPU_WITHHELD, or could not be had. Returns the delay
// before it is tried again: 1 s, doubling up to 60 s, and 1 s again for a GPU that computed for
// 60 s.
unsigned gpu_retry_fail_ms(struct gpu_retry *retry, int64_t now_ns);
// The GPU is tried now. Returns the delay before the next try, in case this one fails. The delays
// grow with each failed try, and leave a process the time that opening a GPU may take.
unsigned gpu_retry_try_ms(struct gpu_retry *retry);
