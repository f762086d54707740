// A file's new content in one step: readers see the old one or the new one, also after power fails.
#pragma once

#include "config/base.h"

#include <sys/stat.h>

// Replaces the file `path`, which must not be a symbolic link, or makes it, with owner, group and
// mode of `like`. An error is what the file system says (-EACCES, -EROFS, -EPERM: the owner cannot
// be kept); the old content is still in place then, and nothing is left beside it.
int replace_file(const char *path, const char *content, size_t length, const struct stat *like,
                 struct error *error);
// Reads the whole file and puts a NUL behind it; the caller frees *ret_content. An error is what
// reading says, for example -ENOENT.
int read_whole_file(const char *path, struct error *error, char **ret_content, size_t *ret_length);
