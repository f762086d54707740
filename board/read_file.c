#include "board/read_file.h"

#include "config/base.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define PATH_BYTES 512

size_t read_file(const char *folder, const char *name, char *ret_text, size_t size)
{
    _cleanup_(cleanup_close) int fd = -1;
    char path[PATH_BYTES];
    ssize_t length;

    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path) {
        return 0;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    length = fd < 0 ? -1 : read(fd, ret_text, size - 1);
    if (length <= 0) {
        return 0;
    }
    ret_text[length] = '\0';
    return (size_t)length;
}
