// JPEGs of a view's pictures, by TurboJPEG.
//
// They are baseline with 4:2:0 and the usual Huffman tables, so that RFC 2435 can carry them; gray
// views have chroma of 128. Colours are those of kernels/convert/jfif.h. Making one is not counted
// as a copy: as in any encoder, what it converts stays inside.
#pragma once

#include "capture/frame.h"

#include <stddef.h>

struct jpeg;

// -ENOMEM.
int jpeg_new(struct jpeg **ret_jpeg);
void jpeg_free(struct jpeg *jpeg); // takes NULL

// Makes a JPEG of an NV12 picture on the CPU's side. `scale` is one below LINK_SCALES, 0 for the
// whole picture (daemon/link/messages.h). `quality` is libjpeg's, 1 to 100. The result is borrowed
// until the next call. -ENOMEM; -EMSGSIZE: TurboJPEG takes no such picture; what keeps the CPU from
// a surface.
int jpeg_make(struct jpeg *jpeg, const struct frame *picture, unsigned scale, int quality,
              struct error *error, const uint8_t **ret_bytes, size_t *ret_size);
