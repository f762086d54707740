// The user and password of a camera in the network, out of a file of their own: the configuration
// may be read by everybody, this file not.
#pragma once

#include "config/base.h"

#define CREDENTIALS_BYTES_MAX 1024

struct credentials {
    char text[CREDENTIALS_BYTES_MAX]; // both, each ended by 0
    const char *user, *password;      // in `text`
};

// Reads the line user:password; the first colon parts them. Errors say what is allowed and show
// nothing of the line: -EACCES (others may read or change the file), -EINVAL (no regular file, or
// not such a line), else what the system says.
int credentials_read(const char *path, struct error *error, struct credentials *ret_credentials);
// Wipes them out of memory.
void credentials_clear(struct credentials *credentials);
