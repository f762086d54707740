#include "config/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

static int check_file(int fd, const char *path, struct error *error)
{
    struct stat status;

    if (fstat(fd, &status) < 0) {
        return error_set(error, -errno, "cannot read \"%s\": %s", path, strerror(errno));
    }
    if (!S_ISREG(status.st_mode)) {
        return error_set(error, -EINVAL, "\"%s\" is no regular file", path);
    }
    if (status.st_mode & (S_IWGRP | S_IRWXO)) {
        return error_set(error, -EACCES,
                         "\"%s\" has mode %04o, allowed: none that lets others read or change a "
                         "password; `chmod 640 %s`",
                         path, (unsigned)status.st_mode & 07777, path);
    }
    return 0;
}

static int part(struct credentials *credentials, const char *path, struct error *error)
{
    char *end = credentials->text + strcspn(credentials->text, "\r\n");
    bool more = end[strspn(end, "\r\n")] != '\0';
    char *colon;

    *end = '\0';
    colon = strchr(credentials->text, ':');
    if (!colon || colon == credentials->text || more) {
        return error_set(error, -EINVAL, "\"%s\" is not what is allowed: one line, user:password",
                         path);
    }
    *colon = '\0';
    credentials->user = credentials->text;
    credentials->password = colon + 1;
    return 0;
}

int credentials_read(const char *path, struct error *error, struct credentials *ret_credentials)
{
    _cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t length;
    int r;

    if (fd < 0) {
        return error_set(error, -errno, "cannot read \"%s\": %s", path, strerror(errno));
    }
    r = check_file(fd, path, error);
    if (r < 0) {
        return r;
    }
    length = read(fd, ret_credentials->text, sizeof ret_credentials->text - 1);
    if (length < 0) {
        return error_set(error, -errno, "cannot read \"%s\": %s", path, strerror(errno));
    }
    ret_credentials->text[length] = '\0';
    r = part(ret_credentials, path, error);
    if (r < 0) {
        credentials_clear(ret_credentials);
    }
    return r;
}

void credentials_clear(struct credentials *credentials)
{
    explicit_bzero(credentials, sizeof *credentials);
}
