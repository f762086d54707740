// Writing in pictures: the title of the NO SIGNAL slate, and NO CAMERA on the pattern.
//
// A built-in 5x7 dot font of A-Z, 0-9, ':', '-' and '_', so that it works when everything else is
// broken. Small letters are drawn as capitals, any other character is left blank.
#pragma once

#include "capture/frame.h"

#include <stdint.h>

#define LETTERS_ROWS 7

// The side of a dot in pixels at which 16 characters fit into `width` pixels; at least 1.
uint32_t letters_scale(uint32_t width);

// Draws one line of text into the luma plane of `frame` (plane 0, 8 bits a pixel, for example
// NV12), centred, LETTERS_ROWS * scale pixels high from row `top` on. What lies outside the picture
// is left out, and pixels between the dots stay as they are.
void letters_draw(struct frame *frame, const char *text, int64_t top, uint32_t scale, uint8_t luma);
