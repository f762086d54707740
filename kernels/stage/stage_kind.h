// The kinds of stages and their names, for code that names stages without computing them.
#pragma once

enum stage_kind {
    STAGE_GRAY,       // plane 0 of any format to gray rows
    STAGE_BLUR,       // gray rows to smoother ones
    STAGE_GRADIENT,   // gray rows to magnitudes
    STAGE_THRESHOLD,  // gray rows to 0 and 255
    STAGE_COMPOSE,    // computed gray, 0..255, to limited range luma
    STAGE_DIFFERENCE, // gray rows to where they differ from the frame before, 0 and 255
    STAGE_ERODE,      // smaller bright shapes
    STAGE_DILATE,     // larger bright shapes
    STAGE_MARK,       // a mask's rows to those of the camera's picture with the mask marked in red
    STAGE_OVERLAY,    // a mask's rows to those of the camera's picture with the mask in a colour
    STAGE_DIRECTION,  // gray rows to the hue of their gradient's direction
    STAGE_CONVERT,    // frame stage: a picture to another pixel format
    STAGE_CANNY,      // gray rows to thin edges, 0 and 255
    STAGE_MASK,       // gray rows to those with 0 outside the view's mask
    STAGE_KIND_COUNT,
};

// "gray", "blur": for status and benchmarks.
const char *stage_kind_name(enum stage_kind kind);
