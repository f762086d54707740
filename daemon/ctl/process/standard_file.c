#include "daemon/ctl/process/standard_file.h"

#include "daemon/common/standard_output.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool standard_file_is(const char *path)
{
    return strcmp(path, "-") == 0;
}

static int write_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t written = write(fd, bytes, length);

        if (written < 0 && errno != EINTR) {
            return -errno;
        }
        bytes += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return 0;
}

// The number of bytes, or -errno.
static int64_t copy(int from, int to)
{
    static char buffer[64 * 1024];
    int64_t total = 0;

    for (;;) {
        ssize_t length = read(from, buffer, sizeof buffer);
        int r;

        if (length == 0 || (length < 0 && errno != EINTR)) {
            return length == 0 ? total : -errno;
        }
        r = length > 0 ? write_all(to, buffer, (size_t)length) : 0;
        if (r < 0) {
            return r;
        }
        total += length > 0 ? length : 0;
    }
}

int standard_file_new(struct error *error, struct standard_file *ret_file)
{
    int fd = memfd_create("edgectl", MFD_CLOEXEC);

    if (fd < 0) {
        return error_set(error, -errno, "no file in memory: %s", strerror(errno));
    }
    ret_file->fd = fd;
    snprintf(ret_file->path, sizeof ret_file->path, "/proc/self/fd/%d", fd);
    return 0;
}

int standard_file_read(struct error *error, struct standard_file *ret_file)
{
    struct standard_file file = STANDARD_FILE_NONE;
    int r = standard_file_new(error, &file);
    int64_t length = r < 0 ? r : copy(STDIN_FILENO, file.fd);

    if (r == 0 && length <= 0) {
        r = length == 0
                ? error_set(error, -ENODATA, "standard input is empty")
                : error_set(error, (int)length, "standard input: %s", strerror((int)-length));
    }
    if (r < 0) {
        standard_file_finish(&file);
        return r;
    }
    *ret_file = file;
    return 0;
}

int standard_file_write(struct standard_file *file, struct error *error)
{
    int64_t r =
        lseek(file->fd, 0, SEEK_SET) < 0 ? -errno : copy(file->fd, fileno(standard_output_keep()));

    return r < 0 ? error_set(error, (int)r, "standard output: %s", strerror((int)-r)) : 0;
}

void standard_file_finish(struct standard_file *file)
{
    if (file->fd >= 0) {
        close(file->fd);
        file->fd = -1;
    }
}
