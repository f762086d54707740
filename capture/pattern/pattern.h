// The moving pattern: a scene that tells a client which frame it sees, even through an edge filter.
//
// Frame n is a pure function of n and the size. Definition (W, H: size in pixels):
// - scene: 40x40 pixel cells, C = ceil(W / 40) a row, repeating every 40 C pixels. Cell (i, j) has
//   h = (uint32)((73856093 i) ^ (19349663 j)) * 2654435761 (all mod 2^32), luma 40 + (160 (h >> 24)
//   >> 8), Cb 96 + (h >> 16 & 63), Cr 96 + (h >> 8 & 63). Pixel (x, y) of frame n shows the scene
//   at
//   ((x + 2 n) mod 40 C, y): the scene moves left by 2 pixels a frame.
// - number: over it, in the top left corner, 20 blocks side by side, each B x B pixels,
//   B = max(4, W / 20 rounded down to a multiple of 4), chroma 128. Block k is striped for a 1 and
//   flat for a 0: luma 220 in columns with (x mod 4) < 2 of a striped block, 30 everywhere else.
//   Blocks 0..15 carry bits 0..15 of n; blocks 16..19 bits 0..3 of the check
//   (n ^ n >> 4 ^ n >> 8 ^ n >> 12 ^ 10) & 15 with n taken mod 65536. Sobel turns a striped block
//   white and a flat one black. Narrower than 80 pixels, blocks that do not fit are cut off.
// Luma is limited range by construction (30..220).
//
// A caption is no part of that definition: one line in the middle, on a dark band, under the
// number.
#pragma once

#include "capture/frame.h"

struct pattern;

// Draws into frames of `layout` (YUYV, UYVY, NV12, NV21, YU12 or GREY). -ENOTSUP for others.
int pattern_new(const struct frame_layout *layout, struct pattern **ret_pattern);
void pattern_free(struct pattern *pattern); // takes NULL
// Draws `caption` (not copied) into every picture from now on, if the pictures are NV12.
void pattern_set_caption(struct pattern *pattern, const char *caption);
void pattern_draw(const struct pattern *pattern, uint64_t number, struct frame *frame);
