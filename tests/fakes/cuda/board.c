// Figures as NVIDIA publishes them; driver versions of JetPack 5.1, 6.2 and 7.0.
#include "tests/fakes/cuda/board.h"

#include "kernels/gpu/cuda_driver.h"

#include <string.h>

#define WARP 32
#define REGISTERS 65536 // of a multiprocessor and of a block
#define BLOCK_THREADS_MAX 1024
#define GIB ((size_t)1 << 30)

static const struct board boards[] = {
    {.option = "xavier",
     .name = "Xavier",
     .sm = 72,
     .multiprocessors = 8,
     .l2_bytes = 512 << 10,
     .driver_version = 11040,
     .integrated = true,
     .own_address = true,
     .threads_max = 2048,
     .blocks_max = 32,
     .memory_bytes = 32 * GIB},
    {.option = "orin-nano",
     .name = "Orin",
     .sm = 87,
     .multiprocessors = 8,
     .l2_bytes = 2 << 20,
     .driver_version = 12060,
     .integrated = true,
     .own_address = true,
     .threads_max = 1536,
     .blocks_max = 16,
     .memory_bytes = 8 * GIB},
    {.option = "agx-orin",
     .name = "Orin",
     .sm = 87,
     .multiprocessors = 16,
     .l2_bytes = 4 << 20,
     .driver_version = 12060,
     .integrated = true,
     .own_address = true,
     .threads_max = 1536,
     .blocks_max = 16,
     .memory_bytes = 64 * GIB},
    {.option = "thor",
     .name = "NVIDIA Thor",
     .sm = 110,
     .multiprocessors = 20,
     .l2_bytes = 32 << 20,
     .driver_version = 13000,
     .integrated = true,
     .concurrent_managed_access = true,
     .threads_max = 1536,
     .blocks_max = 24,
     .memory_bytes = 128 * GIB},
    {.option = "h200",
     .name = "NVIDIA H200",
     .sm = 90,
     .multiprocessors = 132,
     .l2_bytes = 60 << 20,
     .driver_version = 13000,
     .concurrent_managed_access = true,
     .threads_max = 2048,
     .blocks_max = 32,
     .memory_bytes = 141 * GIB},
};

const struct board *board_find(const char *option)
{
    for (size_t i = 0; i < sizeof boards / sizeof boards[0]; i++) {
        if (strcmp(boards[i].option, option) == 0)
            return &boards[i];
    }
    return NULL;
}

int board_attribute(const struct board *board, int attribute)
{
    switch (attribute) {
    case CUDA_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CUDA_ATTRIBUTE_MAX_BLOCK_DIM_Y:
        return BLOCK_THREADS_MAX;
    case CUDA_ATTRIBUTE_MULTIPROCESSOR_COUNT:
        return board->multiprocessors;
    case CUDA_ATTRIBUTE_INTEGRATED:
        return board->integrated;
    case CUDA_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CUDA_ATTRIBUTE_MANAGED_MEMORY:
    case CUDA_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
        return 1;
    case CUDA_ATTRIBUTE_L2_CACHE_SIZE:
        return board->l2_bytes;
    case CUDA_ATTRIBUTE_MULTIPROCESSOR_THREADS:
        return board->threads_max;
    case CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
        return board->sm / 10;
    case CUDA_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
        return board->sm % 10;
    case CUDA_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
        return board->concurrent_managed_access;
    default:
        return -1;
    }
}

// A warp takes its registers in portions of 256.
static int warps_at_once(int registers)
{
    return REGISTERS / ((registers * WARP + 255) / 256 * 256);
}

int board_block_threads(int registers)
{
    int threads = warps_at_once(registers) * WARP;

    return threads < BLOCK_THREADS_MAX ? threads : BLOCK_THREADS_MAX;
}

int board_resident_blocks(const struct board *board, int registers, int threads)
{
    int warps = (threads + WARP - 1) / WARP;
    int by_registers = warps_at_once(registers) / warps;
    int by_threads = board->threads_max / WARP / warps;
    int blocks = by_registers < by_threads ? by_registers : by_threads;

    return blocks < board->blocks_max ? blocks : board->blocks_max;
}
