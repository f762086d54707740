// Row stages: the least (erosion) or the most (dilation) of the 3x3 pixels around, n times in one
// go; what lies outside the picture never wins. cv2.erode and cv2.dilate with np.ones((3, 3)) and
// iterations=n. An opening is an erosion and then a dilation, a closing the other way round.
//
// n times 3x3 is once a square of 2 n + 1, whose rows and columns are taken one after the other.
// The runner's replicated border does no harm: a pixel's square holds the border pixel that is
// repeated whenever it holds a repetition.
#pragma once

struct stage_ops;

extern const struct stage_ops erode_ops, dilate_ops;
