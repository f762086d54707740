// The boards that can be played: what their drivers answer about them.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct board {
    const char *option; // as EDGED_FAKE_CUDA names it
    const char *name;   // as cuDeviceGetName does
    int sm, multiprocessors, l2_bytes, driver_version;
    bool integrated;
    bool concurrent_managed_access;
    bool own_address; // registered memory has another address on the device
    int threads_max;  // a multiprocessor
    int blocks_max;   // a multiprocessor
    size_t memory_bytes;
};

// NULL: there is no such board.
const struct board *board_find(const char *option);
// As cuDeviceGetAttribute(); -1: an attribute that edged did not ask for when this was written.
int board_attribute(const struct board *board, int attribute);
// Threads a block of a kernel with so many registers may have.
int board_block_threads(int registers);
// Blocks of so many threads, at least 1, that a multiprocessor runs at once.
int board_resident_blocks(const struct board *board, int registers, int threads);
