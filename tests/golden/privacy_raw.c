// privacy_raw FORMAT WIDTH HEIGHT FLIP RANGE POLYGON...: blackens what polygons X:Y,X:Y,… of the
// flipped picture touch in one that is not flipped yet, whose planes come in without padding on
// standard input, one after the other, and writes its planes in the same way.
#include "capture/frame_pool.h"
#include "config/config.h"
#include "config/schema/schema_value.h"
#include "kernels/mask/privacy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Rows lie so many bytes further apart than they need, so that a stride is no row's width.
#define STRIDE_ALIGN 32
#define POLYGONS_MAX 8

static bool move_planes(struct frame *frame, bool writes)
{
    for (unsigned i = 0; i < frame->layout.format->plane_count; i++) {
        size_t bytes = frame->layout.planes[i].width_bytes;

        for (uint32_t y = 0; y < frame->layout.planes[i].rows; y++) {
            uint8_t *row = frame_plane(frame, i) + y * frame->layout.planes[i].stride;

            if ((writes ? fwrite(row, 1, bytes, stdout) : fread(row, 1, bytes, stdin)) != bytes) {
                return false;
            }
        }
    }
    return true;
}

static enum config_flip flip_of(const char *name)
{
    enum config_flip flip = CONFIG_FLIP_NONE;

    while (flip < CONFIG_FLIP_VERTICAL && strcmp(config_flip_name(flip), name) != 0) {
        flip++;
    }
    return flip;
}

int main(int argc, char **argv)
{
    struct config_privacy polygons[POLYGONS_MAX] = {{0}};
    const struct schema_key *key = schema_find_key(&schema_privacy, "polygon");
    struct privacy *privacy = NULL;
    struct frame_pool *frames = NULL;
    struct frame_layout layout;
    struct error error = {0};
    size_t count = 0;

    if (argc < 7 || argc > 6 + POLYGONS_MAX || !pixel_format_by_name(argv[1])) {
        return 2;
    }
    for (; (int)count < argc - 6; count++) {
        if (schema_assign_text(key, &polygons[count], argv[6 + count], &error) < 0) {
            fprintf(stderr, "privacy_raw: %s\n", error.text);
            return 2;
        }
    }
    frame_layout_init(&layout, pixel_format_by_name(argv[1]), (uint32_t)atoi(argv[2]),
                      (uint32_t)atoi(argv[3]), STRIDE_ALIGN);
    layout.range = strcmp(argv[5], "full") == 0 ? FRAME_RANGE_FULL : FRAME_RANGE_LIMITED;
    const struct privacy_setup setup = {
        .polygons = polygons, .count = count, .flip = flip_of(argv[4]), .layout = &layout};
    if (frame_pool_new(&layout, 1, frame_allocator_host(), &frames) < 0 ||
        privacy_new(&setup, &error, &privacy) < 0) {
        return 1;
    }
    struct frame *frame = frame_pool_take(frames);
    bool done = move_planes(frame, false) && privacy_apply(privacy, frame, &error) == 0 &&
                move_planes(frame, true);
    frame_unref(frame);
    frame_pool_unref(frames);
    privacy_free(privacy);
    while (count > 0) {
        free(polygons[--count].polygon);
    }
    return done ? 0 : 1;
}
