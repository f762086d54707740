// The picture that says where a region is.
#pragma once

#include "config/base.h"
#include "kernels/region.h"

// Reads a PGM (P5) or whatever else GStreamer decodes, a PNG say, as gray; colours become their
// luma. The caller owns ret_picture->gray: free(). Negative errno with the file's name in `error`.
int mask_file_read(const char *path, struct error *error, struct region_picture *ret_picture);
