// PNG and JPEG files, as pictures that edgectl reads and as masks of a configuration.
//
// Parsers: daemon/common/picture_file.c
#include "tests/fuzz/fuzz.h"

#include "daemon/common/picture_file.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
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
