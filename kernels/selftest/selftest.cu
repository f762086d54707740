// The self-tests of the GPU: small programs whose results are known.
//
//   sum      output[0] = sum of i j over i, j < n                                  n = sizes[0]
//   lucas    output[i] = L(i), L(0) = 2, L(1) = 1, L(i) = L(i-1) + L(i-2)          i < sizes[0]
//   pi       output[0] = points (x, y) of `sizes[0]` random ones with x² + y² < 2^62
//   matrix   C = A B of sizes[0] x sizes[1] and sizes[1] x sizes[2]
//   vector   z = sqrt(|2 (x - y) / (x + y)|), each operation rounded as IEEE 754 says
//   gray     (9798 R + 19235 G + 3735 B + 16384) >> 15
//
// All but `vector` compute in integers, or in floats that hold integers exactly (matrix), so that
// there is one right result. Random number i is splitmix64 of i; its upper 31 bits are x, its lower
// 31 bits y.
//
// Buffers. sum, lucas, pi: 64 bit words, no input. matrix: floats, row by row, B behind A. vector:
// sizes[0] floats x, as many y behind them, as many z. gray: 3 bytes a pixel to 1.
//
// Threads. sum and pi: any number in a row, each takes every so many-th term or point, blocks of
// SELFTEST_CUDA_THREADS add up in shared memory. matrix: square blocks, a thread an element, tiles
// of A and B in shared memory. lucas, vector, gray: a thread an element. Nothing is asked of
// alignment but that of the elements.
#include "kernels/selftest/selftest_cuda.h"

namespace {

constexpr uint32_t THREADS = SELFTEST_CUDA_THREADS, TILE = SELFTEST_CUDA_TILE;

__device__ __forceinline__ uint32_t thread_of_grid()
{
    return blockIdx.x * THREADS + threadIdx.x;
}

// Adds the blocks' sums of `value` to *output.
__device__ void add_up(uint64_t value, uint64_t *output)
{
    __shared__ uint64_t values[THREADS];

    values[threadIdx.x] = value;
    for (uint32_t half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            values[threadIdx.x] += values[threadIdx.x + half];
    }
    if (threadIdx.x == 0)
        atomicAdd(reinterpret_cast<unsigned long long *>(output), values[0]);
}

} // namespace

extern "C" __global__ void __launch_bounds__(THREADS) selftest_sum(selftest_cuda p)
{
    uint32_t n = p.sizes[0], terms = n * n, step = gridDim.x * THREADS;
    uint64_t sum = 0;

    for (uint32_t term = thread_of_grid(); term < terms; term += step)
        sum += (uint64_t)(term / n) * (term % n);
    add_up(sum, reinterpret_cast<uint64_t *>(p.output));
}

extern "C" __global__ void __launch_bounds__(THREADS) selftest_lucas(selftest_cuda p)
{
    uint32_t number = thread_of_grid();
    uint64_t a = 2, b = 1;

    if (number >= p.sizes[0])
        return;
    for (uint32_t i = 0; i < number; i++) {
        uint64_t next = a + b;

        a = b;
        b = next;
    }
    reinterpret_cast<uint64_t *>(p.output)[number] = a;
}

extern "C" __global__ void __launch_bounds__(THREADS) selftest_pi(selftest_cuda p)
{
    uint32_t step = gridDim.x * THREADS;
    uint64_t inside = 0;

    for (uint32_t point = thread_of_grid(); point < p.sizes[0]; point += step) {
        uint64_t bits;

        SELFTEST_CUDA_RANDOM(point, bits);
        uint64_t x = bits >> 33, y = bits & 0x7fffffff;
        inside += x * x + y * y < UINT64_C(1) << 62;
    }
    add_up(inside, reinterpret_cast<uint64_t *>(p.output));
}

extern "C" __global__ void __launch_bounds__(TILE *TILE) selftest_matrix(selftest_cuda p)
{
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    uint32_t rows = p.sizes[0], depth = p.sizes[1], columns = p.sizes[2];
    uint32_t x = threadIdx.x, y = threadIdx.y;
    uint32_t column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
    const float *__restrict__ a = reinterpret_cast<const float *>(p.input);
    const float *__restrict__ b = a + (size_t)rows * depth;
    float sum = 0;

    for (uint32_t k = 0; k < depth; k += TILE) {
        tile_a[y][x] = row < rows && k + x < depth ? a[(size_t)row * depth + k + x] : 0;
        tile_b[y][x] =
            k + y < depth && column < columns ? b[(size_t)(k + y) * columns + column] : 0;
        __syncthreads();
        for (uint32_t i = 0; i < TILE; i++)
            sum += tile_a[y][i] * tile_b[i][x];
        __syncthreads();
    }
    if (row < rows && column < columns)
        reinterpret_cast<float *>(p.output)[(size_t)row * columns + column] = sum;
}

extern "C" __global__ void __launch_bounds__(THREADS) selftest_vector(selftest_cuda p)
{
    uint32_t i = thread_of_grid(), count = p.sizes[0];
    const float *__restrict__ input = reinterpret_cast<const float *>(p.input);

    if (i < count) {
        float x = input[i], y = input[count + i];
        float ratio = __fdiv_rn(2 * __fsub_rn(x, y), __fadd_rn(x, y));

        reinterpret_cast<float *>(p.output)[i] = __fsqrt_rn(fabsf(ratio));
    }
}

extern "C" __global__ void __launch_bounds__(THREADS) selftest_gray(selftest_cuda p)
{
    uint32_t i = thread_of_grid();
    const uint8_t *__restrict__ pixel = reinterpret_cast<const uint8_t *>(p.input) + (size_t)i * 3;

    if (i < p.sizes[0]) {
        reinterpret_cast<uint8_t *>(p.output)[i] =
            (uint8_t)((9798u * pixel[0] + 19235u * pixel[1] + 3735u * pixel[2] + 16384) >> 15);
    }
}
