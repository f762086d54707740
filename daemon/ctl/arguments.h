// Values of the command line that several commands take. All yield 0, or -EINVAL for anything else.
#pragma once

#include "config/config.h"

int backend_parse(const char *text, enum config_backend *ret_backend);
// A word of the configuration as the first `length` letters of `text`, without auto and host.
int memory_parse(const char *text, size_t length, enum config_memory *ret_memory);

struct picture_size {
    int width, height; // pixels, 1 to 16384 each
};

// "1280x720"
int size_parse(const char *text, struct picture_size *ret_size);
// An integer from `minimum` to `maximum`.
int number_parse(const char *text, int minimum, int maximum, int *ret_number);
