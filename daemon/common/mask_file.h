// The picture that says where a region is, or where a view looks.
#pragma once

#include "config/base.h"
#include "kernels/mask/mask_plane.h"

// Reads a PGM (P5) or whatever else GStreamer decodes, a PNG say, as gray; colours become their
// luma. The caller owns ret_picture->gray: free(). Negative errno with the file's name in `error`.
// This is a mask_read(), and does not use `context`.
int mask_file_read(void *context, const char *path, struct error *error,
                   struct region_picture *ret_picture);

// Identifies the picture that a file name leads to: another file, or the same one written anew, has
// another stamp.
struct mask_stamp {
    int64_t device, inode, mode, size, seconds, nanoseconds; // all 0: none
};
// All 0 for "" and for a file that cannot be looked at.
void mask_file_stamp(const char *path, struct mask_stamp *ret_stamp);
