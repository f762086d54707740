// PNG and JPEG files, as pictures that edgectl reads and as masks of a configuration.
//
// Parsers: daemon/common/picture_file.c
#include "tests/fuzz/fuzz.h"

#include "daemon/common/picture_file.h"

#include <string.h>

// The largest picture that a sanitizer decodes within a second.
#define PIXELS_MAX (1u << 18)

static bool is_large(const uint8_t *width, const uint8_t *height, unsigned bytes)
{
    uint64_t pixels[2] = {0};

    for (unsigned i = 0; i < bytes; i++) {
        pixels[0] = pixels[0] << 8 | width[i];
        pixels[1] = pixels[1] << 8 | height[i];
    }
    return pixels[0] * pixels[1] > PIXELS_MAX;
}

// Whether some header, of PNG or a JPEG's frame, tells of a large picture.
static bool tells_of_large(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + 12 <= size; i++) {
        if (memcmp(data + i, "IHDR", 4) == 0 && is_large(data + i + 4, data + i + 8, 4))
            return true;
        if (data[i] == 0xff && (data[i + 1] & 0xf0) == 0xc0 &&
            is_large(data + i + 7, data + i + 5, 2)) {
            return true;
        }
    }
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (tells_of_large(data, size))
        return -1;
    _cleanup_(cleanup_frame) struct frame *frame = NULL;
    char path[FUZZ_PATH_SIZE];
    int fd = fuzz_file(data, size, path);
    struct error error = {0};
    int r = picture_file_read(path, "fuzz", frame_allocator_host(), &error, &frame);

    fuzz_claim(r == 0 ? frame->layout.width > 0 && frame->layout.height > 0
                      : strncmp(error.text, "fuzz: ", 6) == 0);
    fuzz_claim(r < 0 || picture_file_is(path));
    close(fd);
    return 0;
}
