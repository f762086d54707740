// A picture of the pattern is memcpy only. All 40 rows of a row of cells are alike and frames
// differ in where they start, so one strip a row of cells, as long as the scene and a picture
// together, holds every frame; the strips of a 720p NV12 pattern fit a second-level cache.
#include "capture/pattern/pattern.h"

#include "capture/letters.h"
#include "config/base.h"

#include <errno.h>
#include <string.h>

#define CELL_PX 40
#define STEP_PX 2 // how far the scene moves a frame
#define BLOCKS 20
#define CAPTION_MARGIN 2 // dots of the band above and below the letters
#define CAPTION_LUMA 210
#define BAND_LUMA 40
#define BAND_CHROMA 128

// Which component each byte of a sample group carries, by plane.
struct packing {
    const char *format;
    const char *planes[PIXEL_FORMAT_PLANES_MAX];
};

struct colour {
    uint8_t luma, cb, cr;
};

struct pattern_plane {
    uint8_t *strips; // owned; one strip for each row of cells
    size_t strip_bytes;
    size_t step_bytes;       // what the scene moves a frame
    uint8_t *flat, *striped; // owned; one row of a number block for a 0 and a 1
    size_t block_bytes;
    uint32_t cell_rows, block_rows;
};

struct pattern {
    struct frame_layout layout;
    const struct packing *packing;
    uint32_t cells_across; // C
    uint32_t cells_down;
    uint32_t block_px;   // B
    const char *caption; // not owned; NULL: none
    struct pattern_plane planes[PIXEL_FORMAT_PLANES_MAX];
};

static const struct packing packings[] = {
    {"YUYV", {"yuyv"}},    {"UYVY", {"uyvy"}},        {"NV12", {"y", "uv"}},
    {"NV21", {"y", "vu"}}, {"YU12", {"y", "u", "v"}}, {"GREY", {"y"}},
};

static const struct packing *find_packing(const char *format)
{
    for (size_t i = 0; i < ARRAY_LENGTH(packings); i++) {
        if (strcmp(packings[i].format, format) == 0)
            return &packings[i];
    }
    return NULL;
}

static struct colour cell_colour(uint32_t i, uint32_t j)
{
    uint32_t h = ((73856093U * i) ^ (19349663U * j)) * 2654435761U;

    return (struct colour){
        .luma = (uint8_t)(40 + (160 * (h >> 24) >> 8)),
        .cb = (uint8_t)(96 + (h >> 16 & 63)),
        .cr = (uint8_t)(96 + (h >> 8 & 63)),
    };
}

static uint8_t *put_group(uint8_t *to, const char *components, struct colour colour)
{
    for (const char *c = components; *c; c++)
        *to++ = *c == 'y' ? colour.luma : *c == 'u' ? colour.cb : colour.cr;
    return to;
}

static void render_strip(const struct pattern *pattern, unsigned plane, uint32_t j)
{
    const struct pattern_plane *to = &pattern->planes[plane];
    unsigned shift_x = pattern->layout.format->planes[plane].shift_x;
    uint8_t *byte = to->strips + j * to->strip_bytes;
    uint8_t *end = byte + to->strip_bytes;

    for (uint32_t group = 0; byte < end; group++) {
        uint32_t i = (group << shift_x) / CELL_PX % pattern->cells_across;

        byte = put_group(byte, pattern->packing->planes[plane], cell_colour(i, j));
    }
}

static void render_blocks(const struct pattern *pattern, unsigned plane)
{
    unsigned shift_x = pattern->layout.format->planes[plane].shift_x;
    uint8_t *flat = pattern->planes[plane].flat, *striped = pattern->planes[plane].striped;

    for (uint32_t x = 0; x < pattern->block_px; x += 1U << shift_x) {
        struct colour dark = {30, 128, 128}, bright = {220, 128, 128};

        flat = put_group(flat, pattern->packing->planes[plane], dark);
        striped = put_group(striped, pattern->packing->planes[plane], x % 4 < 2 ? bright : dark);
    }
}

static int init_plane(struct pattern *pattern, unsigned index)
{
    struct pattern_plane *plane = &pattern->planes[index];
    const struct pixel_format *format = pattern->layout.format;
    size_t bytes = format->planes[index].bytes;
    unsigned shift_x = format->planes[index].shift_x, shift_y = format->planes[index].shift_y;
    size_t scene_bytes = ((size_t)pattern->cells_across * CELL_PX >> shift_x) * bytes;

    plane->strip_bytes = scene_bytes + pattern->layout.planes[index].width_bytes;
    plane->step_bytes = (STEP_PX >> shift_x) * bytes;
    plane->block_bytes = (pattern->block_px >> shift_x) * bytes;
    plane->cell_rows = CELL_PX >> shift_y;
    plane->block_rows = pattern->block_px >> shift_y;
    plane->strips = malloc(plane->strip_bytes * pattern->cells_down);
    plane->flat = malloc(plane->block_bytes);
    plane->striped = malloc(plane->block_bytes);
    if (!plane->strips || !plane->flat || !plane->striped)
        return -ENOMEM;
    for (uint32_t j = 0; j < pattern->cells_down; j++)
        render_strip(pattern, index, j);
    render_blocks(pattern, index);
    return 0;
}

static void cleanup_pattern(struct pattern **pattern)
{
    pattern_free(*pattern);
}

int pattern_new(const struct frame_layout *layout, struct pattern **ret_pattern)
{
    _cleanup_(cleanup_pattern) struct pattern *pattern = NULL;
    const struct packing *packing = find_packing(layout->format->name);

    if (!packing)
        return -ENOTSUP;
    pattern = calloc(1, sizeof *pattern);
    if (!pattern)
        return -ENOMEM;
    pattern->layout = *layout;
    pattern->packing = packing;
    pattern->cells_across = (layout->width + CELL_PX - 1) / CELL_PX;
    pattern->cells_down = (layout->height + CELL_PX - 1) / CELL_PX;
    pattern->block_px = layout->width / BLOCKS / 4 * 4;
    if (pattern->block_px < 4)
        pattern->block_px = 4;
    for (unsigned i = 0; i < layout->format->plane_count; i++) {
        int r = init_plane(pattern, i);

        if (r < 0)
            return r;
    }
    *ret_pattern = TAKE(pattern);
    return 0;
}

void pattern_free(struct pattern *pattern)
{
    if (!pattern)
        return;
    for (unsigned i = 0; i < PIXEL_FORMAT_PLANES_MAX; i++) {
        free(pattern->planes[i].strips);
        free(pattern->planes[i].flat);
        free(pattern->planes[i].striped);
    }
    free(pattern);
}

// The 20 bits that the blocks show: 16 of the number, 4 of the check.
static uint32_t number_bits(uint64_t number)
{
    uint32_t n = number & 0xffff;

    return n | ((n ^ n >> 4 ^ n >> 8 ^ n >> 12 ^ 10) & 15) << 16;
}

static void draw_number(const struct pattern *pattern, unsigned index, uint32_t bits,
                        struct frame *frame)
{
    const struct pattern_plane *plane = &pattern->planes[index];
    size_t stride = frame->layout.planes[index].stride;
    size_t width_bytes = frame->layout.planes[index].width_bytes;
    uint32_t rows = frame->layout.planes[index].rows;
    uint8_t *first = frame_plane(frame, index);
    size_t done = 0;

    for (unsigned k = 0; k < BLOCKS && done < width_bytes; k++) {
        size_t left = width_bytes - done;
        size_t bytes = plane->block_bytes < left ? plane->block_bytes : left;

        memcpy(first + done, bits >> k & 1 ? plane->striped : plane->flat, bytes);
        done += bytes;
    }
    for (uint32_t row = 1; row < rows && row < plane->block_rows; row++)
        memcpy(first + row * stride, first, done);
}

void pattern_set_caption(struct pattern *pattern, const char *caption)
{
    pattern->caption = strcmp(pattern->layout.format->name, "NV12") == 0 ? caption : NULL;
}

static void fill_rows(struct frame *frame, unsigned plane, int64_t first, int64_t end,
                      uint8_t value)
{
    int64_t rows = frame->layout.planes[plane].rows;

    for (int64_t row = first > 0 ? first : 0; row < end && row < rows; row++) {
        memset(frame_plane(frame, plane) + (size_t)row * frame->layout.planes[plane].stride, value,
               frame->layout.planes[plane].width_bytes);
    }
}

static void draw_caption(const char *caption, struct frame *frame)
{
    int64_t scale = letters_scale(frame->layout.width);
    int64_t top = ((int64_t)frame->layout.height - LETTERS_ROWS * scale) / 2;
    int64_t first = (top - CAPTION_MARGIN * scale) & ~INT64_C(1); // whole rows of chroma
    int64_t end = (top + (LETTERS_ROWS + CAPTION_MARGIN) * scale + 1) & ~INT64_C(1);

    fill_rows(frame, 0, first, end, BAND_LUMA);
    fill_rows(frame, 1, first / 2, end / 2, BAND_CHROMA);
    letters_draw(frame, caption, top, (uint32_t)scale, CAPTION_LUMA);
}

void pattern_draw(const struct pattern *pattern, uint64_t number, struct frame *frame)
{
    uint64_t step = number % (pattern->cells_across * (CELL_PX / STEP_PX));

    for (unsigned i = 0; i < frame->layout.format->plane_count; i++) {
        const struct pattern_plane *plane = &pattern->planes[i];
        const uint8_t *strip = plane->strips + step * plane->step_bytes;
        uint8_t *to = frame_plane(frame, i);

        for (uint32_t row = 0; row < frame->layout.planes[i].rows; row++) {
            memcpy(to, strip + row / plane->cell_rows * plane->strip_bytes,
                   frame->layout.planes[i].width_bytes);
            to += frame->layout.planes[i].stride;
        }
    }
    if (pattern->caption)
        draw_caption(pattern->caption, frame);
    for (unsigned i = 0; i < frame->layout.format->plane_count; i++)
        draw_number(pattern, i, number_bits(number), frame);
}
