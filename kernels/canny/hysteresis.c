#include "kernels/canny/hysteresis.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define WORD_BITS 64

// One word of zeros left of each row and one right of it, one row of them above and one below, so
// that every word has eight neighbours.
struct hysteresis {
    size_t words, stride; // of a row, without and with its border
    uint32_t height;
    uint64_t *candidates, *edges; // owned
    uint32_t *list;               // owned; words whose neighbours may have to change
    uint8_t *listed;              // owned; whether a word is in the list
    uint8_t *seams;               // owned; whether a row has not been told of the one above
    size_t list_length;
};

int hysteresis_new(uint32_t width, uint32_t height, struct hysteresis **ret_hysteresis)
{
    struct hysteresis *hysteresis = calloc(1, sizeof *hysteresis);
    size_t total;

    if (!hysteresis)
        return -ENOMEM;
    hysteresis->words = ((size_t)width + WORD_BITS - 1) / WORD_BITS;
    hysteresis->stride = hysteresis->words + 2;
    hysteresis->height = height;
    total = hysteresis->stride * ((size_t)height + 2);
    hysteresis->candidates = calloc(total, sizeof *hysteresis->candidates);
    hysteresis->edges = calloc(total, sizeof *hysteresis->edges);
    hysteresis->list = calloc(total, sizeof *hysteresis->list);
    hysteresis->listed = calloc(total, sizeof *hysteresis->listed);
    hysteresis->seams = calloc(height, sizeof *hysteresis->seams);
    if (!hysteresis->candidates || !hysteresis->edges || !hysteresis->list || !hysteresis->listed ||
        !hysteresis->seams) {
        hysteresis_free(hysteresis);
        return -ENOMEM;
    }
    *ret_hysteresis = hysteresis;
    return 0;
}

void hysteresis_free(struct hysteresis *hysteresis)
{
    if (hysteresis) {
        free(hysteresis->candidates);
        free(hysteresis->edges);
        free(hysteresis->list);
        free(hysteresis->listed);
        free(hysteresis->seams);
        free(hysteresis);
    }
}

static size_t row_start(const struct hysteresis *hysteresis, uint32_t y)
{
    return ((size_t)y + 1) * hysteresis->stride + 1;
}

uint64_t *hysteresis_candidates(struct hysteresis *hysteresis, uint32_t y)
{
    return hysteresis->candidates + row_start(hysteresis, y);
}

uint64_t *hysteresis_edges(struct hysteresis *hysteresis, uint32_t y)
{
    return hysteresis->edges + row_start(hysteresis, y);
}

// All of the runs in `open` that hold a bit of `seed`, a subset of `open`. Towards bit 63 the carry
// of the sum runs through a run from its first seed on.
static inline uint64_t fill(uint64_t seed, uint64_t open)
{
    uint64_t filled = ((seed + open) ^ open) | seed;

    filled &= open;
    for (unsigned step = 1; step < WORD_BITS; step *= 2) {
        filled |= filled >> step & open;
        open &= open >> step;
    }
    return filled;
}

// Bits that touch an edge in the row that `word` is a word of, or are one.
static inline uint64_t touched(const uint64_t *word)
{
    return word[0] | word[0] << 1 | word[0] >> 1 | word[-1] >> (WORD_BITS - 1) |
           word[1] << (WORD_BITS - 1);
}

// The row above the first one of a band may be in the making: the row of zeros above the picture
// stands in for it.
void hysteresis_add_row(struct hysteresis *hysteresis, uint32_t first, uint32_t y)
{
    const uint64_t *candidates = hysteresis_candidates(hysteresis, y);
    uint64_t *edges = hysteresis_edges(hysteresis, y);
    const uint64_t *above = y > first ? edges - hysteresis->stride : hysteresis->edges + 1;

    hysteresis->seams[y] = y == first && y > 0;
    for (size_t i = 0; i < hysteresis->words; i++) {
        uint64_t open = candidates[i];

        if (open) {
            edges[i] = fill(
                (edges[i] | edges[i - 1] >> (WORD_BITS - 1) | touched(above + i)) & open, open);
        }
    }
}

static void add_to_list(struct hysteresis *hysteresis, size_t at)
{
    if (!hysteresis->listed[at]) {
        hysteresis->listed[at] = true;
        hysteresis->list[hysteresis->list_length++] = (uint32_t)at;
    }
}

static void sweep_up(struct hysteresis *hysteresis)
{
    for (uint32_t y = hysteresis->height; y-- > 0;) {
        size_t start = row_start(hysteresis, y);

        for (size_t at = start + hysteresis->words; at-- > start;) {
            uint64_t open = hysteresis->candidates[at];
            uint64_t *edges = &hysteresis->edges[at];
            uint64_t seed =
                (*edges | edges[1] << (WORD_BITS - 1) | touched(edges + hysteresis->stride)) & open;

            if (seed != *edges) {
                *edges = fill(seed, open);
                add_to_list(hysteresis, at);
            }
        }
    }
}

// Lets the edges around word `at` into it.
static void update(struct hysteresis *hysteresis, size_t at)
{
    uint64_t open = hysteresis->candidates[at];
    uint64_t *edges = &hysteresis->edges[at];
    uint64_t seed;

    if (*edges == open)
        return;
    seed = (touched(edges - hysteresis->stride) | touched(edges) |
            touched(edges + hysteresis->stride)) &
           open;
    if (seed != *edges) {
        *edges = fill(seed, open);
        add_to_list(hysteresis, at);
    }
}

static void close_seams(struct hysteresis *hysteresis)
{
    for (uint32_t y = 1; y < hysteresis->height; y++) {
        for (size_t i = 0; hysteresis->seams[y] && i < hysteresis->words; i++)
            update(hysteresis, row_start(hysteresis, y) + i);
    }
}

void hysteresis_finish(struct hysteresis *hysteresis)
{
    close_seams(hysteresis);
    sweep_up(hysteresis);
    while (hysteresis->list_length > 0) {
        size_t at = hysteresis->list[--hysteresis->list_length];

        hysteresis->listed[at] = false;
        for (size_t row = at - hysteresis->stride; row <= at + hysteresis->stride;
             row += hysteresis->stride) {
            update(hysteresis, row - 1);
            update(hysteresis, row);
            update(hysteresis, row + 1);
        }
    }
}
