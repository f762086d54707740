// Row stage: the least of the 3x3 pixels around, n times in one go; what lies outside the picture
// counts as set. cv2.erode(gray, np.ones((3, 3)), iterations=n).
//
// n times 3x3 is once a square of 2 n + 1, whose rows and columns are taken one after the other.
// The runner's replicated border is as good as set: a pixel's square holds the border pixel that is
// repeated whenever it holds a repetition.
#pragma once

#include <stdint.h>

struct stage_ops;

struct erode {
    unsigned times;
};

extern const struct stage_ops erode_ops;
