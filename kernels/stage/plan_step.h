// A step of a view's plan: the kind of a stage, and what it is told of the view's settings. Stages
// of the GPU do several steps at once and know them by their kinds.
#pragma once

#include "config/config.h"

struct mask_plane;

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

// What a stage is told of its view's settings, in the words of config.h. What its kind has no use
// for is zero.
struct stage_options {
    enum config_operator operator;
    int blur; // 3 or 5
    enum config_norm norm;
    double gain;
    int threshold;                     // or CONFIG_THRESHOLD_OTSU
    bool shades;                       // erosion and dilation: of gray, else of 0 and 255 alone
    int times;                         // of erosion and dilation
    uint8_t colour[3];                 // of an overlay: red, green, blue
    enum config_mark mark;             // of a mark
    enum config_thresholds thresholds; // canny
    double low, high;                  // canny with fixed ones
    struct mask_plane *mask;           // not owned; the nodes hold references
};

#define PLAN_STEPS_MAX 32 // of a view

struct plan_step {
    enum stage_kind kind;
    struct stage_options options;
};
