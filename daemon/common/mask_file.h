// The picture that says where a region is, or where a view looks.
#pragma once

#include "config/config.h"
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
// Those of the view and, for a split, of the views that it shows.
void mask_file_stamp_view(const struct config_view *view, struct mask_stamp ret_stamps[3]);

// Whose masks are read, for the log; and why the newest cannot be read, as last logged.
struct mask_reader {
    const char *camera, *view;
    struct error told;
};
// Reads a view's mask. One that cannot be read counts as black, and is logged once, because showing
// what it should hide is worse than showing nothing. This is a mask_read(); `context` is a struct
// mask_reader. -ENOMEM.
int mask_reader_read(void *context, const char *path, struct error *error,
                     struct region_picture *ret_picture);
