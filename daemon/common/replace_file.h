// A file's new content in one step: readers see the old one or the new one, also after power fails.
#pragma once

#include "config/base.h"

#include <sys/stat.h>

// Replaces the file `path`, which must not be a symbolic link, or makes it, with owner, group and
// mode of `like`. An error is what the file system says (-EACCES, -EROFS, -EPERM: the owner cannot
// be kept); the old content is still in place then, and nothing is left beside it.
int replace_file(const char *path, const char *content, size_t length, const struct stat *like,
                 struct error *error);

// A file that is to be replaced, as it was before.
struct replaced_file {
    char *path;       // with symbolic links resolved; owned
    char *content;    // with a NUL behind it; owned; NULL: there was no file
    size_t length;    // of the content
    struct stat like; // owner, group and mode of what is written: at first those of the file, or
                      // those of this process and 0644
};

// Reads the file at `path`, if there is one. -EISDIR, -EINVAL (no regular file), -ENOMEM, else what
// the system says. End it with replaced_file_finish().
int replaced_file_read(const char *path, struct error *error, struct replaced_file *ret_file);
// Replaces it, or makes it. Errors are those of replace_file().
int replaced_file_write(const struct replaced_file *file, const char *content, size_t length,
                        struct error *error);
// Gives the file its old content again, or removes it if there was none.
int replaced_file_put_back(const struct replaced_file *file);
// Wipes the content out of memory. Takes a zeroed one.
void replaced_file_finish(struct replaced_file *file);
