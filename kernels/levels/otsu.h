// An automatic threshold by Otsu's method, from the histogram of a picture.
//
// N. Otsu, "A threshold selection method from gray-level histograms", 1979: of all levels the one
// with the largest variance between the pixels below and the rest; the lowest of several alike. In
// double arithmetic in the order OpenCV has it, so equal to cv2.THRESH_OTSU + 1.
#pragma once

#include <stdint.h>

// The level, 1 to 255, from which on pixels are white, of a picture with so many pixels of each
// value.
uint8_t otsu_level(const uint32_t histogram[256]);
