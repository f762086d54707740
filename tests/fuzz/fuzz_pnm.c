// PGM and PPM files. What is read has to be the same when it is written and read again.
//
// Parsers: daemon/common/pnm.c
#include "tests/fuzz/fuzz.h"

#include "daemon/common/pnm.h"

static void check_round_trip(const struct frame *frame)
{
    _cleanup_(cleanup_frame) struct frame *again = NULL;
    char path[FUZZ_PATH_SIZE];
    int fd = fuzz_file(NULL, 0, path);
    size_t stride = frame->layout.planes[0].stride, width = frame->layout.planes[0].width_bytes;
    struct error error;

    fuzz_claim(pnm_write(frame, width > frame->layout.width, path, path, &error) == 0);
    fuzz_claim(pnm_read(path, path, frame_allocator_host(), &error, &again) == 0);
    fuzz_claim(again->layout.width == frame->layout.width);
    fuzz_claim(again->layout.height == frame->layout.height);
    for (uint32_t y = 0; y < frame->layout.height; y++) {
        fuzz_claim(memcmp(frame_plane(frame, 0) + y * stride, frame_plane(again, 0) + y * stride,
                          width) == 0);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(cleanup_frame) struct frame *frame = NULL;
    char path[FUZZ_PATH_SIZE];
    int fd = fuzz_file(data, size, path);
    struct error error = {0};
    int r = pnm_read(path, "fuzz", frame_allocator_host(), &error, &frame);

    fuzz_claim(r == 0 || error.text[0]);
    if (r == 0) {
        check_round_trip(frame);
    }
    close(fd);
    return 0;
}
