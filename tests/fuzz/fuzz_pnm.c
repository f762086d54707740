// PGM and PPM files, as pictures and as masks. What is read has to be the same when it is written
// and read again.
//
// Parsers: daemon/common/mask_file.c daemon/common/pnm.c
#include "tests/fuzz/fuzz.h"

#include "config/config.h"
#include "daemon/common/mask_file.h"
#include "daemon/common/pnm.h"

#include <errno.h>

// A gray picture written in colour has three equal samples a pixel.
static void check_colour(const struct frame *frame, const char *path)
{
    _cleanup_(cleanup_frame) struct frame *again = NULL;
    size_t stride = frame->layout.planes[0].stride;
    struct error error;

    fuzz_claim(pnm_write(frame, true, path, path, &error) == 0);
    fuzz_claim(pnm_read(path, path, frame_allocator_host(), &error, &again) == 0);
    for (size_t y = 0; y < frame->layout.height; y++) {
        const uint8_t *gray = frame_plane(frame, 0) + y * stride;
        const uint8_t *rgb = frame_plane(again, 0) + y * again->layout.planes[0].stride;

        for (size_t x = 0; x < frame->layout.planes[0].width_bytes; x++)
            fuzz_claim(rgb[x * 3] == gray[x] && memcmp(rgb + x * 3, rgb + x * 3 + 1, 2) == 0);
    }
}

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
    if (width == frame->layout.width)
        check_colour(frame, path);
    close(fd);
}

// The mask of a view, stretched over a picture of 65x3.
static int check_mask(const char *path)
{
    const struct config_view view = {.view = CONFIG_VIEW_EDGES, .mask = (char *)path};
    struct mask_plane *plane = NULL;
    struct mask_stamp stamp;
    struct error error = {0};
    int r = mask_plane_new(&view, 65, 3, mask_file_read, NULL, &error, &plane);

    fuzz_claim(r == 0 || error.text[0]);
    for (size_t i = 0; r == 0 && i < plane->stride * plane->height; i++)
        fuzz_claim(plane->bytes[i] == 0 || plane->bytes[i] == 255);
    mask_plane_unref(plane);
    mask_file_stamp(path, &stamp);
    fuzz_claim(r == -ENOENT || stamp.inode != 0);
    return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(cleanup_frame) struct frame *frame = NULL;
    char path[FUZZ_PATH_SIZE];
    int fd = fuzz_file(data, size, path);
    struct error error = {0};
    int r = pnm_read(path, "fuzz", frame_allocator_host(), &error, &frame);

    fuzz_claim(r == 0 || error.text[0]);
    if (r == 0)
        check_round_trip(frame);
    // GStreamer would decode files that are no PNM.
    if (size >= 2 && data[0] == 'P' && (data[1] == '5' || data[1] == '6'))
        fuzz_claim(check_mask(path) == r);
    close(fd);
    fuzz_claim(check_mask("/dev/null") == -EINVAL && check_mask(path) == -ENOENT);
    return 0;
}
