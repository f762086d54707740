// privacy_raw FORMAT WIDTH HEIGHT FLIP RANGE POLYGON...: blackens what polygons X:Y,X:Y,… of the
// flipped picture touch in one that is not flipped yet, whose planes come in without padding on
// standard input, one after the other, and writes its planes in the same way.
#include "config/schema/schema_value.h"
#include "kernels/mask/privacy.h"
#include "tests/golden/raw_planes.h"

#define POLYGONS_MAX 8

int main(int argc, char **argv)
{
    struct config_privacy polygons[POLYGONS_MAX] = {{0}};
    const struct schema_key *key = schema_find_key(&schema_privacy, "polygon");
    struct privacy *privacy = NULL;
    struct frame_layout layout;
    struct error error = {0};
    size_t count = 0;

    if (argc < 7 || argc > 6 + POLYGONS_MAX || !pixel_format_by_name(argv[1]))
        return 2;
    for (; (int)count < argc - 6; count++) {
        if (schema_assign_text(key, &polygons[count], argv[6 + count], &error) < 0) {
            fprintf(stderr, "privacy_raw: %s\n", error.text);
            return 2;
        }
    }
    frame_layout_init(&layout, pixel_format_by_name(argv[1]), (uint32_t)atoi(argv[2]),
                      (uint32_t)atoi(argv[3]), RAW_STRIDE_ALIGN);
    layout.range = strcmp(argv[5], "full") == 0 ? FRAME_RANGE_FULL : FRAME_RANGE_LIMITED;
    const struct privacy_setup setup = {
        .polygons = polygons, .count = count, .flip = raw_flip(argv[4]), .layout = &layout};
    struct frame *frame = raw_read(&layout);
    bool done = frame && privacy_new(&setup, &error, &privacy) == 0 &&
                privacy_apply(privacy, frame, &error) == 0 && raw_move(frame, true);
    if (frame)
        frame_unref(frame);
    privacy_free(privacy);
    while (count > 0)
        free(polygons[--count].polygon);
    return done ? 0 : 1;
}
