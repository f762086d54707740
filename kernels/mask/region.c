#include "kernels/mask/region.h"

#include <math.h>
#include <string.h>

// Toggles pixels first..width-1.
static void toggle_from(uint64_t *bits, uint32_t width, uint32_t first)
{
    for (size_t word = first / BITS_WORD; word < bits_words(width); word++)
        bits[word] ^= UINT64_MAX << (word == first / BITS_WORD ? first % BITS_WORD : 0);
}

static void clear_outside(uint64_t *bits, uint32_t width)
{
    if (width % BITS_WORD)
        bits[width / BITS_WORD] &= ~(UINT64_MAX << width % BITS_WORD);
}

void region_draw_polygon(const struct config_point *polygon, size_t count, uint32_t width,
                         uint32_t height, uint32_t y, uint64_t *bits)
{
    double middle = (double)y + 0.5;

    memset(bits, 0, bits_words(width) * sizeof *bits);
    for (size_t i = 0; i < count; i++) {
        const struct config_point *a = &polygon[i], *b = &polygon[(i + 1) % count];
        double ay = a->y * height, by = b->y * height;

        // Each edge that crosses the row at its middle turns all pixels right of it: those that are
        // turned an odd number of times are inside.
        if ((ay <= middle) != (by <= middle)) {
            double x = (a->x + (b->x - a->x) * (middle - ay) / (by - ay)) * width;
            double first = ceil(x - 0.5);

            if (first < width)
                toggle_from(bits, width, first > 0 ? (uint32_t)first : 0);
        }
    }
    clear_outside(bits, width);
}

void region_draw_picture(const struct region_picture *picture, uint32_t width, uint32_t height,
                         uint32_t y, uint64_t *bits)
{
    uint64_t row = (2 * (uint64_t)y + 1) * picture->height / (2 * (uint64_t)height);
    const uint8_t *gray = picture->gray + row * picture->stride;

    memset(bits, 0, bits_words(width) * sizeof *bits);
    for (uint32_t x = 0; x < width; x++) {
        uint64_t column = (2 * (uint64_t)x + 1) * picture->width / (2 * (uint64_t)width);

        bits[x / BITS_WORD] |= (uint64_t)(gray[column] >= 128) << x % BITS_WORD;
    }
}

void region_draw_all(uint32_t width, uint64_t *bits)
{
    memset(bits, 0xff, bits_words(width) * sizeof *bits);
    clear_outside(bits, width);
}
