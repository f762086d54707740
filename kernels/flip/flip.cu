// The camera's picture another way up, in one launch: bit for bit what flip.c computes, whose
// header has the formulas.
//
// Buffers. Input: 1 to 3 planes as capture/pixel_format.c lays them out, rows input_stride[i] bytes
// apart. Output: luma and pairs of U and V (nv12), luma alone (grey), or 3 bytes a pixel (rgb3),
// rows output_stride[i] apart; with swapped axes it is as wide as the input is high. Nothing
// outside the samples of any is touched.
//
// Threads. Each reads a tile of 8 by 8 pixels, turns it in its registers, and writes it where the
// turn takes it; threads share nothing. A warp's tiles are 32 side by side, or 4 by 8 where axes
// are swapped: then it reads 32 bytes of luma and writes 64 of each row that it touches. Blocks are
// one row of threads, which the configuration does not choose. Every input byte is read once (the
// last row of an odd number twice), every output byte written once. Bytes a pixel: 1 to 4 read, 1
// to 3 written.
//
// Alignment. Tiles that lie within the picture are read by vectors as convert.cuh has it; eight
// bytes are written at once where they lie within the output and at a multiple of 8, else byte by
// byte.
#include "kernels/convert/convert.cuh"
#include "kernels/flip/flip_cuda.h"

namespace {

constexpr int SIDE = FLIP_CUDA_SIDE, HALF = SIDE / 2;

// N samples of BYTES each, in the lowest bytes of a word, as they lie in memory.
template <int BYTES, int N>
__device__ __forceinline__ void pack(const uint32_t (&samples)[N], uint32_t (&words)[BYTES * N / 4])
{
    if constexpr (BYTES == 3) {
        pack_rgb3(samples, words);
    } else {
        constexpr int EACH = 4 / BYTES;

#pragma unroll
        for (int i = 0; i < BYTES * N / 4; i++) {
            words[i] = 0;
#pragma unroll
            for (int k = 0; k < EACH; k++)
                words[i] |= samples[EACH * i + k] << 8 * BYTES * k;
        }
    }
}

// The samples of a row from `x` on, which may be negative; only those within `width` are written.
template <int BYTES, int N>
__device__ __forceinline__ void store_samples(uint8_t *__restrict__ row, int32_t x, int32_t width,
                                              const uint32_t (&samples)[N])
{
    int64_t at = (int64_t)x * BYTES;

    if (x >= 0 && x + N <= width && aligned(reinterpret_cast<uint64_t>(row) + at, 8)) {
        uint32_t words[BYTES * N / 4];

        pack<BYTES>(samples, words);
        store_words<true>(row + at, words, 0);
        return;
    }
#pragma unroll
    for (int i = 0; i < N; i++) {
        if (x + i >= 0 && x + i < width) {
#pragma unroll
            for (int k = 0; k < BYTES; k++)
                row[at + BYTES * i + k] = (uint8_t)(samples[i] >> 8 * k);
        }
    }
}

template <int N> __device__ __forceinline__ void transpose(uint32_t (&samples)[N][N])
{
#pragma unroll
    for (int i = 1; i < N; i++) {
#pragma unroll
        for (int k = 0; k < i; k++) {
            uint32_t sample = samples[i][k];

            samples[i][k] = samples[k][i];
            samples[k][i] = sample;
        }
    }
}

// Samples from (x, y) on of a plane of `across` by `down` to where they belong in plane `number` of
// the output.
template <int BYTES, int N>
__device__ __forceinline__ void store_turned(const flip_cuda &p, int number, uint32_t across,
                                             uint32_t down, uint32_t x, uint32_t y,
                                             uint32_t (&samples)[N][N])
{
    uint32_t width = p.swapped ? down : across, height = p.swapped ? across : down;
    uint32_t column = p.swapped ? y : x, first = p.swapped ? x : y;
    int32_t to = p.mirrored_x ? (int32_t)(width - column) - N : (int32_t)column;

    if (p.swapped)
        transpose(samples);
#pragma unroll
    for (int i = 0; i < N; i++) {
        uint32_t row = p.mirrored_y ? height - 1 - (first + i) : first + i;
        uint32_t line[N];

        if (first + i < height) {
#pragma unroll
            for (int k = 0; k < N; k++)
                line[k] = samples[i][p.mirrored_x ? N - 1 - k : k];
            store_samples<BYTES>(output_row(p.job, number, row), to, (int32_t)width, line);
        }
    }
}

// Targets. turn() reads the tile at (x, y) and writes it.
template <bool CHROMA> struct flip_to_yuv {
    template <class source, bool VECTOR>
    static __device__ __forceinline__ void turn(const flip_cuda &p, uint32_t x, uint32_t y)
    {
        uint32_t width = p.job.width, height = p.job.height;
        uint32_t luma[SIDE][SIDE], pairs[HALF][HALF];

#pragma unroll
        for (int i = 0; i < HALF; i++) {
            nv12_tile tile;

            source::template load<VECTOR>(p, x, y + ROWS * i, tile);
#pragma unroll
            for (int k = 0; k < SIDE; k++) {
                luma[ROWS * i][k] = tile.luma[0][k / 4] >> k % 4 * 8 & 255;
                luma[ROWS * i + 1][k] = tile.luma[1][k / 4] >> k % 4 * 8 & 255;
            }
#pragma unroll
            for (int k = 0; k < HALF; k++)
                pairs[i][k] = tile.chroma[k / 2] >> k % 2 * 16 & 0xffff;
        }
        store_turned<1>(p, 0, width, height, x, y, luma);
        if (CHROMA)
            store_turned<2>(p, 1, (width + 1) / 2, (height + 1) / 2, x / 2, y / 2, pairs);
    }
};

using flip_to_nv12 = flip_to_yuv<true>;
using flip_to_grey = flip_to_yuv<false>;

struct flip_to_rgb3 {
    template <class source, bool VECTOR>
    static __device__ __forceinline__ void turn(const flip_cuda &p, uint32_t x, uint32_t y)
    {
        uint32_t pixels[SIDE][SIDE];

#pragma unroll
        for (int i = 0; i < SIDE; i++) {
            uint32_t raw[source::BYTES * WORDS];

            source::template load_pixels<VECTOR>(p.job, x, y + i, raw);
#pragma unroll
            for (int k = 0; k < SIDE; k++)
                pixels[i][k] = source::rgb_of(raw, k);
        }
        store_turned<3>(p, 0, p.job.width, p.job.height, x, y, pixels);
    }
};

template <class source, class target> __device__ __forceinline__ void flip(const flip_cuda &p)
{
    uint32_t index = blockIdx.x * blockDim.x + threadIdx.x;
    uint32_t warp = index / FLIP_CUDA_WARP, lane = index % FLIP_CUDA_WARP;
    uint32_t columns = FLIP_CUDA_COLUMNS(p.swapped), rows = FLIP_CUDA_WARP / columns;
    uint32_t x = (warp % p.across * columns + lane % columns) * SIDE;
    uint32_t y = (warp / p.across * rows + lane / columns) * SIDE;

    if (x >= p.job.width || y >= p.job.height)
        return;
    if (takes_vectors<source>(p.job) && x + SIDE <= p.job.width)
        target::template turn<source, true>(p, x, y);
    else
        target::template turn<source, false>(p, x, y);
}

} // namespace

#define DEFINE_KERNEL(format, target)                                                              \
    extern "C" __global__ void __launch_bounds__(FLIP_CUDA_THREADS) flip_##format(flip_cuda p)     \
    {                                                                                              \
        flip<from_##format, flip_to_##target>(p);                                                  \
    }
#define TO_NV12(format, layout) DEFINE_KERNEL(format, nv12)
#define TO_RGB3(format, layout) DEFINE_KERNEL(format, rgb3)

JOB_CHROMA_FORMATS(TO_NV12)
DEFINE_KERNEL(grey, grey)
JOB_RGB_FORMATS(TO_RGB3)
