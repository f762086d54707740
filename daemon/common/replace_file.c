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

        if (count < 0 && errno != EINTR)
            return -errno;
        content += count > 0 ? count : 0;
        length -= count > 0 ? (size_t)count : 0;
    }
    return 0;
}

static int fill(int fd, const char *path, const char *content, size_t length,
                const struct stat *like, struct error *error)
{
    struct stat now;

    if (fstat(fd, &now) < 0)
        return fail(path, "cannot write there", error);
    if ((now.st_uid != like->st_uid || now.st_gid != like->st_gid) &&
        fchown(fd, like->st_uid, like->st_gid) < 0) {
        return fail(path, "cannot keep its owner", error);
    }
    if (fchmod(fd, like->st_mode & 07777) < 0)
        return fail(path, "cannot keep its mode", error);
    if (write_all(fd, content, length) < 0 || fsync(fd) < 0)
        return fail(path, "cannot write there", error);
    return 0;
}

// A rename survives a power failure only once its folder has been written to the disk.
static int sync_folder(const char *path, int length, struct error *error)
{
    _cleanup_(cleanup_free) char *folder = length > 0 ? strndup(path, (size_t)length) : strdup(".");
    _cleanup_(cleanup_close) int fd = -1;

    if (!folder)
        return error_set(error, -ENOMEM, "out of memory");
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
    if (fd < 0)
        return fail(path, "cannot write there", error);
    r = fill(fd, path, content, length, like, error);
    if (r == 0 && rename(temporary, path) < 0)
        r = fail(path, "cannot write there", error);
    if (r < 0) {
        unlink(temporary);
        return r;
    }
    return sync_folder(path, folder, error);
}

// Fills in the content and `like`.
static int read_content(struct replaced_file *file, struct error *error)
{
    FILE *stream;
    int r = 0;

    if (stat(file->path, &file->like) < 0)
        return fail(file->path, "cannot be read", error);
    if (!S_ISREG(file->like.st_mode)) {
        return error_set(error, S_ISDIR(file->like.st_mode) ? -EISDIR : -EINVAL,
                         "%s is no regular file", file->path);
    }
    stream = fopen(file->path, "rbe");
    file->content = malloc((size_t)file->like.st_size + 1);
    if (!stream || !file->content) {
        r = fail(file->path, "cannot be read", error);
    } else {
        file->length = fread(file->content, 1, (size_t)file->like.st_size, stream);
        file->content[file->length] = '\0';
        r = ferror(stream) ? fail(file->path, "cannot be read", error) : 0;
    }
    if (stream)
        fclose(stream);
    return r;
}

int replaced_file_read(const char *path, struct error *error, struct replaced_file *ret_file)
{
    struct replaced_file file = {
        .path = realpath(path, NULL),
        .like = {.st_mode = S_IFREG | 0644, .st_uid = geteuid(), .st_gid = getegid()},
    };
    int r = 0;

    if (file.path)
        r = read_content(&file, error);
    else if (errno != ENOENT || !(file.path = strdup(path)))
        r = fail(path, "cannot be read", error);
    if (r < 0) {
        replaced_file_finish(&file);
        return r;
    }
    *ret_file = file;
    return 0;
}

int replaced_file_write(const struct replaced_file *file, const char *content, size_t length,
                        struct error *error)
{
    return replace_file(file->path, content, length, &file->like, error);
}

int replaced_file_put_back(const struct replaced_file *file)
{
    if (file->content)
        return replaced_file_write(file, file->content, file->length, NULL);
    return unlink(file->path) < 0 ? -errno : 0;
}

void replaced_file_finish(struct replaced_file *file)
{
    if (file->content)
        explicit_bzero(file->content, file->length);
    free(file->content);
    free(file->path);
    *file = (struct replaced_file){0};
}
