// Settings that edged takes from its configuration file alone: `edgectl set --keep` and `unset`
// write them there, and have the running edged load it again.
#pragma once

#include "daemon/client/client.h"

// Changes the file that `where` names. `arguments` are KEY=VALUE, or KEY for a setting that is
// taken out, of keys that are no `remote` ones; all of them are changed, or none. If the running
// edged refuses the file, it is put back. `is_dry`: nothing is written. *ret_reply is as the reply
// to a PATCH, with "file"; the caller json_object_unref()s it. Errors are a sentence in `error`.
int set_file_change(const struct client_options *where, char **arguments, bool is_dry,
                    struct error *error, JsonObject **ret_reply);
