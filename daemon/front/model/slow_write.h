// A write in a thread of its own: a card may take seconds for it, and viewers must not notice.
//
// The thread has what it writes to itself, so a disk that never answers costs that write alone.
// Main loop only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct slow_write;

// Has a thread run `run(work)`, and then the main loop `ended(context)`, where slow_write_end() is
// to be called. Until that returns it, the thread alone may touch `work`. Without a thread to be
// had it has run when this returns.
struct slow_write *slow_write_begin(void (*run)(void *work), void *work,
                                    void (*ended)(void *context), void *context);
// Waits for it, until `until_ns` of CLOCK_MONOTONIC at most. Whether it has run.
bool slow_write_wait(struct slow_write *write, int64_t until_ns);
// Frees it; ended() is not called any more. Returns the caller's `work`. NULL: it has not run, so
// the thread goes on and keeps `work`, which is never freed.
void *slow_write_end(struct slow_write *write);
