// Shared by all functions of the library: options, counts, calls that are told to fail.
#pragma once

#include "capture/nvmm/nvbufsurface.h"
#include "tests/fakes/nvmm/fake_nvmm.h"

#include <pthread.h>

// NOLINTNEXTLINE(bugprone-macro-parentheses): a declarator and its list of parameters
#define DECLARE(name, symbol, parameters) int symbol parameters;
NVBUFSURFACE_FUNCTIONS(DECLARE)
#undef DECLARE

#define CALL(name, symbol, parameters) CALL_##symbol,
enum call { NVBUFSURFACE_FUNCTIONS(CALL) CALL_by_elements, CALL_COUNT };
#undef CALL

struct fake {
    pthread_mutex_t lock; // guards all, and the surfaces; held from call_begin() to call_end()
    bool was_read, jetpack5, jetpack7, other_layout, one_plane, blocks, no_sync[2];
    char report[256];
    enum call failing; // CALL_COUNT: any
    uint64_t fail_nth; // 0: none
    bool fail_onward;
    uint64_t calls[CALL_COUNT], total;
    uint64_t told[CALL_COUNT], told_total; // of them, in the report
};

extern struct fake fake;

// Locks and counts. False: the call was told to fail. Functions that release do it all the same.
bool call_begin(enum call call);
// Unlocks. What the function returns.
int call_end(bool done);
// With the lock: appends to the report what it does not tell yet.
void calls_report(void);
