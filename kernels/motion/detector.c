#include "kernels/motion/detector.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void detector_window_grow(struct detector_window *window, const struct detector_window *other)
{
    if (window->top == window->bottom) {
        *window = *other;
    } else if (other->top < other->bottom) {
        window->top = other->top < window->top ? other->top : window->top;
        window->bottom = other->bottom > window->bottom ? other->bottom : window->bottom;
        window->left = other->left < window->left ? other->left : window->left;
        window->right = other->right > window->right ? other->right : window->right;
    }
}

// A rim as wide as erosion looks; a word more on either side is never too little.
static void add_rim(struct detector *detector, uint32_t height)
{
    struct detector_window *window = &detector->window;
    uint32_t rim = detector->erode;

    if (window->top == window->bottom || rim == 0) {
        return;
    }
    window->top -= window->top < rim ? window->top : rim;
    window->bottom += height - window->bottom < rim ? height - window->bottom : rim;
    window->left -= window->left > 0;
    window->right += window->right < detector->words;
}

int detector_prepare(struct detector *detector, size_t width, uint32_t height)
{
    detector->width = width;
    detector->words = bits_words(width);
    add_rim(detector, height);
    detector->ring = calloc((2 * detector->erode + 1) * detector->words, sizeof *detector->ring);
    detector->row = calloc(detector->words, sizeof *detector->row);
    return detector->ring && detector->row ? 0 : -ENOMEM;
}

void detector_finish(struct detector *detector)
{
    free(detector->ring);
    free(detector->row);
}

void detector_begin(struct detector *detector, const struct bits_limits *limits)
{
    detector->steady = !limits;
    if (limits) {
        detector->limits = *limits;
    }
    detector->pushed = detector->next = detector->window.top;
}

static uint64_t *ring_row(const struct detector *detector, uint32_t y)
{
    return detector->ring + y % (2 * detector->erode + 1) * detector->words + detector->window.left;
}

void detector_push(struct detector *detector, uint32_t y, const uint8_t *gray,
                   const uint8_t *previous)
{
    const struct detector_window *window = &detector->window;
    size_t first = window->left * BITS_WORD, words = window->right - window->left;
    size_t end = window->right < detector->words ? window->right * BITS_WORD : detector->width;

    if (y < window->top || y >= window->bottom) {
        return;
    }
    uint64_t *bits = ring_row(detector, y);
    if (detector->steady) {
        bits_differ(gray + first, previous + first, (uint8_t)detector->threshold, words, bits);
    } else {
        bits_leave(gray + first, previous + first, &detector->limits, words, bits);
    }
    bits_erode_row(bits, end - first, detector->erode);
    detector->pushed = y + 1;
}

bool detector_next(struct detector *detector, uint32_t *ret_y)
{
    const struct detector_window *window = &detector->window;
    size_t words = window->right - window->left;
    uint32_t y = detector->next, erode = detector->erode;
    uint32_t last = window->bottom - y > erode ? y + erode : window->bottom - 1;
    uint32_t first = y - window->top > erode ? y - erode : window->top;

    if (y == window->bottom || last >= detector->pushed) {
        return false;
    }
    uint64_t *row = detector->row + window->left;
    memcpy(row, ring_row(detector, first), words * sizeof *row);
    for (uint32_t other = first + 1; other <= last; other++) {
        bits_and(row, ring_row(detector, other), words);
    }
    detector->next++;
    *ret_y = y;
    return true;
}
