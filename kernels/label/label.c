#include "kernels/label/label.h"

#include "capture/letters.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LINES_MAX 2
#define LINE_SIZE 256 // bytes
#define LINE_ROWS (LETTERS_ABOVE + LETTERS_ROWS + LETTERS_BELOW)
#define MARGIN 2     // dots beside the lines
#define DOT_ROWS 480 // a dot of size 1 is a pixel of a picture with so many rows
#define CLOCK_FORMAT "%Y-%m-%d %H:%M:%S"
#define CLOCK_SIZE sizeof "2026-01-01 00:00:00"
#define CHROMA_NEUTRAL 128

struct label {
    char lines[LINES_MAX][LINE_SIZE];
    size_t line_count;
    bool clock;    // the first line begins with it, in CLOCK_SIZE - 1 characters
    time_t second; // that the clock in the box shows
    uint8_t black, white;
    uint32_t dot;                      // its side in pixels
    uint32_t left, top, width, height; // of the box, in pixels; no pair of chroma is cut
    uint8_t *box;                      // owned; the luma, `width` bytes a row
};

static void draw_box(struct label *label)
{
    const struct letters_canvas canvas = {.pixels = label->box,
                                          .stride = label->width,
                                          .width = label->width,
                                          .height = label->height};
    int64_t dot = label->dot;

    memset(label->box, label->black, (size_t)label->width * label->height);
    for (size_t i = 0; i < label->line_count; i++) {
        letters_write(&canvas, label->lines[i], MARGIN * dot,
                      ((int64_t)i * LINE_ROWS + LETTERS_ABOVE) * dot, label->dot, label->white);
    }
}

// Whether the clock shows another second now. A change of the local time's zone is noticed.
static bool set_clock(struct label *label, int64_t pts_ns)
{
    char text[CLOCK_SIZE];
    struct timespec wall;
    struct tm local;

    clock_gettime(CLOCK_REALTIME, &wall);
    int64_t wall_ns = wall.tv_sec * NS_PER_S + wall.tv_nsec - (clock_now_ns() - pts_ns);
    time_t second = (time_t)(wall_ns / NS_PER_S);
    if (second == label->second)
        return false;
    label->second = second;
    tzset();
    if (localtime_r(&second, &local) &&
        strftime(text, sizeof text, CLOCK_FORMAT, &local) == CLOCK_SIZE - 1) {
        memcpy(label->lines[0], text, CLOCK_SIZE - 1);
    }
    return true;
}

static void write_lines(struct label *label, const struct label_setup *setup)
{
    const struct config_label *settings = setup->settings;

    label->clock = settings->clock;
    if (settings->clock || settings->camera) {
        snprintf(label->lines[label->line_count++], LINE_SIZE, "%*s%s%s",
                 settings->clock ? (int)CLOCK_SIZE - 1 : 0, "",
                 settings->clock && settings->camera ? "  " : "",
                 settings->camera ? setup->camera : "");
    }
    if (*settings->text)
        snprintf(label->lines[label->line_count++], LINE_SIZE, "%s", settings->text);
}

// In dots.
static uint32_t box_width(const struct label *label)
{
    size_t longest = 0;

    for (size_t i = 0; i < label->line_count; i++) {
        size_t count = letters_count(label->lines[i]);

        longest = count > longest ? count : longest;
    }
    return (uint32_t)(longest * LETTERS_ADVANCE - 1 + 2 * MARGIN);
}

static uint32_t choose_dot(const struct label *label, const struct label_setup *setup)
{
    uint32_t wanted =
        (setup->layout->height * (uint32_t)setup->settings->size + DOT_ROWS / 2) / DOT_ROWS;
    uint32_t most = setup->layout->width / box_width(label);

    wanted = wanted < most ? wanted : most;
    return wanted ? wanted : 1;
}

// Puts a box of `wanted` pixels at the beginning or the end of a side of `room` pixels.
static void place(uint32_t room, uint32_t wanted, bool at_end, uint32_t *ret_first,
                  uint32_t *ret_length)
{
    uint32_t first = at_end && wanted < room ? (room - wanted) / 2 * 2 : 0;
    uint32_t end = first + wanted + wanted % 2;

    *ret_first = first;
    *ret_length = (at_end || end > room ? room : end) - first;
}

static void place_box(struct label *label, const struct label_setup *setup)
{
    enum config_corner corner = setup->settings->corner;
    bool right = corner == CONFIG_CORNER_TOP_RIGHT || corner == CONFIG_CORNER_BOTTOM_RIGHT;
    bool bottom = corner == CONFIG_CORNER_BOTTOM_LEFT || corner == CONFIG_CORNER_BOTTOM_RIGHT;
    uint32_t rows = (uint32_t)label->line_count * LINE_ROWS + 1;

    label->dot = choose_dot(label, setup);
    place(setup->layout->width, box_width(label) * label->dot, right, &label->left, &label->width);
    place(setup->layout->height, rows * label->dot, bottom, &label->top, &label->height);
}

int label_new(const struct label_setup *setup, struct error *error, struct label **ret_label)
{
    struct label *label = calloc(1, sizeof *label);
    bool full = setup->layout->range == FRAME_RANGE_FULL;

    if (label) {
        label->second = -1;
        label->black = full ? 0 : 16;
        label->white = full ? 255 : 235;
        write_lines(label, setup);
        place_box(label, setup);
        label->box = malloc((size_t)label->width * label->height);
    }
    if (!label || !label->box) {
        label_free(label);
        return error_set(error, -ENOMEM, "no memory for a label");
    }
    draw_box(label);
    *ret_label = label;
    return 0;
}

void label_free(struct label *label)
{
    if (label) {
        free(label->box);
        free(label);
    }
}

int label_draw(struct label *label, struct frame *picture, struct error *error)
{
    size_t stride = picture->layout.planes[0].stride;
    size_t chroma_stride = picture->layout.planes[1].stride;
    int r = frame_begin_cpu_access(picture, error);

    if (r < 0)
        return r;
    if (label->clock && set_clock(label, picture->pts_ns))
        draw_box(label);
    for (uint32_t y = 0; y < label->height; y++) {
        memcpy(frame_plane(picture, 0) + (label->top + y) * stride + label->left,
               label->box + (size_t)y * label->width, label->width);
    }
    for (uint32_t y = label->top / 2; y < (label->top + label->height + 1) / 2; y++) {
        memset(frame_plane(picture, 1) + y * chroma_stride + label->left, CHROMA_NEUTRAL,
               (label->width + 1) / 2 * 2);
    }
    return frame_end_cpu_access(picture, error);
}
