// Compares secrets in a time that depends on nothing but their length.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Looks at every byte, whatever the first ones are.
static inline bool bytes_equal(const void *a, const void *b, size_t size)
{
    const volatile unsigned char *one = a, *other = b;
    unsigned difference = 0;

    for (size_t i = 0; i < size; i++) {
        difference |= (unsigned)(one[i] ^ other[i]);
    }
    return difference == 0;
}
