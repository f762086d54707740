#include "config/parse/suggest.h"

#include <limits.h>
#include <string.h>

#define LENGTH_MAX 32
#define PREFIX_MIN 3

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

// Optimal string alignment: cost[i][j] turns the first i letters of `a` into the first j of `b`.
// Longer words than LENGTH_MAX are far from everything.
static unsigned edit_distance(const char *a, size_t length_a, const char *b, size_t length_b)
{
    unsigned cost[LENGTH_MAX + 1][LENGTH_MAX + 1];

    if (length_a > LENGTH_MAX || length_b > LENGTH_MAX)
        return UINT_MAX;
    for (size_t i = 0; i <= length_a; i++)
        cost[i][0] = (unsigned)i;
    for (size_t j = 0; j <= length_b; j++)
        cost[0][j] = (unsigned)j;
    for (size_t i = 1; i <= length_a; i++) {
        for (size_t j = 1; j <= length_b; j++) {
            unsigned substitute = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

            cost[i][j] = least(substitute, 1 + least(cost[i - 1][j], cost[i][j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost[i][j] = least(cost[i][j], 1 + cost[i - 2][j - 2]);
        }
    }
    return cost[length_a][length_b];
}

const char *suggest_synonym(const char *typed)
{
    static const char *const words[][2] = {
        {"gpu", "cuda"},       {"nvidia", "cuda"},    {"processor", "cpu"}, {"grey", "gray"},
        {"grayscale", "gray"}, {"greyscale", "gray"}, {"usb", "v4l2"},      {"webcam", "v4l2"},
        {"uvc", "v4l2"},       {"csi", "argus"},      {"clip", "file"},     {"video", "file"},
        {"test", "pattern"},   {"raw", "camera"},
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(typed, words[i][0]) == 0)
            return words[i][1];
    }
    return NULL;
}

int suggest_nearest(const char *typed, const char *const *first, size_t count, size_t stride)
{
    size_t length = strlen(typed);
    unsigned best = (unsigned)(length + 1) / 3 + 1;
    int nearest = -1;

    for (size_t i = 0; i < count; i++) {
        const char *word = *(const char *const *)((const char *)first + i * stride);
        unsigned distance = length >= PREFIX_MIN && strncmp(word, typed, length) == 0
                                ? word[length] != '\0'
                                : edit_distance(typed, length, word, strlen(word));

        if (distance < best) {
            best = distance;
            nearest = (int)i;
        }
    }
    return nearest;
}
