// Three centred lines of text over a flat picture; 16 characters of each always fit.

#include "daemon/camera/slate.h"

#include "capture/letters.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LINE_ADVANCE 10 // dots from line to line
#define LINE_CHARACTERS 16

#define LUMA_GROUND 40
#define LUMA_TITLE 210
#define LUMA_DETAIL 130
#define CHROMA_NEUTRAL 128

static void format_time(char *text, size_t size, int64_t seconds)
{
    int64_t hours = seconds / 3600, minutes = seconds / 60 % 60;

    if (hours) {
        snprintf(text, size, "%" PRId64 ":%02" PRId64 ":%02" PRId64, hours, minutes, seconds % 60);
    } else {
        snprintf(text, size, "%" PRId64 ":%02" PRId64, minutes, seconds % 60);
    }
}

void slate_draw(struct frame *frame, const char *camera, int64_t seconds)
{
    uint32_t scale = letters_scale(frame->layout.width);
    char name[LINE_CHARACTERS + 1], time[32];
    int64_t top = ((int64_t)frame->layout.height - 3 * LINE_ADVANCE * (int64_t)scale) / 2;

    memset(frame_plane(frame, 0), LUMA_GROUND,
           frame->layout.planes[0].stride * frame->layout.planes[0].rows);
    memset(frame_plane(frame, 1), CHROMA_NEUTRAL,
           frame->layout.planes[1].stride * frame->layout.planes[1].rows);
    letters_draw(frame, "NO SIGNAL", top, scale, LUMA_TITLE);
    snprintf(name, sizeof name, "%s", camera);
    letters_draw(frame, name, top + LINE_ADVANCE * (int64_t)scale, scale, LUMA_DETAIL);
    if (seconds >= 0) {
        format_time(time, sizeof time, seconds);
        letters_draw(frame, time, top + 2 * LINE_ADVANCE * (int64_t)scale, scale, LUMA_DETAIL);
    }
}
