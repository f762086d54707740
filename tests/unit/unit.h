// What every unit test includes: cmocka and the headers it wants first.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

// What random sets are drawn from: the same each time, or what make check-random has drawn.
static inline uint32_t random_seed(void)
{
    const char *seed = getenv("EDGED_SEED");

    return seed ? (uint32_t)strtoul(seed, NULL, 10) : 1;
}
