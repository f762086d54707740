// Row stage: gray rows to black and white, 255 where a pixel is at least the threshold, else 0.
//
// cv2.threshold(gray, threshold - 1, 255, cv2.THRESH_BINARY).
#pragma once

#include <stdint.h>

struct otsu;
struct stage_ops;

extern const struct stage_ops threshold_ops;
