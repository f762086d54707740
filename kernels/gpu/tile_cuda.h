// What all kernels and the C code that launches them agree on. Included from C and from CUDA, so
// nothing else of edged is. Device addresses are 64 bit numbers.
#pragma once

#include <stdint.h>

// Pixels of a row that a thread makes.
#define TILE_CUDA_PIXELS 8

// What an address and a stride are multiples of where kernels read that many pixels by vectors.
#define TILE_CUDA_VECTOR_BYTES(pixel_bytes) ((pixel_bytes) % 2 ? 8 : 16)

// The least compute capability, 90 for 9.0, for which the compiler has registers to spare for
// larger tiles.
#define TILE_CUDA_ROOMY_SM 90

// Threads a block may have there of kernels that make better use of the registers which fewer
// threads leave: direction.cu's and those of the 5x5 Sobel's L2.
#define TILE_CUDA_THREADS_FEWER 896
