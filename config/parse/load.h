// From text to a configuration: libconfig's tree, read along the table of keys.
#pragma once

#include "config/config.h"
#include "config/parse/config_text.h"

#include <libconfig.h>

// Reads `text`, writing each problem to its `problems`. `prepare`, NULL: nothing, may change the
// tree before the table reads it; what it refuses it writes to the stream that it gets (NULL: says
// nothing), and returns -EINVAL. A setting whose hook is set, and what is inside it, is called by
// the hook, a path of names, in problems: "settings: error: PATH: what it got". -EINVAL, -ENOMEM.
int load_text(const struct config_text *text,
              int (*prepare)(void *context, config_setting_t *root, FILE *problems), void *context,
              struct config **ret_config);
