// The orientation in which a camera or a telephone took a picture, as EXIF has it in JPEG and PNG
// files.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Where the first row and the first column of the stored samples are in the picture as it is to be
// shown; the numbers are those of TIFF 6.0, tag Orientation.
enum exif_orientation {
    EXIF_TOP_LEFT = 1,
    EXIF_TOP_RIGHT,
    EXIF_BOTTOM_RIGHT,
    EXIF_BOTTOM_LEFT,
    EXIF_LEFT_TOP,
    EXIF_RIGHT_TOP,
    EXIF_RIGHT_BOTTOM,
    EXIF_LEFT_BOTTOM,
};

// The orientation in the EXIF data `tiff` of `size` bytes, which begins with a TIFF header.
// EXIF_TOP_LEFT: there is none, or none that TIFF defines.
enum exif_orientation exif_read(const uint8_t *tiff, size_t size);
// The orientation in a JPEG file, or in the beginning of one: EXIF data come first in it.
// EXIF_TOP_LEFT: it has none, or is no JPEG.
enum exif_orientation exif_read_jpeg(const uint8_t *bytes, size_t size);
