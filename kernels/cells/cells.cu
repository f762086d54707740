// A camera's picture to the means of its cells, in one launch: bit for bit what cells.c computes,
// whose header has the formula.
//
//   cell = floor((sum of its pixels' gray + n / 2) / n)     of its n pixels
//
// Buffers. Input: plane 0 of the picture, rows input_stride[0] bytes apart, in the layout of the
// kernel's name. Output: a byte a cell, rows output_stride[0] bytes apart. Nothing else is written.
//
// Threads. A block of CELLS_CUDA_THREADS makes one row of cells. Each thread adds up eight columns
// of pixels side by side over the rows of the cells, and goes on so many columns further where the
// picture is wider than the block. The sums lie in shared memory, 2 bytes a column; then each
// thread adds up the columns of a cell. The configuration does not choose blocks: every byte of the
// input is read once, whatever they are, so that memory that a GPU does not cache costs no more
// than other. Bytes a pixel: 1 to 4 read, next to none written.
//
// Alignment. Vectors are read as gray.cuh has it where address and stride allow it and the eight
// columns lie within the picture, else bytes.
#include "kernels/cells/cells_cuda.h"
#include "kernels/gpu/gray.cuh"

namespace {

// Of columns of pixels; a sum of 257 rows of 255 still fits.
__shared__ uint16_t sums[CELLS_CUDA_WIDTH_MAX];

template <class layout, bool VECTOR>
__device__ __forceinline__ void add_columns(const cells_cuda &p, uint32_t x, uint32_t first,
                                            uint32_t end)
{
    uint32_t even[WORDS] = {}, odd[WORDS] = {};

#pragma unroll 2
    for (uint32_t y = first; y < end; y++) {
        uint32_t gray[WORDS];

        load_gray<layout, VECTOR>(input_row(p.job, 0, y), x, p.job.width, gray);
#pragma unroll
        for (int i = 0; i < WORDS; i++) {
            even[i] += gray[i] & 0x00ff00ff;
            odd[i] += gray[i] >> 8 & 0x00ff00ff;
        }
    }
#pragma unroll
    for (int i = 0; i < WORDS; i++) {
        sums[x + 4 * i] = (uint16_t)even[i];
        sums[x + 4 * i + 1] = (uint16_t)odd[i];
        sums[x + 4 * i + 2] = (uint16_t)(even[i] >> 16);
        sums[x + 4 * i + 3] = (uint16_t)(odd[i] >> 16);
    }
}

__device__ __forceinline__ void make_cell(const cells_cuda &p, uint32_t column, uint32_t rows)
{
    uint32_t first = column * p.side, end = min(first + p.side, p.job.width), sum = 0;
    uint32_t pixels = (end - first) * rows;

    for (uint32_t x = first; x < end; x++)
        sum += sums[x];
    output_row(p.job, 0, blockIdx.x)[column] = (uint8_t)((sum + pixels / 2) / pixels);
}

template <class layout> __device__ __forceinline__ void make_row(const cells_cuda &p)
{
    uint32_t first = blockIdx.x * p.side, end = min(first + p.side, p.job.height);
    bool vectors = aligned(p.job.input[0] | p.job.input_stride[0], layout::VECTOR_BYTES);

    for (uint32_t x = threadIdx.x * PIXELS; x < p.job.width; x += CELLS_CUDA_THREADS * PIXELS) {
        if (vectors && x + PIXELS <= p.job.width)
            add_columns<layout, true>(p, x, first, end);
        else
            add_columns<layout, false>(p, x, first, end);
    }
    __syncthreads();
    for (uint32_t column = threadIdx.x; column < p.columns; column += CELLS_CUDA_THREADS)
        make_cell(p, column, end - first);
}

} // namespace

#define DEFINE_KERNEL(layout)                                                                      \
    extern "C" __global__ void __launch_bounds__(CELLS_CUDA_THREADS) cells_##layout(cells_cuda p)  \
    {                                                                                              \
        make_row<layout>(p);                                                                       \
    }

JOB_LAYOUTS(DEFINE_KERNEL)
