// NVIDIA's own library for this job, where it is installed: its gradient and its conversion to 8
// bits, opened at run time and called with our stream.
#pragma once

#include "kernels/gpu/gpu.h"

struct npp;

// NULL: not installed, or of another shape.
struct npp *npp_open(const struct gpu *gpu);
void npp_close(struct npp *npp); // takes NULL

// GREY to 8 bit l2 magnitude by way of `between`, 16 bit device memory of width x height. Device
// addresses, strides of `width` bytes. 0 or -EIO.
int npp_magnitude(const struct npp *npp, uint64_t input, uint64_t between, uint64_t output,
                  uint32_t width, uint32_t height);

// Bytes of device memory that npp_canny() works in, 0 where it is missing.
size_t npp_canny_bytes(const struct npp *npp, uint32_t width, uint32_t height);
// GREY to NPP's Canny with its l2 norm. Device addresses, strides of `width` bytes. 0 or -EIO.
int npp_canny(const struct npp *npp, uint64_t input, uint64_t work, uint64_t output, uint32_t width,
              uint32_t height, int low, int high);
