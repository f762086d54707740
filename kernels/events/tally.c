#include "kernels/events/tally.h"

#include <errno.h>
#include <string.h>

static void draw_row(const struct watched_region *region, uint32_t width, uint32_t height,
                     uint32_t y, uint64_t *bits)
{
    if (region->empty) {
        memset(bits, 0, bits_words(width) * sizeof *bits);
    } else if (region->picture) {
        region_draw_picture(region->picture, width, height, y, bits);
    } else if (region->settings->polygon_count > 0) {
        region_draw_polygon(region->settings->polygon, region->settings->polygon_count, width,
                            height, y, bits);
    } else {
        region_draw_all(width, bits);
    }
}

// Of a row that is drawn.
static void count_pixels(struct tally *tally, uint32_t y)
{
    const uint64_t *bits = tally->mask + y * tally->words;

    for (size_t i = 0; i < tally->words; i++) {
        if (bits[i]) {
            tally->pixels += (uint32_t)__builtin_popcountll(bits[i]);
            tally->left = i < tally->left ? i : tally->left;
            tally->right = i + 1 > tally->right ? i + 1 : tally->right;
            tally->top = tally->top == tally->bottom ? y : tally->top;
            tally->bottom = y + 1;
        }
    }
}

int tally_init(struct tally *tally, const struct watched_region *region, uint32_t width,
               uint32_t height)
{
    size_t words = bits_words(width);

    *tally = (struct tally){.words = words, .left = words};
    tally->mask = calloc(words * height, sizeof *tally->mask);
    tally->columns = calloc(words, sizeof *tally->columns);
    if (!tally->mask || !tally->columns) {
        return -ENOMEM;
    }
    for (uint32_t y = 0; y < height; y++) {
        draw_row(region, width, height, y, tally->mask + y * words);
        count_pixels(tally, y);
    }
    return 0;
}

void tally_finish(struct tally *tally)
{
    free(tally->mask);
    free(tally->columns);
}

void tally_add_row(struct tally *tally, uint32_t y, const uint64_t *bits)
{
    if (y < tally->top || y >= tally->bottom) {
        return;
    }
    size_t moving = bits_count(bits + tally->left, tally->mask + y * tally->words + tally->left,
                               tally->right - tally->left, tally->columns + tally->left);
    if (moving > 0) {
        tally->first = tally->moving ? tally->first : y;
        tally->end = y + 1;
        tally->moving += (uint32_t)moving;
    }
}

struct region_reading tally_read(struct tally *tally)
{
    struct region_reading reading = {.pixels = tally->pixels, .moving = tally->moving};
    const uint64_t *columns = tally->columns;
    size_t first = tally->left, last = tally->right - 1;

    if (tally->moving == 0) {
        return reading;
    }
    while (!columns[first]) {
        first++;
    }
    while (!columns[last]) {
        last--;
    }
    size_t left = first * BITS_WORD + (size_t)__builtin_ctzll(columns[first]);
    size_t right = (last + 1) * BITS_WORD - (size_t)__builtin_clzll(columns[last]);
    reading.x = (uint32_t)left;
    reading.width = (uint32_t)(right - left);
    reading.y = tally->first;
    reading.height = tally->end - tally->first;
    memset(tally->columns, 0, tally->words * sizeof *columns);
    tally->moving = 0;
    return reading;
}
