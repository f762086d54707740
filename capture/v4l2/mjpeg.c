#include "capture/v4l2/mjpeg.h"

#include "config/base.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <turbojpeg.h>

// How many pixels a JPEG may be larger than its frame, in each direction: it is made of blocks, up
// to 16 pixels large with 4:2:0, and some cameras write the size of the blocks into it.
#define EXCESS_MAX_PX 15

enum mjpeg_marker {
    MARKER_SOF0 = 0xc0, // baseline
    MARKER_SOF1 = 0xc1, // extended sequential
    MARKER_EOI = 0xd9,
    MARKER_SOS = 0xda,
    MARKER_APP0 = 0xe0,
};

// The shortest APP0 segment that libjpeg takes for a JFIF header.
#define JFIF_BYTES 14
#define JFIF_VERSION_AT 5
#define FRAME_COMPONENTS_AT 5

struct mjpeg {
    tjhandle handle;
    uint8_t *whole; // owned: a larger picture, before it is cropped; NULL while there was none
    size_t whole_bytes;
};

int mjpeg_new(struct mjpeg **ret_mjpeg)
{
    struct mjpeg *mjpeg = calloc(1, sizeof *mjpeg);

    if (!mjpeg)
        return -ENOMEM;
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
        free(mjpeg->whole);
        free(mjpeg);
    }
}

// TurboJPEG writes whole chroma samples, so an odd width or height of a subsampled picture would
// touch luma one sample beyond our plane.
static const char *format_name(int subsampling, int colorspace, uint32_t width, uint32_t height)
{
    if (colorspace == TJCS_GRAY && subsampling == TJSAMP_GRAY)
        return "GREY";
    if (colorspace != TJCS_YCbCr)
        return colorspace == TJCS_RGB ? "RGB3" : NULL;
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

static bool fits(int got, uint32_t wanted)
{
    return got >= 1 && (uint32_t)got >= wanted && (uint32_t)got - wanted <= EXCESS_MAX_PX;
}

// The format for a frame of `width` x `height`, and the size the JPEG itself has. NULL as
// mjpeg_format().
static const struct pixel_format *read_header(struct mjpeg *mjpeg, const uint8_t *data, size_t size,
                                              uint32_t width, uint32_t height, int *ret_width,
                                              int *ret_height)
{
    int subsampling, colorspace;
    const char *name;

    if (size == 0 || size > INT_MAX)
        return NULL;
    if (tjDecompressHeader3(mjpeg->handle, data, size, ret_width, ret_height, &subsampling,
                            &colorspace) < 0) {
        renew_handle(mjpeg);
        return NULL;
    }
    if (!fits(*ret_width, width) || !fits(*ret_height, height))
        return NULL;
    name = format_name(subsampling, colorspace, width, height);
    return name ? pixel_format_by_name(name) : NULL;
}

const struct pixel_format *mjpeg_format(struct mjpeg *mjpeg, const uint8_t *data, size_t size,
                                        uint32_t width, uint32_t height)
{
    int jpeg_width, jpeg_height;

    return read_header(mjpeg, data, size, width, height, &jpeg_width, &jpeg_height);
}

// Many cameras leave a few bytes between the last block and the end marker of every JPEG; all
// blocks are there. Any other warning means that some are missing or wrong.
static bool is_harmless(const struct mjpeg *mjpeg)
{
    return tjGetErrorCode(mjpeg->handle) == TJERR_WARNING &&
           strstr(tjGetErrorStr2(mjpeg->handle), "extraneous bytes before marker 0xd9");
}

// Decodes all of a JPEG of `width` x `height` pixels to `picture`, laid out as `layout`, which has
// room for whole chroma samples.
static int decode(struct mjpeg *mjpeg, const uint8_t *data, size_t size, int width, int height,
                  const struct frame_layout *layout, uint8_t *picture)
{
    unsigned char *planes[PIXEL_FORMAT_PLANES_MAX] = {NULL};
    int strides[PIXEL_FORMAT_PLANES_MAX] = {0};
    int r;

    for (unsigned i = 0; i < layout->format->plane_count; i++) {
        planes[i] = picture + layout->planes[i].offset;
        strides[i] = (int)layout->planes[i].stride;
    }
    if (layout->format->luma_step == 0) {
        r = tjDecompress2(mjpeg->handle, data, size, planes[0], width, strides[0], height, TJPF_RGB,
                          0);
    } else {
        r = tjDecompressToYUVPlanes(mjpeg->handle, data, size, planes, width, strides, height, 0);
    }
    if (r < 0 && !is_harmless(mjpeg)) {
        renew_handle(mjpeg);
        return -EBADMSG;
    }
    return 0;
}

static int decode_and_crop(struct mjpeg *mjpeg, const uint8_t *data, size_t size, int width,
                           int height, struct copies *copies, struct frame *frame)
{
    struct frame_layout whole;
    int r;

    frame_layout_init(&whole, frame->layout.format, ((uint32_t)width + 1) / 2 * 2,
                      ((uint32_t)height + 1) / 2 * 2, 1);
    if (whole.size > mjpeg->whole_bytes) {
        free(mjpeg->whole);
        mjpeg->whole = malloc(whole.size);
        mjpeg->whole_bytes = mjpeg->whole ? whole.size : 0;
    }
    if (!mjpeg->whole)
        return -ENOMEM;
    r = decode(mjpeg, data, size, width, height, &whole, mjpeg->whole);
    if (r == 0)
        copies_copy_frame(copies, COPY_MJPEG_DECODE, frame, &whole, mjpeg->whole);
    return r;
}

int mjpeg_decode(struct mjpeg *mjpeg, const uint8_t *data, size_t size, struct copies *copies,
                 struct frame *frame)
{
    const struct frame_layout *layout = &frame->layout;
    int width, height, r;
    const struct pixel_format *format =
        read_header(mjpeg, data, size, layout->width, layout->height, &width, &height);

    if (!format || format != layout->format)
        return -EBADMSG;
    r = (uint32_t)width == layout->width && (uint32_t)height == layout->height
            ? decode(mjpeg, data, size, width, height, layout, frame->data)
            : decode_and_crop(mjpeg, data, size, width, height, copies, frame);
    if (r == 0)
        copies_count(copies, COPY_MJPEG_DECODE);
    return r;
}

static size_t mend_end(uint8_t *data, size_t size, size_t room)
{
    if ((data[size - 2] == 0xff && data[size - 1] == MARKER_EOI) || room - size < 2)
        return size;
    data[size] = 0xff;
    data[size + 1] = MARKER_EOI;
    return size + 2;
}

size_t mjpeg_mend(uint8_t *data, size_t size, size_t room)
{
    unsigned components = 0;
    size_t at = 2; // behind the start marker

    // A segment is 0xff, perhaps more of it, its marker, the length of the rest, its content.
    while (at < size && size - at >= 4 && data[at] == 0xff) {
        enum mjpeg_marker marker = data[at + 1];
        size_t length = (size_t)data[at + 2] << 8 | data[at + 3];
        uint8_t *content = data + at + 4;

        if (data[at + 1] == 0xff) {
            at++;
            continue;
        }
        if (length < 2 || length > size - at - 2)
            break;
        at += 2 + length;
        length -= 2;
        if (marker == MARKER_APP0 && length >= JFIF_BYTES && memcmp(content, "JFIF", 5) == 0) {
            content[JFIF_VERSION_AT] = 1;
        } else if ((marker == MARKER_SOF0 || marker == MARKER_SOF1) &&
                   length > FRAME_COMPONENTS_AT) {
            components = content[FRAME_COMPONENTS_AT];
        } else if (marker == MARKER_SOS) {
            // With other scans to come, the end would hide that they are missing.
            return length > 0 && components > 0 && content[0] == components
                       ? mend_end(data, size, room)
                       : size;
        }
    }
    return size;
}
