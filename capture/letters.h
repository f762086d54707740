// Writing in pictures: the NO SIGNAL slate, NO CAMERA on the pattern, and the labels of views.
//
// A built-in dot font, so that it works when everything else is broken: the characters of ASCII and
// the letters of Latin-1, in UTF-8. A capital is 5 dots wide and 7 high; its accent is above that,
// and what some small letters have below the line is below. Any other character is left blank.
#pragma once

#include "capture/frame.h"

#include <stdint.h>

#define LETTERS_ABOVE 3
#define LETTERS_ROWS 7
#define LETTERS_BELOW 2
#define LETTERS_ADVANCE 6 // dots from character to character

// 8 bits a pixel.
struct letters_canvas {
    uint8_t *pixels;
    size_t stride;         // bytes
    int64_t width, height; // pixels
};

// The side of a dot in pixels at which 16 characters fit into `width` pixels; at least 1.
uint32_t letters_scale(uint32_t width);
// How many characters a text in UTF-8 has.
size_t letters_count(const char *text);

// Writes one line of text whose first character begins at `left` and whose capitals begin at row
// `top`. Parts outside the canvas are left out, and pixels between the dots stay as they are.
void letters_write(const struct letters_canvas *canvas, const char *text, int64_t left, int64_t top,
                   uint32_t scale, uint8_t luma);
// The same in the luma plane of `frame` (plane 0, 8 bits a pixel, for example NV12), centred.
void letters_draw(struct frame *frame, const char *text, int64_t top, uint32_t scale, uint8_t luma);
