// JPEGs as cameras send them: mended, then decoded into a frame of the mode's size.
//
// Parsers: capture/v4l2/mjpeg.c
#include "tests/fuzz/fuzz.h"

#include "capture/frame_pool.h"
#include "capture/v4l2/mjpeg.h"
#include "daemon/common/pnm.h"

#define SIDE 16
#define ROOM 2 // bytes that may be written behind a JPEG

static void decode(const uint8_t *data, size_t size)
{
    _cleanup_(cleanup_frame) struct frame *frame = NULL;
    struct copies copies = {0};
    struct mjpeg *mjpeg;
    struct error error;

    fuzz_claim(mjpeg_new(&mjpeg) == 0);
    const struct pixel_format *format = mjpeg_format(mjpeg, data, size, SIDE, SIDE);
    if (format) {
        fuzz_claim(picture_frame_new(format->name, SIDE, SIDE, frame_allocator_host(), &error,
                                     &frame) == 0);
        mjpeg_decode(mjpeg, data, size, &copies, frame);
    }
    mjpeg_free(mjpeg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t room = size + (size ? data[size - 1] % (ROOM + 1) : 0);
    uint8_t *jpeg = malloc(room + !room);

    fuzz_claim(jpeg != NULL);
    memcpy(jpeg, data, size);
    size_t mended = mjpeg_mend(jpeg, size, room);
    fuzz_claim(mended == size || mended == size + 2);
    fuzz_claim(mended <= room);
    decode(jpeg, mended);
    free(jpeg);
    return 0;
}
