// The frame number in a decoded picture of the moving pattern.
//
// A second reading of what capture/pattern/pattern.h defines, as tests/e2e/pattern.py has it: it
// shares nothing with what draws the number.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Mean luma above which a block of a picture is striped: it stays as drawn in camera and gray
// views, and is white or black in edges.
enum pattern_view { PATTERN_VIEW_CAMERA, PATTERN_VIEW_EDGES };

// Reads the number from a luma plane (`stride` in bytes). -1 when there is none: a slate, another
// picture, or one that was damaged on its way.
int pattern_code_read(const uint8_t *luma, size_t stride, unsigned width, unsigned height,
                      enum pattern_view view);
