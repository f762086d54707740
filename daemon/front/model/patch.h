// A change of settings as clients send it, a JSON merge patch (RFC 7396), read along the table of
// keys, whose depth bounds the recursion whatever a client sends.
#pragma once

#include "config/live/live.h"

// Reads a patch for `config` into `ret_overrides`, {0} at first, and the paths that go back to what
// the file says into `ret_resets` (their values mean nothing). Only keys that may be changed over
// the network are taken, of what `role` is shown. An admin may also reset what is in `kept`,
// settings of cameras and views that may be gone. -EBADMSG: no JSON object (json_parse());
// -EPERM: a key that may not be changed; -ENOENT: no such key, camera or view; -EINVAL: a value
// that cannot be one; -ENOMEM. Values are checked when they are loaded.
int patch_read(const struct config *config, const struct config_overrides *kept,
               enum config_role role, const char *text, size_t size, struct fault *fault,
               struct config_overrides *ret_overrides, struct config_overrides *ret_resets);
