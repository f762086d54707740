// A file's new content in one step: readers see the old one or the new one, also after power fails.
#pragma once

#include "config/base.h"

#include <sys/stat.h>

// Replaces `path`, which is no symbolic link, or makes it, with owner, group and mode of `like`.
// What the file system says (-EACCES, -EROFS, -EPERM: the owner cannot be kept), with the old
// content in place and nothing left beside it.
int replace_file(const char *path, const char *content, size_t length, const struct stat *like,
                 struct error *error);
// What the reading says (-ENOENT), or the whole file with a NUL behind it; the caller frees
// *ret_content.
int read_whole_file(const char *path, struct error *error, char **ret_content, size_t *ret_length);
