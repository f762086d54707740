// EDGED_FAKE_CUDA, taken apart (fake_cuda.h describes it).
#pragma once

#include "tests/fakes/cuda/api.h"
#include "tests/fakes/cuda/board.h"

#include <stdbool.h>
#include <stdint.h>

#define OPTIONS_MAX 16

// A call that fails.
struct options_fail {
    enum call call; // CALL_COUNT: any
    uint64_t nth;   // from 1
    bool onward;
    int result;
};

enum options_act { ACT_HANG, ACT_ILLEGAL, ACT_SLOW, ACT_REFUSE, ACT_REGISTERS, ACT_WRONG };

// Something about the kernels whose name begins with `prefix`.
struct options_kernel {
    enum options_act act;
    char prefix[64];
    uint64_t value; // the launch it is done to, from 1; milliseconds; registers
    uint64_t seen;  // launches that it could have been
};

struct options {
    const struct board *board;
    int driver_version;
    size_t memory_bytes;
    struct options_fail fails[OPTIONS_MAX];
    unsigned fail_count;
    struct options_fail wait; // the call that waits; nth 0: none
    struct options_kernel kernels[OPTIONS_MAX];
    unsigned kernel_count;
    char trigger[256], report[256]; // paths, "" if there is none
};

// Reads `text` (NULL: nothing but what is there without). What is not understood is told on stderr
// and ends the process.
void options_read(const char *text, struct options *ret_options);
// One that concerns kernels, from the words before and behind '='. False: it is none.
bool options_read_kernel(const char *key, const char *value, struct options_kernel *ret_kernel);
const char *options_call_name(enum call call);
