#include "daemon/common/replace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static int fail(const char *path, const char *what, struct error *error)
{
    return error_set(error, -errno, "%s: %s: %s", path, what, strerror(errno));
}

static int write_all(int fd, const char *content, size_t length)
{
    while (length > 0) {
        ssize_t count = write(fd, content, length);

        if (count < 0 && errno != EINTR) {
            return -errno;
        }
        content += count > 0 ? count : 0;
        length -= count > 0 ? (size_t)count : 0;
    }
    return 0;
}

static int fill(int fd, const char *path, const char *content, size_t length,
                const struct stat *like, struct error *error)
{
    struct stat now;

    if (fstat(fd, &now) < 0) {
        return fail(path, "cannot write there", error);
    }
    if ((now.st_uid != like->st_uid || now.st_gid != like->st_gid) &&
        fchown(fd, like->st_uid, like->st_gid) < 0) {
        return fail(path, "cannot keep its owner", error);
    }
    if (fchmod(fd, like->st_mode & 07777) < 0) {
        return fail(path, "cannot keep its mode", error);
    }
    if (write_all(fd, content, length) < 0 || fsync(fd) < 0) {
        return fail(path, "cannot write there", error);
    }
    return 0;
}

// A rename survives a power failure only once its folder has been written to the disk.
static int sync_folder(const char *path, int length, struct error *error)
{
    _cleanup_(cleanup_free) char *folder = length > 0 ? strndup(path, (size_t)length) : strdup(".");
    _cleanup_(cleanup_close) int fd = -1;

    if (!folder) {
        return error_set(error, -ENOMEM, "out of memory");
    }
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 || fsync(fd) < 0 ? fail(folder, "cannot be synced", error) : 0;
}

int replace_file(const char *path, const char *content, size_t length, const struct stat *like,
                 struct error *error)
{
    const char *slash = strrchr(path, '/');
    int folder = slash ? (int)(slash - path) + 1 : 0;
    _cleanup_(cleanup_free) char *temporary = NULL;
    _cleanup_(cleanup_close) int fd = -1;
    int r;

    if (asprintf(&temporary, "%.*s.%s.XXXXXX", folder, path, path + folder) < 0) {
        temporary = NULL;
        return error_set(error, -ENOMEM, "out of memory");
    }
    fd = mkostemp(temporary, O_CLOEXEC);
    if (fd < 0) {
        return fail(path, "cannot write there", error);
    }
    r = fill(fd, path, content, length, like, error);
    if (r == 0 && rename(temporary, path) < 0) {
        r = fail(path, "cannot write there", error);
    }
    if (r < 0) {
        unlink(temporary);
        return r;
    }
    return sync_folder(path, folder, error);
}

int read_whole_file(const char *path, struct error *error, char **ret_content, size_t *ret_length)
{
    FILE *file = fopen(path, "rbe");
    _cleanup_(cleanup_free) char *content = NULL;
    struct stat info;
    int r = 0;

    if (!file || fstat(fileno(file), &info) < 0) {
        r = fail(path, "cannot be read", error);
    } else if (!(content = malloc((size_t)info.st_size + 1))) {
        r = error_set(error, -ENOMEM, "out of memory");
    } else {
        *ret_length = fread(content, 1, (size_t)info.st_size, file);
        content[*ret_length] = '\0';
        r = ferror(file) ? fail(path, "cannot be read", error) : 0;
    }
    if (file) {
        fclose(file);
    }
    if (r == 0) {
        *ret_content = TAKE(content);
    }
    return r;
}
