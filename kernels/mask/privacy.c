// The polygons are drawn once, into spans of pixels that are filled in every frame.
#include "kernels/mask/privacy.h"

#include "kernels/stage/bits.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define SIDE 2 // of a square of pixels that share their colour
// An edge so near to the border of a pixel lies on it, in pixels: what is nearer is rounding.
#define ROUNDING_PX 1e-6

// Pixels first..end-1 of rows y and y + 1.
struct span {
    uint32_t y, first, end;
};

struct privacy {
    struct config_privacy *polygons; // owned, names excepted, which are NULL
    size_t polygon_count;
    enum config_flip flip;
    struct frame_layout layout;
    struct span *spans; // owned
    size_t span_count, span_room;
    uint8_t *black[PIXEL_FORMAT_PLANES_MAX]; // owned; a row of each plane
};

// Where a point of the flipped picture lies in front of the flip (flip.h).
static struct config_point unflip(struct config_point point, enum config_flip flip)
{
    double x = point.x, y = point.y;

    switch (flip) {
    case CONFIG_FLIP_HORIZONTAL:
        return (struct config_point){1 - x, y};
    case CONFIG_FLIP_VERTICAL:
        return (struct config_point){x, 1 - y};
    case CONFIG_FLIP_ROTATE_180:
        return (struct config_point){1 - x, 1 - y};
    case CONFIG_FLIP_ROTATE_90:
        return (struct config_point){y, 1 - x};
    case CONFIG_FLIP_ROTATE_270:
        return (struct config_point){1 - y, x};
    case CONFIG_FLIP_NONE:
        break;
    }
    return point;
}

static void set_bits(uint64_t *bits, uint32_t first, uint32_t end)
{
    for (uint32_t x = first; x < end; x++)
        bits[x / BITS_WORD] |= UINT64_C(1) << x % BITS_WORD;
}

// Sets the pixels of row `y` that the line from `a` to `b`, in pixels, goes through.
static void draw_edge(struct config_point a, struct config_point b, uint32_t width, uint32_t y,
                      uint64_t *bits)
{
    double top = fmax(fmin(a.y, b.y), y), bottom = fmin(fmax(a.y, b.y), y + 1.0);
    double slope = a.y == b.y ? 0 : (b.x - a.x) / (b.y - a.y);
    double from = a.y == b.y ? a.x : a.x + (top - a.y) * slope;
    double to = a.y == b.y ? b.x : a.x + (bottom - a.y) * slope;

    if (bottom > y + ROUNDING_PX && top < y + 1 - ROUNDING_PX) {
        double first = floor(fmin(from, to) + ROUNDING_PX);
        double end = ceil(fmax(from, to) - ROUNDING_PX);

        set_bits(bits, first > 0 ? (uint32_t)first : 0, end < width ? (uint32_t)end : width);
    }
}

// Notes in `turns` where the line from `a` to `b` crosses the middle of row `y`: +1 downwards and
// -1 upwards at the first pixel whose centre is right of it.
static void note_turn(struct config_point a, struct config_point b, uint32_t width, uint32_t y,
                      int8_t *turns)
{
    double middle = y + 0.5;

    if ((a.y <= middle) != (b.y <= middle)) {
        double first = ceil(a.x + (b.x - a.x) * (middle - a.y) / (b.y - a.y) - 0.5);

        turns[first <= 0 ? 0 : first < width ? (uint32_t)first : width] += a.y < b.y ? 1 : -1;
    }
}

// Sets the pixels of a row whose centres the outline winds around.
static void draw_inside(const int8_t *turns, uint32_t width, uint64_t *bits)
{
    int winding = 0;

    for (uint32_t x = 0; x < width; x++) {
        winding += turns[x];
        bits[x / BITS_WORD] |= (uint64_t)(winding != 0) << x % BITS_WORD;
    }
}

// Adds the pixels of row `y` that a polygon touches: those whose centres it encloses, and those
// that its outline goes through. `turns` has room for one more than there are pixels in a row.
static void draw_polygon(const struct privacy *privacy, const struct config_privacy *polygon,
                         uint32_t y, int8_t *turns, uint64_t *bits)
{
    const struct config_point *corners = polygon->polygon;
    uint32_t width = privacy->layout.width, height = privacy->layout.height;

    memset(turns, 0, (size_t)width + 1);
    for (size_t i = 0; i < polygon->polygon_count; i++) {
        struct config_point a = corners[i], b = corners[(i + 1) % polygon->polygon_count];

        a = (struct config_point){a.x * width, a.y * height};
        b = (struct config_point){b.x * width, b.y * height};
        draw_edge(a, b, width, y, bits);
        note_turn(a, b, width, y, turns);
    }
    draw_inside(turns, width, bits);
}

// The first pixel from `x` on whose bit is `set`, or the width.
static uint32_t find_pixel(const uint64_t *bits, uint32_t width, uint32_t x, bool set)
{
    while (x < width) {
        uint64_t word = (set ? bits[x / BITS_WORD] : ~bits[x / BITS_WORD]) >> x % BITS_WORD;

        if (word) {
            x += (uint32_t)__builtin_ctzll(word);
            return x < width ? x : width;
        }
        x = (x / BITS_WORD + 1) * BITS_WORD;
    }
    return width;
}

static int add_span(struct privacy *privacy, struct span span)
{
    if (privacy->span_count > 0) {
        struct span *last = &privacy->spans[privacy->span_count - 1];

        if (last->y == span.y && span.first <= last->end) {
            last->end = span.end;
            return 0;
        }
    }
    if (privacy->span_count == privacy->span_room) {
        size_t room = privacy->span_room ? 2 * privacy->span_room : 256;
        struct span *spans = reallocarray(privacy->spans, room, sizeof *spans);

        if (!spans)
            return -ENOMEM;
        privacy->spans = spans;
        privacy->span_room = room;
    }
    privacy->spans[privacy->span_count++] = span;
    return 0;
}

// Adds what is set, and `around` pixels beside it, as whole groups of pixels.
static int add_spans(struct privacy *privacy, uint32_t y, const uint64_t *bits, uint32_t around)
{
    uint32_t width = privacy->layout.width;
    uint32_t shared = 1U << privacy->layout.format->planes[0].shift_x;
    uint32_t group = shared > SIDE ? shared : SIDE;
    int r = 0;

    for (uint32_t x = find_pixel(bits, width, 0, true), end; x < width && r == 0;
         x = find_pixel(bits, width, end, true)) {
        uint32_t first = (x > around ? x - around : 0) / group * group;

        end = find_pixel(bits, width, x, false);
        r = add_span(privacy, (struct span){y, first, (end + around + group - 1) / group * group});
    }
    return r;
}

// How far around a pixel others get something of it: by the demosaic, or by the flip of an odd
// size, which gives pixels their neighbours' colour.
static uint32_t reach_of(const struct privacy *privacy)
{
    const struct frame_layout *layout = &privacy->layout;
    bool odd = layout->width % 2 == 1 || layout->height % 2 == 1;

    return layout->format->mosaic.bits > 0 || (odd && privacy->flip != CONFIG_FLIP_NONE);
}

static int draw(struct privacy *privacy)
{
    uint32_t width = privacy->layout.width, height = privacy->layout.height;
    uint32_t around = reach_of(privacy);
    size_t words = bits_words(width);
    _cleanup_(cleanup_free) uint64_t *bits = calloc(words, sizeof *bits);
    _cleanup_(cleanup_free) int8_t *turns = malloc((size_t)width + 1);
    int r = bits && turns ? 0 : -ENOMEM;

    for (uint32_t y = 0; y < height && r == 0; y += SIDE) {
        uint32_t first = y > around ? y - around : 0, end = y + SIDE + around;

        memset(bits, 0, words * sizeof *bits);
        for (uint32_t row = first; row < end && row < height; row++) {
            for (size_t i = 0; i < privacy->polygon_count; i++)
                draw_polygon(privacy, &privacy->polygons[i], row, turns, bits);
        }
        r = add_spans(privacy, y, bits, around);
    }
    return r;
}

static int make_black(struct privacy *privacy)
{
    const struct frame_layout *layout = &privacy->layout;
    const struct pixel_format *format = layout->format;
    uint8_t luma = layout->range == FRAME_RANGE_FULL ? 0 : 16;

    for (unsigned i = 0; i < format->plane_count; i++) {
        size_t bytes = layout->planes[i].width_bytes;

        privacy->black[i] = malloc(bytes);
        if (!privacy->black[i])
            return -ENOMEM;
        memset(privacy->black[i], format->luma_step == 0 ? 0 : 128, bytes);
        for (size_t x = format->luma_offset; i == 0 && format->luma_step > 0 && x < bytes;
             x += format->luma_step) {
            privacy->black[i][x] = luma;
        }
    }
    return 0;
}

static int copy_polygons(struct privacy *privacy, const struct privacy_setup *setup)
{
    privacy->polygons = calloc(setup->count, sizeof *privacy->polygons);
    for (size_t i = 0; privacy->polygons && i < setup->count; i++) {
        const struct config_privacy *from = &setup->polygons[i];
        struct config_privacy *to = &privacy->polygons[i];

        to->polygon = calloc(from->polygon_count, sizeof *to->polygon);
        if (!to->polygon)
            return -ENOMEM;
        to->polygon_count = from->polygon_count;
        for (size_t j = 0; j < from->polygon_count; j++)
            to->polygon[j] = unflip(from->polygon[j], setup->flip);
        privacy->polygon_count++;
    }
    return privacy->polygons ? 0 : -ENOMEM;
}

int privacy_new(const struct privacy_setup *setup, struct error *error,
                struct privacy **ret_privacy)
{
    struct privacy *privacy = calloc(1, sizeof *privacy);
    int r = -ENOMEM;

    if (privacy) {
        privacy->flip = setup->flip;
        privacy->layout = *setup->layout;
        r = copy_polygons(privacy, setup);
    }
    r = r < 0 ? r : make_black(privacy);
    r = r < 0 ? r : draw(privacy);
    if (r < 0) {
        privacy_free(privacy);
        return error_set(error, r, "no memory to blacken what is private");
    }
    *ret_privacy = privacy;
    return 0;
}

void privacy_free(struct privacy *privacy)
{
    if (!privacy)
        return;
    for (size_t i = 0; i < privacy->polygon_count; i++)
        free(privacy->polygons[i].polygon);
    for (unsigned i = 0; i < PIXEL_FORMAT_PLANES_MAX; i++)
        free(privacy->black[i]);
    free(privacy->polygons);
    free(privacy->spans);
    free(privacy);
}

static bool is_same_corner(struct config_point a, struct config_point b)
{
    return a.x == b.x && a.y == b.y;
}

bool privacy_fits(const struct privacy *privacy, const struct privacy_setup *setup)
{
    if (privacy->flip != setup->flip || privacy->polygon_count != setup->count ||
        !frame_layout_equal(&privacy->layout, setup->layout)) {
        return false;
    }
    for (size_t i = 0; i < setup->count; i++) {
        const struct config_privacy *have = &privacy->polygons[i], *wanted = &setup->polygons[i];

        if (have->polygon_count != wanted->polygon_count)
            return false;
        for (size_t j = 0; j < have->polygon_count; j++) {
            if (!is_same_corner(have->polygon[j], unflip(wanted->polygon[j], setup->flip)))
                return false;
        }
    }
    return true;
}

static void fill_span(const struct privacy *privacy, struct frame *frame, const struct span *span)
{
    const struct frame_layout *layout = &frame->layout;

    for (unsigned i = 0; i < layout->format->plane_count; i++) {
        unsigned shift_x = layout->format->planes[i].shift_x;
        unsigned shift_y = layout->format->planes[i].shift_y;
        size_t first = (size_t)(span->first >> shift_x) * layout->format->planes[i].bytes;
        size_t end = (size_t)(span->end >> shift_x) * layout->format->planes[i].bytes;
        uint32_t rows = layout->planes[i].rows;

        end = end < layout->planes[i].width_bytes ? end : layout->planes[i].width_bytes;
        for (uint32_t y = span->y >> shift_y; y < (span->y + SIDE) >> shift_y && y < rows; y++) {
            memcpy(frame_plane(frame, i) + y * layout->planes[i].stride + first,
                   privacy->black[i] + first, end - first);
        }
    }
}

int privacy_apply(const struct privacy *privacy, struct frame *frame, struct error *error)
{
    int r = frame_begin_cpu_access(frame, error);

    if (r < 0)
        return r;
    for (size_t i = 0; i < privacy->span_count; i++)
        fill_span(privacy, frame, &privacy->spans[i]);
    return frame_end_cpu_access(frame, error);
}
