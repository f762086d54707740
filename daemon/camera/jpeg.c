#include "daemon/camera/jpeg.h"

#include "daemon/link/messages.h"
#include "kernels/convert/jfif.h"

#include <errno.h>
#include <turbojpeg.h>

struct jpeg {
    tjhandle handle;
    uint8_t *planes; // owned; with the sums of jfif_shrink() behind them; NULL: no picture yet
    size_t planes_bytes;
    unsigned char *bytes;     // TurboJPEG's, which makes it larger where it has to
    unsigned long bytes_room; // at least so many
};

int jpeg_new(struct jpeg **ret_jpeg)
{
    struct jpeg *jpeg = calloc(1, sizeof *jpeg);

    if (!jpeg)
        return -ENOMEM;
    jpeg->handle = tjInitCompress();
    if (!jpeg->handle) {
        free(jpeg);
        return -ENOMEM;
    }
    *ret_jpeg = jpeg;
    return 0;
}

void jpeg_free(struct jpeg *jpeg)
{
    if (jpeg) {
        tjDestroy(jpeg->handle);
        tjFree(jpeg->bytes);
        free(jpeg->planes);
        free(jpeg);
    }
}

static int reserve(struct jpeg *jpeg, size_t size)
{
    if (size > jpeg->planes_bytes) {
        free(jpeg->planes);
        jpeg->planes = malloc(size);
        jpeg->planes_bytes = jpeg->planes ? size : 0;
    }
    return jpeg->planes ? 0 : -ENOMEM;
}

static int compress(struct jpeg *jpeg, const struct frame_layout *layout, int quality,
                    struct error *error, size_t *ret_size)
{
    const unsigned char *planes[3];
    int strides[3];
    unsigned long size = jpeg->bytes_room;

    for (unsigned i = 0; i < 3; i++) {
        planes[i] = jpeg->planes + layout->planes[i].offset;
        strides[i] = (int)layout->planes[i].stride;
    }
    if (tjCompressFromYUVPlanes(jpeg->handle, planes, (int)layout->width, strides,
                                (int)layout->height, TJSAMP_420, &jpeg->bytes, &size, quality,
                                TJFLAG_ACCURATEDCT) < 0) {
        return error_set(error, -EMSGSIZE, "no JPEG of %ux%u: %s", layout->width, layout->height,
                         tjGetErrorStr2(jpeg->handle));
    }
    jpeg->bytes_room = size > jpeg->bytes_room ? size : jpeg->bytes_room;
    *ret_size = size;
    return 0;
}

int jpeg_make(struct jpeg *jpeg, const struct frame *picture, unsigned scale, int quality,
              struct error *error, const uint8_t **ret_bytes, size_t *ret_size)
{
    uint32_t width = link_scale_width(scale);
    unsigned shift = width ? 0 : scale;
    struct frame_layout layout;
    int r = frame_begin_cpu_access(picture, error);

    if (r < 0)
        return r;
    if (width)
        jfif_layout_of_width(&picture->layout, width, &layout);
    else
        jfif_layout(&picture->layout, shift, &layout);
    if (reserve(jpeg, layout.size + picture->layout.width * sizeof(uint16_t)) < 0) {
        return error_set(error, -ENOMEM, "no memory for a JPEG of %ux%u", layout.width,
                         layout.height);
    }
    if (width && layout.width < picture->layout.width)
        jfif_shrink(picture, &layout, (uint16_t *)(jpeg->planes + layout.size), jpeg->planes);
    else
        jfif_convert(picture, shift, &layout, jpeg->planes);
    r = compress(jpeg, &layout, quality, error, ret_size);
    if (r == 0)
        *ret_bytes = jpeg->bytes;
    return r;
}
