// Row stage, the last of its view: a mask's rows to the rows of the camera's picture with the mask
// in a colour. A mask is 0 or 255 at every pixel; the view's are edges at least as strong as its
// threshold.
//
// - To RGB3: the picture as convert.h has it, GREY as R = G = B; where the mask is set, the colour.
// - To NV12: the picture as convert.h has it; where the mask is set, the colour's Y; where it is
//   set at the top left pixel of two by two, their U and V are the colour's. Y, U and V are those
//   of colour.h by matrix and range of the picture, BT.601 limited if it is RGB. So of RGB it is
//   what convert.h makes of the picture with the colour painted in.
// Everything else is the camera view's, bit for bit.
#pragma once

#include "kernels/convert/colour.h"
#include "kernels/overlay/paint.h"

extern const struct stage_ops overlay_ops;
