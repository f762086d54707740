// Mends JPEGs of cameras that do no harm by not being quite right, so that what is left to warn
// about is damage. libjpeg keeps the text of a JPEG's first warning alone: behind a harmless one,
// missing blocks would go unseen.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Changes the `size` bytes at `data`, of which `room` >= `size` may be written: a JFIF version that
// TurboJPEG warns about becomes 1, and an end marker is put behind the one scan of a sequential
// JPEG that lacks it. Whether that scan is whole is left to the decoder, and so is anything that
// cannot be read. Returns the new size, at most `room`.
size_t mjpeg_mend(uint8_t *data, size_t size, size_t room);
