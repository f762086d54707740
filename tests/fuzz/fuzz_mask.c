// Masks of views and regions as PNM, stretched over a picture. Others are GStreamer's to decode.
//
// Parsers: daemon/common/mask_file.c daemon/common/pnm.c
#include "tests/fuzz/fuzz.h"

#include "config/config.h"
#include "daemon/common/mask_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[FUZZ_PATH_SIZE];

    if (size < 2 || data[0] != 'P' || (data[1] != '5' && data[1] != '6')) {
        return -1; // not for the corpus
    }
    int fd = fuzz_file(data, size, path);
    struct config_view view = {.view = CONFIG_VIEW_EDGES, .mask = path};
    struct mask_plane *plane = NULL;
    struct error error = {0};
    int r = mask_plane_new(&view, 65, 3, mask_file_read, NULL, &error, &plane);

    fuzz_claim(r == 0 || error.text[0]);
    for (size_t i = 0; r == 0 && i < plane->stride * plane->height; i++) {
        fuzz_claim(plane->bytes[i] == 0 || plane->bytes[i] == 255);
    }
    mask_plane_unref(plane);
    close(fd);
    return 0;
}
