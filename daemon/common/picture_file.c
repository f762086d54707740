#include "daemon/common/picture_file.h"

#include "capture/clip/exif.h"
#include "daemon/common/pnm.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <png.h>
#include <setjmp.h>
#include <string.h>
#include <turbojpeg.h>
#include <unistd.h>

#define PNG_SIGNATURE "\x89PNG\r\n\x1a\n"
#define JPEG_START "\xff\xd8\xff"
#define SIGNATURE_MAX 8

// A picture as the file has it.
struct decoded {
    uint32_t width, height;
    uint8_t *rgb; // owned (g_free), rows without padding
    enum exif_orientation orientation;
};

static void cleanup_decoded(struct decoded *decoded)
{
    g_free(decoded->rgb);
}

static int allocate(struct decoded *decoded, struct error *error)
{
    if (decoded->width > PICTURE_SIDE_MAX || decoded->height > PICTURE_SIDE_MAX) {
        return error_set(error, -EINVAL, "a picture of %ux%u, allowed are 1x1 to %dx%d",
                         decoded->width, decoded->height, PICTURE_SIDE_MAX, PICTURE_SIDE_MAX);
    }
    decoded->rgb = g_try_malloc((size_t)decoded->width * decoded->height * 3);
    return decoded->rgb ? 0
                        : error_set(error, -ENOMEM, "no memory for a picture of %ux%u",
                                    decoded->width, decoded->height);
}

// JPEG has no colour profile here: ink is taken to let the light of the black through. Adobe writes
// the inks inverted, and so does everybody else.
static void convert_cmyk(const uint8_t *cmyk, uint8_t *ret_rgb, size_t pixels)
{
    for (size_t i = 0; i < pixels; i++, cmyk += 4, ret_rgb += 3) {
        for (unsigned c = 0; c < 3; c++)
            ret_rgb[c] = (uint8_t)(cmyk[3] - ((255 - cmyk[c]) * cmyk[3] >> 8));
    }
}

static int fail_jpeg(tjhandle handle, struct error *error)
{
    return error_set(error, -ENODATA, "a damaged JPEG: %s", tjGetErrorStr2(handle));
}

// Some telephones and cameras write whole pictures with oddities that libjpeg warns of.
static bool is_damaged(tjhandle handle)
{
    static const char *const harmless[] = {
        "extraneous bytes before marker",
        "Invalid SOS parameters for sequential JPEG",
        "unknown JFIF revision number",
        "Unknown Adobe color transform code",
    };
    const char *warning = tjGetErrorStr2(handle);

    if (tjGetErrorCode(handle) == TJERR_WARNING) {
        for (size_t i = 0; i < ARRAY_LENGTH(harmless); i++) {
            if (strstr(warning, harmless[i]))
                return false;
        }
    }
    return true;
}

static int decode_jpeg(tjhandle handle, const uint8_t *bytes, size_t size, struct decoded *decoded,
                       struct error *error)
{
    int width, height, subsampling, colorspace;

    if (tjDecompressHeader3(handle, bytes, size, &width, &height, &subsampling, &colorspace) < 0 &&
        is_damaged(handle)) {
        return fail_jpeg(handle, error);
    }
    bool inks = colorspace == TJCS_CMYK || colorspace == TJCS_YCCK;
    g_autofree uint8_t *cmyk = NULL;
    decoded->width = (uint32_t)width;
    decoded->height = (uint32_t)height;
    int r = allocate(decoded, error);
    if (r == 0 && inks) {
        cmyk = g_try_malloc((size_t)width * (size_t)height * 4);
        r = cmyk ? 0 : error_set(error, -ENOMEM, "no memory for %dx%d in CMYK", width, height);
    }
    if (r < 0)
        return r;
    if (tjDecompress2(handle, bytes, size, inks ? cmyk : decoded->rgb, width, 0, height,
                      inks ? TJPF_CMYK : TJPF_RGB, TJFLAG_ACCURATEDCT) < 0 &&
        is_damaged(handle)) {
        return fail_jpeg(handle, error);
    }
    if (inks)
        convert_cmyk(cmyk, decoded->rgb, (size_t)width * (size_t)height);
    decoded->orientation = exif_read_jpeg(bytes, size);
    return 0;
}

static int read_jpeg(const uint8_t *bytes, size_t size, struct decoded *decoded,
                     struct error *error)
{
    tjhandle handle;
    int r;

    // One that ends early still decodes, with a gray rest.
    if (!memmem(bytes, size, "\xff\xd9", 2))
        return error_set(error, -ENODATA, "truncated, the JPEG has no end marker");
    handle = tjInitDecompress();
    if (!handle)
        return error_set(error, -ENOMEM, "%s", tjGetErrorStr2(NULL));
    r = decode_jpeg(handle, bytes, size, decoded, error);
    tjDestroy(handle);
    return r;
}

// The state of libpng's callbacks.
struct png_input {
    const uint8_t *bytes;
    size_t size, at;
    struct error *error;
    uint8_t **rows; // owned (g_free)
};

static void read_png_bytes(png_structp png, png_bytep ret_bytes, png_size_t size)
{
    struct png_input *input = png_get_io_ptr(png);

    if (size > input->size - input->at)
        png_error(png, "the file ends early");
    memcpy(ret_bytes, input->bytes + input->at, size);
    input->at += size;
}

static void on_png_error(png_structp png, png_const_charp text)
{
    struct png_input *input = png_get_error_ptr(png);

    error_set(input->error, -ENODATA, "a damaged PNG: %s", text);
    png_longjmp(png, 1);
}

static void on_png_warning(png_structp png, png_const_charp text)
{
    (void)png;
    (void)text; // about what is beside the picture
}

// As cv2.imread() has it: see the top.
static void make_rgb8(png_structp png, png_infop info)
{
    int type = png_get_color_type(png, info), depth = png_get_bit_depth(png, info);

    if (depth == 16)
        png_set_strip_16(png);
    png_set_strip_alpha(png);
    if (type == PNG_COLOR_TYPE_PALETTE)
        png_set_palette_to_rgb(png);
    if (!(type & PNG_COLOR_MASK_COLOR)) {
        if (depth < 8)
            png_set_expand_gray_1_2_4_to_8(png);
        png_set_gray_to_rgb(png);
    }
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
}

static enum exif_orientation read_png_orientation(png_structp png, png_infop info)
{
#ifdef PNG_eXIf_SUPPORTED
    png_uint_32 size = 0;
    png_bytep exif = NULL;

    if (png_get_eXIf_1(png, info, &size, &exif))
        return exif_read(exif, size);
#else
    (void)png;
    (void)info;
#endif
    return EXIF_TOP_LEFT;
}

// Errors jump back to read_png().
static int decode_png(png_structp png, png_infop info, struct png_input *input,
                      struct decoded *decoded)
{
    png_set_user_limits(png, PICTURE_SIDE_MAX, PICTURE_SIDE_MAX);
    png_set_read_fn(png, input, read_png_bytes);
    png_read_info(png, info);
    decoded->width = png_get_image_width(png, info);
    decoded->height = png_get_image_height(png, info);
    make_rgb8(png, info);
    int r = allocate(decoded, input->error);
    if (r < 0)
        return r;
    input->rows = g_new(uint8_t *, decoded->height);
    for (uint32_t y = 0; y < decoded->height; y++)
        input->rows[y] = decoded->rgb + (size_t)y * decoded->width * 3;
    png_read_image(png, input->rows);
    png_read_end(png, info);
    decoded->orientation = read_png_orientation(png, info);
    return 0;
}

static int read_png(const uint8_t *bytes, size_t size, struct decoded *decoded, struct error *error)
{
    struct png_input input = {.bytes = bytes, .size = size, .error = error};
    png_structp png =
        png_create_read_struct(PNG_LIBPNG_VER_STRING, &input, on_png_error, on_png_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    int r;

    if (!info) {
        png_destroy_read_struct(&png, NULL, NULL);
        return error_set(error, -ENOMEM, "no memory for libpng");
    }
    r = setjmp(png_jmpbuf(png)) ? -ENODATA : decode_png(png, info, &input, decoded);
    png_destroy_read_struct(&png, &info, NULL);
    g_free(input.rows);
    return r;
}

// Puts each sample where it belongs.
static void place(const struct decoded *decoded, const struct frame *frame)
{
    enum exif_orientation to = decoded->orientation;
    bool turned = to >= EXIF_LEFT_TOP;
    bool from_right = to == EXIF_TOP_RIGHT || to == EXIF_BOTTOM_RIGHT || to == EXIF_RIGHT_TOP ||
                      to == EXIF_RIGHT_BOTTOM;
    bool from_bottom = to == EXIF_BOTTOM_RIGHT || to == EXIF_BOTTOM_LEFT ||
                       to == EXIF_RIGHT_BOTTOM || to == EXIF_LEFT_BOTTOM;
    const struct frame_layout *layout = &frame->layout;

    for (uint32_t y = 0; y < decoded->height; y++) {
        const uint8_t *from = decoded->rgb + (size_t)y * decoded->width * 3;

        for (uint32_t x = 0; x < decoded->width; x++, from += 3) {
            uint32_t column = turned ? y : x, row = turned ? x : y;

            column = from_right ? layout->width - 1 - column : column;
            row = from_bottom ? layout->height - 1 - row : row;
            memcpy(frame_plane(frame, 0) + row * layout->planes[0].stride + (size_t)column * 3,
                   from, 3);
        }
    }
}

static bool begins_with(const void *bytes, size_t size, const char *signature)
{
    size_t length = strlen(signature);

    return size >= length && memcmp(bytes, signature, length) == 0;
}

bool picture_file_is(const char *path)
{
    _cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
    uint8_t bytes[SIGNATURE_MAX];
    ssize_t size = fd >= 0 ? pread(fd, bytes, sizeof bytes, 0) : -1;

    return size > 0 && (begins_with(bytes, (size_t)size, PNG_SIGNATURE) ||
                        begins_with(bytes, (size_t)size, JPEG_START));
}

int picture_file_read(const char *path, const char *name, const struct frame_allocator *allocator,
                      struct error *error, struct frame **ret_frame)
{
    _cleanup_(cleanup_decoded) struct decoded decoded = {.orientation = EXIF_TOP_LEFT};
    g_autoptr(GError) reason = NULL;
    g_autofree char *bytes = NULL;
    gsize size;
    int r;

    if (!g_file_get_contents(path, &bytes, &size, &reason))
        return error_set(error, -EIO, "%s: %s", name, reason->message);
    r = begins_with(bytes, size, PNG_SIGNATURE)
            ? read_png((const uint8_t *)bytes, size, &decoded, error)
        : begins_with(bytes, size, JPEG_START)
            ? read_jpeg((const uint8_t *)bytes, size, &decoded, error)
            : error_set(error, -ENODATA, "neither a PNG nor a JPEG");
    if (r == 0) {
        bool turned = decoded.orientation >= EXIF_LEFT_TOP;

        r = picture_frame_new("RGB3", turned ? decoded.height : decoded.width,
                              turned ? decoded.width : decoded.height, allocator, error, ret_frame);
    }
    if (r < 0)
        return error_prefix(error, r, "%s", name);
    place(&decoded, *ret_frame);
    return 0;
}
