// Decodes the JPEGs of a camera straight into pool frames, in the JPEG's own subsampling, so that
// no colour conversion and no second copy happens.
//
// 4:2:0 becomes YU12, 4:2:2 422P, 4:4:4 444P, gray GREY; everything else (and odd sizes of
// subsampled ones, which TurboJPEG would write beyond the plane) RGB3. Full range, as JFIF has it.
// JPEGs are untrusted input.
//
// A JPEG may be up to 15 pixels wider and higher than the camera's mode, as 1088 rows for 1080: the
// frame gets its upper left part, by way of a second copy.
#pragma once

#include "capture/copies.h"
#include "capture/frame.h"

struct mjpeg;

// -ENOMEM.
int mjpeg_new(struct mjpeg **ret_mjpeg);
void mjpeg_free(struct mjpeg *mjpeg); // takes NULL

// Reads the header of the `size` bytes at `data`; returns the format mjpeg_decode() wants its
// frame in, NULL when it is no JPEG of `width` x `height` pixels that can be decoded.
const struct pixel_format *mjpeg_format(struct mjpeg *mjpeg, const uint8_t *data, size_t size,
                                        uint32_t width, uint32_t height);

// Decodes into `frame` and counts that, twice when the JPEG was larger. -EBADMSG when the JPEG is
// broken, truncated, or of another format or size than the frame, -ENOMEM when a larger one has no
// memory; the frame's content is then undefined.
int mjpeg_decode(struct mjpeg *mjpeg, const uint8_t *data, size_t size, struct copies *copies,
                 struct frame *frame);

// Mends JPEGs of cameras that do no harm by not being quite right, so that what is left to warn
// about is damage. libjpeg keeps the text of a JPEG's first warning alone: behind a harmless one,
// missing blocks would go unseen.
//
// Changes the `size` bytes at `data`, of which `room` >= `size` may be written: a JFIF version that
// TurboJPEG warns about becomes 1, and an end marker is put behind the one scan of a sequential
// JPEG that lacks it. Whether that scan is whole is left to the decoder, and so is anything that
// cannot be read. Returns the new size, at most `room`.
size_t mjpeg_mend(uint8_t *data, size_t size, size_t room);
