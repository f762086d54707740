// Row stage: what lies outside the view's mask becomes 0.
//
//   out = in & mask
//
// the mask being 0 or 255 at every pixel: a polygon, or a picture that is stretched over the
// camera's and set where it is at least 128 (region.h). cv2.bitwise_and(gray, gray, mask=mask).
// Gray stays gray, 0 and 255 stay 0 and 255. Views of edged's own have it as the last stage on one
// plane: behind the magnitude, black and white with its morphology, Canny's hysteresis or the
// erosion of what moved, before limited range and before anything is painted.
#pragma once

#include <stdint.h>

struct mask_plane;
struct stage_ops;

extern const struct stage_ops mask_ops;
