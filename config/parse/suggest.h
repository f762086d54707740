// "Did you mean": the nearest of some words to what a person typed.
#pragma once

#include <stddef.h>

// The index of the word nearest to `typed` among `count`, whose pointers lie `stride` bytes apart
// from `first` on; -1 when none is near. Near: at most (length + 1) / 3 letters inserted, left out,
// replaced or swapped with a neighbour (optimal string alignment distance), or the beginning of the
// word, from 3 letters on.
int suggest_nearest(const char *typed, const char *const *first, size_t count, size_t stride);
// Another word for what one of edged's words says ("gpu": "cuda"), or NULL.
const char *suggest_synonym(const char *typed);
