#include "tests/gpu/pattern_code.h"

enum { BLOCKS = 20, NUMBER_BITS = 16, BLOCK_MIN_PX = 4 };

static unsigned block_size(unsigned width)
{
    unsigned size = width / BLOCKS / 4 * 4;

    return size < BLOCK_MIN_PX ? BLOCK_MIN_PX : size;
}

// Mean of the inner part of a block, away from what coding smears over its edges.
static unsigned block_mean(const uint8_t *luma, size_t stride, unsigned size, unsigned index)
{
    unsigned inset = size / 4, sum = 0, count = 0;

    for (unsigned y = inset; y < size - inset; y++) {
        for (unsigned x = inset; x < size - inset; x++) {
            sum += luma[y * stride + index * size + x];
            count++;
        }
    }
    return sum / count;
}

int pattern_code_read(const uint8_t *luma, size_t stride, unsigned width, unsigned height,
                      enum pattern_view view)
{
    static const unsigned thresholds[] = {[PATTERN_VIEW_CAMERA] = 77, [PATTERN_VIEW_EDGES] = 125};
    unsigned size = block_size(width), bits = 0;

    if (width < size * BLOCKS || height < size)
        return -1;
    for (unsigned k = 0; k < BLOCKS; k++)
        bits |= (unsigned)(block_mean(luma, stride, size, k) > thresholds[view]) << k;
    unsigned number = bits & 0xffff;
    unsigned check = (number ^ number >> 4 ^ number >> 8 ^ number >> 12 ^ 10) & 15;
    return bits >> NUMBER_BITS == check ? (int)number : -1;
}
