// Binary PGM (P5) and PPM (P6) files with 8 bit samples, read and written exactly.
#pragma once

#include "capture/frame_pool.h"

// Longest side of a picture that is read, in pixels.
#define PICTURE_SIDE_MAX 32768

// Reads a P5 as GREY, a P6 as RGB3; comments in the header are skipped, bytes behind the picture
// ignored. -ENOENT and kin, -EINVAL (no such file format, size out of 1..PICTURE_SIDE_MAX, samples
// of more than 8 bits), -ENODATA (ends early), -ENOMEM. The caller owns the frame, in memory of
// `allocator`. Errors call the file `name`.
int pnm_read(const char *path, const char *name, const struct frame_allocator *allocator,
             struct error *error, struct frame **ret_frame);
// Writes a GREY or RGB3 frame; with `colour`, as P6, else, GREY only, as P5. Errors call the file
// `name`.
int pnm_write(const struct frame *frame, bool colour, const char *path, const char *name,
              struct error *error);
// A frame by itself, in a pool of one.
int picture_frame_new(const char *format, uint32_t width, uint32_t height,
                      const struct frame_allocator *allocator, struct error *error,
                      struct frame **ret_frame);
