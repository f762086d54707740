// Files that hold secrets: passwords of cameras, users and tokens, keys of certificates. The
// configuration may be read by everybody, these files not.
#pragma once

#include "config/base.h"

#include <sys/stat.h>

// Rules that such a file has to meet.
struct private_file_rules {
    mode_t refused;    // permissions that it may not have; 0: it holds no secret
    unsigned proposed; // those to give it instead: 0600
    const char *what;  // others might read: "a password"
    size_t limit_bytes;
};

struct private_file {
    char *text; // owned; ends in a NUL behind `length`; its bytes may be changed
    size_t length;
};

// Reads a regular file. -EACCES: it has a permission that is refused; -EINVAL: no regular file;
// -EFBIG; -ENOMEM; else what the system says. Errors show nothing of what stands there. End it with
// private_file_finish().
int private_file_read(const char *path, const struct private_file_rules *rules, struct error *error,
                      struct private_file *ret_file);
// Wipes it out of memory. Takes zeroed ones.
void private_file_finish(struct private_file *file);

// The user and password of a camera in the network.
struct credentials {
    struct private_file file;    // owned
    const char *user, *password; // in `file`
};

// Reads the line user:password; the first colon parts them. Errors say what is allowed: those of
// private_file_read(), -EINVAL (not such a line).
int credentials_read(const char *path, struct error *error, struct credentials *ret_credentials);
// Wipes them out of memory.
void credentials_clear(struct credentials *credentials);
