// The self-signed certificate of a machine that was given none: ECDSA on P-256, for the machine's
// names and addresses, valid for ten years, kept with its key in one file of mode 0600.
#pragma once

#include "config/base.h"

#include <stddef.h>

// The first of the files: tls.pem in $STATE_DIRECTORY, which systemd sets for the service, else in
// $XDG_STATE_HOME/edged, else in ~/.local/state/edged; -ENOENT without a home, -ENOMEM. The caller
// frees *ret_path.
int certificate_store_path(struct error *error, char **ret_path);

// Generates one at `path`, in one step, and makes the parent directories (0700) that are missing.
// What the file system says, -EIO for GnuTLS's errors, -ENOMEM; the sentence in `error`.
int certificate_store_generate(const char *path, struct error *error);
