#include "config/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define CREDENTIALS_BYTES_MAX 1024

static int check(const struct stat *status, const struct private_file_rules *rules,
                 const char *path, struct error *error)
{
    if (!S_ISREG(status->st_mode))
        return error_set(error, -EINVAL, "\"%s\" is no regular file", path);
    if (status->st_mode & rules->refused) {
        return error_set(error, -EACCES,
                         "\"%s\" has mode %04o, allowed: none that lets others read or change %s; "
                         "`chmod %o %s`",
                         path, (unsigned)status->st_mode & 07777, rules->what, rules->proposed,
                         path);
    }
    if ((uint64_t)status->st_size > rules->limit_bytes) {
        return error_set(error, -EFBIG, "\"%s\" has %lld bytes, allowed: up to %zu", path,
                         (long long)status->st_size, rules->limit_bytes);
    }
    return 0;
}

int private_file_read(const char *path, const struct private_file_rules *rules, struct error *error,
                      struct private_file *ret_file)
{
    _cleanup_(cleanup_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct private_file file = {0};
    ssize_t count = -1;
    struct stat status;
    int r;

    if (fd < 0 || fstat(fd, &status) < 0) {
        return error_set(error, -errno, "cannot read \"%s\": %s%s", path, strerror(errno),
                         errno == EACCES ? "; edged's user has to" : "");
    }
    r = check(&status, rules, path, error);
    if (r < 0)
        return r;
    file.text = calloc(1, (size_t)status.st_size + 1);
    if (!file.text)
        return error_set(error, -ENOMEM, "cannot read \"%s\": %s", path, strerror(ENOMEM));
    do {
        count = read(fd, file.text + file.length, (size_t)status.st_size - file.length);
        file.length += count > 0 ? (size_t)count : 0;
    } while (count > 0 || (count < 0 && errno == EINTR));
    if (count < 0) {
        r = error_set(error, -errno, "cannot read \"%s\": %s", path, strerror(errno));
        private_file_finish(&file);
        return r;
    }
    *ret_file = file;
    return 0;
}

void private_file_finish(struct private_file *file)
{
    if (file->text)
        explicit_bzero(file->text, file->length);
    free(file->text);
    *file = (struct private_file){0};
}

int credentials_read(const char *path, struct error *error, struct credentials *ret_credentials)
{
    static const struct private_file_rules rules = {S_IWGRP | S_IRWXO, 0640, "a password",
                                                    CREDENTIALS_BYTES_MAX};
    struct credentials credentials = {0};
    int r = private_file_read(path, &rules, error, &credentials.file);
    char *text = credentials.file.text, *end, *colon;

    if (r < 0)
        return r;
    end = text + strcspn(text, "\r\n");
    colon = memchr(text, ':', (size_t)(end - text));
    if (!colon || colon == text || end[strspn(end, "\r\n")] != '\0') {
        credentials_clear(&credentials);
        return error_set(error, -EINVAL, "\"%s\" is not what is allowed: one line, user:password",
                         path);
    }
    *end = *colon = '\0';
    credentials.user = text;
    credentials.password = colon + 1;
    *ret_credentials = credentials;
    return 0;
}

void credentials_clear(struct credentials *credentials)
{
    private_file_finish(&credentials->file);
}
