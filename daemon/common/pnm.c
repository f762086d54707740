#include "daemon/common/pnm.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static void cleanup_file(FILE **file)
{
    if (*file)
        fclose(*file);
}

int picture_frame_new(const char *format, uint32_t width, uint32_t height,
                      const struct frame_allocator *allocator, struct error *error,
                      struct frame **ret_frame)
{
    struct frame_layout layout;
    struct frame_pool *pool;
    int r;

    frame_layout_init(&layout, pixel_format_by_name(format), width, height, FRAME_STRIDE_ALIGN);
    r = frame_pool_new(&layout, 1, allocator, &pool);
    if (r < 0) {
        error_set(error, r, "no memory for a picture of %ux%u", width, height);
        return r;
    }
    *ret_frame = frame_pool_take(pool);
    frame_pool_unref(pool);
    return 0;
}

// The next number of a header, behind white space and comments; -1 when there is none.
static long read_number(FILE *file)
{
    bool comment = false;
    long number = 0;
    int c = getc(file);

    while (c != EOF && (comment || c == '#' || isspace(c))) {
        comment = c == '#' || (comment && c != '\n');
        c = getc(file);
    }
    if (!isdigit(c))
        return -1;
    for (; isdigit(c); c = getc(file))
        number = number < 1000000 ? 10 * number + (c - '0') : number;
    return isspace(c) ? number : -1;
}

static int read_header(FILE *file, const char *name, struct error *error, const char **ret_format,
                       uint32_t *ret_width, uint32_t *ret_height)
{
    int magic = getc(file) == 'P' ? getc(file) : EOF;
    long width, height, maximum;

    if (magic != '5' && magic != '6')
        return error_set(error, -EINVAL, "%s: neither P5 nor P6, the binary PGM and PPM", name);
    width = read_number(file);
    height = read_number(file);
    maximum = read_number(file);
    if (width < 0 || height < 0 || maximum < 0)
        return error_set(error, -EINVAL, "%s: broken header, expected width, height, 255", name);
    if (width < 1 || height < 1 || width > PICTURE_SIDE_MAX || height > PICTURE_SIDE_MAX) {
        return error_set(error, -EINVAL, "%s: a picture of %ldx%ld, allowed are 1x1 to %dx%d", name,
                         width, height, PICTURE_SIDE_MAX, PICTURE_SIDE_MAX);
    }
    if (maximum != 255)
        return error_set(error, -EINVAL, "%s: samples of 0..%ld, allowed is 0..255", name, maximum);
    *ret_format = magic == '5' ? "GREY" : "RGB3";
    *ret_width = (uint32_t)width;
    *ret_height = (uint32_t)height;
    return 0;
}

int pnm_read(const char *path, const char *name, const struct frame_allocator *allocator,
             struct error *error, struct frame **ret_frame)
{
    _cleanup_(cleanup_file) FILE *file = fopen(path, "rbe");
    _cleanup_(cleanup_frame) struct frame *frame = NULL;
    const char *format = NULL;
    uint32_t width = 0, height = 0;
    int r;

    if (!file)
        return error_set(error, -errno, "%s: %s", name, strerror(errno));
    r = read_header(file, name, error, &format, &width, &height);
    if (r < 0)
        return r;
    r = picture_frame_new(format, width, height, allocator, error, &frame);
    if (r < 0)
        return error_prefix(error, r, "%s", name);
    for (uint32_t y = 0; y < height; y++) {
        uint8_t *row = frame_plane(frame, 0) + y * frame->layout.planes[0].stride;

        if (fread(row, 1, frame->layout.planes[0].width_bytes, file) !=
            frame->layout.planes[0].width_bytes) {
            return error_set(error, -ENODATA, "%s: truncated, row %u of %u is missing", name, y + 1,
                             height);
        }
    }
    *ret_frame = TAKE(frame);
    return 0;
}

static void write_row(FILE *file, const uint8_t *row, size_t bytes, unsigned repeat)
{
    if (repeat == 1) {
        fwrite(row, 1, bytes, file);
        return;
    }
    for (size_t x = 0; x < bytes; x++) {
        for (unsigned i = 0; i < repeat; i++)
            putc(row[x], file);
    }
}

int pnm_write(const struct frame *frame, bool colour, const char *path, const char *name,
              struct error *error)
{
    const struct frame_layout *layout = &frame->layout;
    FILE *file = fopen(path, "wbe");
    bool failed;

    if (!file)
        return error_set(error, -errno, "%s: %s", name, strerror(errno));
    fprintf(file, "P%c\n%u %u\n255\n", colour ? '6' : '5', layout->width, layout->height);
    for (uint32_t y = 0; y < layout->height; y++) {
        write_row(file, frame_plane(frame, 0) + y * layout->planes[0].stride,
                  layout->planes[0].width_bytes, colour && layout->format->luma_step ? 3 : 1);
    }
    failed = ferror(file);
    if (fclose(file) != 0 || failed)
        return error_set(error, -EIO, "%s: the disk did not take the picture", name);
    return 0;
}
