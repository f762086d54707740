// A step of a view's plan: the kind of a stage, and what it is told of the view's settings. Stages
// of the GPU do several steps at once and know them by their kinds.
#pragma once

#include "config/config.h"
#include "kernels/stage/stage_kind.h"

struct mask_plane;

// A stage's part of its view's settings, in the words of config.h. Members that its kind has no use
// for are zero. Views share the planes of steps that are equal, so same_step() in graph.c compares
// every member.
struct stage_options {
    enum config_operator op;
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
