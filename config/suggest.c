#include "config/suggest.h"

#include <string.h>

#define LENGTH_MAX 32

static unsigned least(unsigned a, unsigned b)
{
    return a < b ? a : b;
}

// Optimal string alignment: rows of the dynamic programme over the letters of `a`.
static unsigned edit_distance(const char *a, size_t length_a, const char *b, size_t length_b)
{
    unsigned cost[LENGTH_MAX + 1][LENGTH_MAX + 1];

    for (size_t i = 0; i <= length_a; i++) {
        cost[i][0] = (unsigned)i;
    }
    for (size_t j = 0; j <= length_b; j++) {
        cost[0][j] = (unsigned)j;
    }
    for (size_t i = 1; i <= length_a; i++) {
        for (size_t j = 1; j <= length_b; j++) {
            unsigned substitute = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

            cost[i][j] = least(substitute, 1 + least(cost[i - 1][j], cost[i][j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                cost[i][j] = least(cost[i][j], 1 + cost[i - 2][j - 2]);
            }
        }
    }
    return cost[length_a][length_b];
}

int suggest_nearest(const char *typed, const char *const *first, size_t count, size_t stride)
{
    size_t length = strlen(typed);
    unsigned best = (unsigned)(length + 1) / 3 + 1;
    int nearest = -1;

    if (length > LENGTH_MAX) {
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        const char *word = *(const char *const *)((const char *)first + i * stride);
        size_t word_length = strlen(word);
        unsigned distance =
            word_length > LENGTH_MAX ? best : edit_distance(typed, length, word, word_length);

        if (distance < best) {
            best = distance;
            nearest = (int)i;
        }
    }
    return nearest;
}
