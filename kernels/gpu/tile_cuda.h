// What all kernels and the C code that launches them agree on. Included from C and from CUDA, so
// nothing else of edged is. Device addresses are 64 bit numbers.
#pragma once

#include <stdint.h>

// Pixels of a row that a thread makes.
#define TILE_CUDA_PIXELS 8

// What an address and a stride are multiples of where kernels read that many pixels by vectors.
#define TILE_CUDA_VECTOR_BYTES(pixel_bytes) ((pixel_bytes) % 2 ? 8 : 16)
