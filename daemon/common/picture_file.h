// Reads PNG by libpng and JPEG by TurboJPEG, to the pixels that cv2.imread() gives: 16 bits are cut
// to their upper 8, alpha is left out, gray becomes three equal samples, CMYK is multiplied by its
// black, and the orientation that EXIF tells is applied.
#pragma once

#include "capture/frame_pool.h"

// Whether the file begins as a PNG or a JPEG. False also where it cannot be read.
bool picture_file_is(const char *path);
// Reads the picture as RGB3; the caller owns the frame, in memory of `allocator`. -ENODATA: it ends
// early or is damaged, or no PNG or JPEG; -EINVAL: larger than PICTURE_SIDE_MAX; -ENOMEM; or why
// the file cannot be read. Errors call the file `name`.
int picture_file_read(const char *path, const char *name, const struct frame_allocator *allocator,
                      struct error *error, struct frame **ret_frame);
