#include "kernels/levels/otsu.h"

#include <float.h>

uint8_t otsu_level(const uint32_t histogram[256])
{
    double scale, mean = 0, below_mean = 0, below = 0, largest = 0;
    uint64_t pixels = 0;
    unsigned best = 0;

    for (unsigned i = 0; i < 256; i++) {
        pixels += histogram[i];
        mean += i * (double)histogram[i];
    }
    scale = 1.0 / (double)pixels;
    mean *= scale;
    for (unsigned i = 0; i < 256; i++) {
        double share = histogram[i] * scale, above, apart, variance;

        below_mean *= below;
        below += share;
        above = 1.0 - below;
        if (below < FLT_EPSILON || above < FLT_EPSILON || below > 1.0 - FLT_EPSILON ||
            above > 1.0 - FLT_EPSILON) {
            continue;
        }
        below_mean = (below_mean + i * share) / below;
        apart = below_mean - (mean - below * below_mean) / above;
        variance = below * above * apart * apart;
        if (variance > largest) {
            largest = variance;
            best = i;
        }
    }
    return (uint8_t)(best + 1);
}
