#include "capture/mjpeg.h"

#include "config/base.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <turbojpeg.h>

struct mjpeg {
    tjhandle handle;
};

int mjpeg_new(struct mjpeg **ret_mjpeg)
{
    struct mjpeg *mjpeg = calloc(1, sizeof *mjpeg);

    if (!mjpeg) {
        return -ENOMEM;
    }
    mjpeg->handle = tjInitDecompress();
    if (!mjpeg->handle) {
        free(mjpeg);
        return -ENOMEM;
    }
    *ret_mjpeg = mjpeg;
    return 0;
}

void mjpeg_free(struct mjpeg *mjpeg)
{
    if (mjpeg) {
        tjDestroy(mjpeg->handle);
        free(mjpeg);
    }
}

// TurboJPEG writes whole chroma samples, so an odd width or height of a subsampled picture would
// touch luma one sample beyond our plane.
static const char *format_name(int subsampling, int colorspace, uint32_t width, uint32_t height)
{
    if (colorspace == TJCS_GRAY && subsampling == TJSAMP_GRAY) {
        return "GREY";
    }
    if (colorspace != TJCS_YCbCr) {
        return colorspace == TJCS_RGB ? "RGB3" : NULL;
    }
    switch (subsampling) {
    case TJSAMP_444:
        return "444P";
    case TJSAMP_422:
        return width % 2 == 0 ? "422P" : "RGB3";
    case TJSAMP_420:
        return width % 2 == 0 && height % 2 == 0 ? "YU12" : "RGB3";
    default:
        return "RGB3";
    }
}

// A handle that met a broken header may refuse every JPEG after it (TurboJPEG 2.1.5): start afresh.
static void renew_handle(struct mjpeg *mjpeg)
{
    tjhandle fresh = tjInitDecompress();

    if (fresh) {
        tjDestroy(mjpeg->handle);
        mjpeg->handle = fresh;
    }
}

const struct pixel_format *mjpeg_format(struct mjpeg *mjpeg, const uint8_t *data, size_t size,
                                        uint32_t width, uint32_t height)
{
    int jpeg_width, jpeg_height, subsampling, colorspace;
    const char *name;

    if (size == 0 || size > INT_MAX) {
        return NULL;
    }
    if (tjDecompressHeader3(mjpeg->handle, data, size, &jpeg_width, &jpeg_height, &subsampling,
                            &colorspace) < 0) {
        renew_handle(mjpeg);
        return NULL;
    }
    if (jpeg_width < 1 || jpeg_height < 1 || (uint32_t)jpeg_width != width ||
        (uint32_t)jpeg_height != height) {
        return NULL;
    }
    name = format_name(subsampling, colorspace, width, height);
    return name ? pixel_format_by_name(name) : NULL;
}

// Many cameras leave a few bytes between the last block and the end marker of every JPEG; all
// blocks are there. Any other warning means that some are missing or wrong.
static bool is_harmless(const struct mjpeg *mjpeg)
{
    return tjGetErrorCode(mjpeg->handle) == TJERR_WARNING &&
           strstr(tjGetErrorStr2(mjpeg->handle), "extraneous bytes before marker 0xd9");
}

int mjpeg_decode(struct mjpeg *mjpeg, const uint8_t *data, size_t size, struct frame *frame)
{
    const struct frame_layout *layout = &frame->layout;
    unsigned char *planes[PIXEL_FORMAT_PLANES_MAX] = {NULL};
    int strides[PIXEL_FORMAT_PLANES_MAX] = {0};
    const struct pixel_format *format =
        mjpeg_format(mjpeg, data, size, layout->width, layout->height);
    int r;

    if (!format || format != layout->format) {
        return -EBADMSG;
    }
    for (unsigned i = 0; i < format->plane_count; i++) {
        planes[i] = frame_plane(frame, i);
        strides[i] = (int)layout->planes[i].stride;
    }
    if (format->luma_step == 0) {
        r = tjDecompress2(mjpeg->handle, data, size, planes[0], (int)layout->width, strides[0],
                          (int)layout->height, TJPF_RGB, 0);
    } else {
        r = tjDecompressToYUVPlanes(mjpeg->handle, data, size, planes, (int)layout->width, strides,
                                    (int)layout->height, 0);
    }
    if (r < 0 && !is_harmless(mjpeg)) {
        renew_handle(mjpeg);
        return -EBADMSG;
    }
    return 0;
}
