#include "kernels/levels/levels.h"

void levels_add_row(struct levels *levels, const uint8_t *row, uint32_t width)
{
    uint32_t x = 0;

    for (; x + LEVELS_TABLES <= width; x += LEVELS_TABLES) {
        for (unsigned i = 0; i < LEVELS_TABLES; i++) {
            levels->tables[i][row[x + i]]++;
        }
    }
    for (; x < width; x++) {
        levels->tables[0][row[x]]++;
    }
}

const uint32_t *levels_sum(struct levels *levels)
{
    for (unsigned i = 0; i < 256; i++) {
        for (unsigned k = 1; k < LEVELS_TABLES; k++) {
            levels->tables[0][i] += levels->tables[k][i];
        }
    }
    return levels->tables[0];
}
