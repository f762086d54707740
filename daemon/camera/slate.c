// Three centred lines of text over a flat picture. A glyph is 5x7 dots, each dot a square of
// `scale` pixels; scale follows the width, so that 16 characters always fit.

#include "daemon/camera/slate.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define GLYPH_COLUMNS 5
#define GLYPH_ROWS 7
#define GLYPH_ADVANCE 6 // columns from glyph to glyph
#define LINE_ADVANCE 10 // rows from line to line
#define LINE_CHARACTERS 16

#define LUMA_GROUND 40
#define LUMA_TITLE 210
#define LUMA_DETAIL 130
#define CHROMA_NEUTRAL 128

// Rows from the top, bit 4 is the leftmost dot.
struct glyph {
    char character;
    uint8_t rows[GLYPH_ROWS];
};

static const struct glyph font[] = {
    {'0', {0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e}},
    {'1', {0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e}},
    {'2', {0x0e, 0x11, 0x01, 0x06, 0x08, 0x10, 0x1f}},
    {'3', {0x1f, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0e}},
    {'4', {0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02}},
    {'5', {0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e}},
    {'6', {0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e}},
    {'7', {0x1f, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08}},
    {'8', {0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e}},
    {'9', {0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c}},
    {'A', {0x0e, 0x11, 0x11, 0x1f, 0x11, 0x11, 0x11}},
    {'B', {0x1e, 0x11, 0x11, 0x1e, 0x11, 0x11, 0x1e}},
    {'C', {0x0e, 0x11, 0x10, 0x10, 0x10, 0x11, 0x0e}},
    {'D', {0x1c, 0x12, 0x11, 0x11, 0x11, 0x12, 0x1c}},
    {'E', {0x1f, 0x10, 0x10, 0x1e, 0x10, 0x10, 0x1f}},
    {'F', {0x1f, 0x10, 0x10, 0x1e, 0x10, 0x10, 0x10}},
    {'G', {0x0e, 0x11, 0x10, 0x17, 0x11, 0x11, 0x0f}},
    {'H', {0x11, 0x11, 0x11, 0x1f, 0x11, 0x11, 0x11}},
    {'I', {0x0e, 0x04, 0x04, 0x04, 0x04, 0x04, 0x0e}},
    {'J', {0x07, 0x02, 0x02, 0x02, 0x02, 0x12, 0x0c}},
    {'K', {0x11, 0x12, 0x14, 0x18, 0x14, 0x12, 0x11}},
    {'L', {0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x1f}},
    {'M', {0x11, 0x1b, 0x15, 0x15, 0x11, 0x11, 0x11}},
    {'N', {0x11, 0x11, 0x19, 0x15, 0x13, 0x11, 0x11}},
    {'O', {0x0e, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0e}},
    {'P', {0x1e, 0x11, 0x11, 0x1e, 0x10, 0x10, 0x10}},
    {'Q', {0x0e, 0x11, 0x11, 0x11, 0x15, 0x12, 0x0d}},
    {'R', {0x1e, 0x11, 0x11, 0x1e, 0x14, 0x12, 0x11}},
    {'S', {0x0f, 0x10, 0x10, 0x0e, 0x01, 0x01, 0x1e}},
    {'T', {0x1f, 0x04, 0x04, 0x04, 0x04, 0x04, 0x04}},
    {'U', {0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0e}},
    {'V', {0x11, 0x11, 0x11, 0x11, 0x11, 0x0a, 0x04}},
    {'W', {0x11, 0x11, 0x11, 0x15, 0x15, 0x15, 0x0a}},
    {'X', {0x11, 0x11, 0x0a, 0x04, 0x0a, 0x11, 0x11}},
    {'Y', {0x11, 0x11, 0x11, 0x0a, 0x04, 0x04, 0x04}},
    {'Z', {0x1f, 0x01, 0x02, 0x04, 0x08, 0x10, 0x1f}},
    {':', {0x00, 0x0c, 0x0c, 0x00, 0x0c, 0x0c, 0x00}},
    {'-', {0x00, 0x00, 0x00, 0x1f, 0x00, 0x00, 0x00}},
    {'_', {0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x1f}},
};

static const uint8_t *glyph_rows(char character)
{
    for (size_t i = 0; i < sizeof font / sizeof font[0]; i++) {
        if (font[i].character == toupper((unsigned char)character)) {
            return font[i].rows;
        }
    }
    return NULL;
}

// Fills the part of a square that lies inside the picture.
static void draw_dot(struct frame *frame, int64_t left, int64_t top, uint32_t scale, uint8_t luma)
{
    for (int64_t y = top; y < top + scale && y < frame->layout.height; y++) {
        for (int64_t x = left; x < left + scale && x < frame->layout.width; x++) {
            if (x >= 0 && y >= 0) {
                frame_plane(frame, 0)[(size_t)y * frame->layout.planes[0].stride + (size_t)x] =
                    luma;
            }
        }
    }
}

static void draw_line(struct frame *frame, const char *text, int64_t top, uint32_t scale,
                      uint8_t luma)
{
    size_t length = strlen(text);
    int64_t left = ((int64_t)frame->layout.width - (int64_t)(length * GLYPH_ADVANCE * scale)) / 2;

    for (size_t i = 0; i < length; i++, left += GLYPH_ADVANCE * scale) {
        const uint8_t *rows = glyph_rows(text[i]);

        for (int dot = 0; rows && dot < GLYPH_COLUMNS * GLYPH_ROWS; dot++) {
            int column = dot % GLYPH_COLUMNS, row = dot / GLYPH_COLUMNS;

            if (rows[row] >> (GLYPH_COLUMNS - 1 - column) & 1) {
                draw_dot(frame, left + column * scale, top + row * scale, scale, luma);
            }
        }
    }
}

static void format_time(char *text, size_t size, int64_t seconds)
{
    int64_t hours = seconds / 3600, minutes = seconds / 60 % 60;

    if (hours) {
        snprintf(text, size, "%" PRId64 ":%02" PRId64 ":%02" PRId64, hours, minutes, seconds % 60);
    } else {
        snprintf(text, size, "%" PRId64 ":%02" PRId64, minutes, seconds % 60);
    }
}

void slate_draw(struct frame *frame, const char *camera, int64_t seconds)
{
    uint32_t scale = frame->layout.width / (LINE_CHARACTERS * GLYPH_ADVANCE);
    char name[LINE_CHARACTERS + 1], time[32];

    scale = scale ? scale : 1;
    int64_t top = ((int64_t)frame->layout.height - 3 * LINE_ADVANCE * (int64_t)scale) / 2;
    memset(frame_plane(frame, 0), LUMA_GROUND,
           frame->layout.planes[0].stride * frame->layout.planes[0].rows);
    memset(frame_plane(frame, 1), CHROMA_NEUTRAL,
           frame->layout.planes[1].stride * frame->layout.planes[1].rows);
    draw_line(frame, "NO SIGNAL", top, scale, LUMA_TITLE);
    snprintf(name, sizeof name, "%s", camera);
    draw_line(frame, name, top + LINE_ADVANCE * (int64_t)scale, scale, LUMA_DETAIL);
    if (seconds >= 0) {
        format_time(time, sizeof time, seconds);
        draw_line(frame, time, top + 2 * LINE_ADVANCE * (int64_t)scale, scale, LUMA_DETAIL);
    }
}
