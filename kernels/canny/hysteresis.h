// Hysteresis: which candidates are edges, because they are strong or connected to a strong one,
// each to the next by one of its 8 neighbours.
//
// The sweep down may be done in bands of rows, by several threads; the seams between them are
// looked at when all rows are in.
//
// Pictures are bits, 64 pixels a word, pixel x of a row in bit x % 64 of word x / 64. The edges
// known in a word spread over its runs of candidates by an addition, whose carry runs along them,
// and by six shifts the other way. One sweep down, done while the rows come in, and one sweep up
// leave little: what changes in the sweep up, and what changes after that, goes through a list of
// words. Each entry of the list stands for at least one new edge pixel, so the time is bounded by
// the picture's size whatever it shows, spirals included.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hysteresis;

// For pictures of `width` x `height` pixels, both >= 1. -ENOMEM.
int hysteresis_new(uint32_t width, uint32_t height, struct hysteresis **ret_hysteresis);
void hysteresis_free(struct hysteresis *hysteresis); // takes NULL

// Row `y` to be filled in: all candidates, and the strong ones among them; bits past the width are
// 0. Then hysteresis_add_row(), from the first row of a band on. Bands may be done in any order and
// at the same time; `first` is the same for all rows of one.
uint64_t *hysteresis_candidates(struct hysteresis *hysteresis, uint32_t y);
uint64_t *hysteresis_edges(struct hysteresis *hysteresis, uint32_t y);
void hysteresis_add_row(struct hysteresis *hysteresis, uint32_t first, uint32_t y);

// After the last row: hysteresis_edges() are now the edges.
void hysteresis_finish(struct hysteresis *hysteresis);
