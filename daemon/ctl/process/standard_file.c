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

// The number of bytes, or -errno.
static int64_t copy(FILE *from, FILE *to)
{
    static char buffer[64 * 1024];
    int64_t total = 0;
    size_t length;

    while ((length = fread(buffer, 1, sizeof buffer, from)) > 0) {
        if (fwrite(buffer, 1, length, to) < length) {
            return -errno;
        }
        total += (int64_t)length;
    }
    return ferror(from) || fflush(to) != 0 ? -errno : total;
}

int standard_file_new(struct error *error, struct standard_file *ret_file)
{
    _cleanup_(cleanup_close) int fd = memfd_create("edgectl", MFD_CLOEXEC);

    ret_file->stream = fd < 0 ? NULL : fdopen(fd, "r+");
    if (!ret_file->stream) {
        return error_set(error, -errno, "no file in memory: %s", strerror(errno));
    }
    snprintf(ret_file->path, sizeof ret_file->path, "/proc/self/fd/%d", TAKE_FD(fd));
    return 0;
}

int standard_file_read(struct error *error, struct standard_file *ret_file)
{
    int r = standard_file_new(error, ret_file);
    int64_t length = r < 0 ? r : copy(stdin, ret_file->stream);

    if (r == 0 && length <= 0) {
        r = length == 0
                ? error_set(error, -ENODATA, "standard input is empty")
                : error_set(error, (int)length, "standard input: %s", strerror((int)-length));
    }
    return r;
}

int standard_file_write(struct standard_file *file, struct error *error)
{
    int64_t r = copy(file->stream, standard_output_keep());

    return r < 0 ? error_set(error, (int)r, "standard output: %s", strerror((int)-r)) : 0;
}

void standard_file_finish(struct standard_file *file)
{
    if (file->stream) {
        fclose(file->stream);
        file->stream = NULL;
    }
}
