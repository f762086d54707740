// The picture that says where a region is, or where a view looks.
#pragma once

#include "config/base.h"
#include "kernels/mask_plane.h"

// Reads a PGM (P5) or whatever else GStreamer decodes, a PNG say, as gray; colours become their
// luma. The caller owns ret_picture->gray: free(). Negative errno with the file's name in `error`.
// `context` is not looked at: this is a mask_read().
int mask_file_read(void *context, const char *path, struct error *error,
                   struct region_picture *ret_picture);

// Which picture lies under a name: another one, or the same written anew, has another stamp.
struct mask_stamp {
    int64_t device, inode, mode, size, seconds, nanoseconds; // all 0: none
};
// "" is no file, and so is one that cannot be looked at.
void mask_file_stamp(const char *path, struct mask_stamp *ret_stamp);
