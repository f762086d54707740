// From text to a configuration: libconfig's tree, read along the table of keys. What it reads is
// checked by itself, then completed by what depends on it, and checked against each other.
#pragma once

#include "config/parse/validation.h"
#include "config/schema/schema.h"

// Reads `validation->text` and what it names, notes what it sets and adds what is wrong with single
// keys and files. Elements have their names, all else that depends on other keys is missing.
// -EINVAL: the text cannot be read as settings, -ENOMEM; 0 says nothing of problems.
int load_read(struct validation *validation, struct config **ret_config);
// Reads a value as it stands in a file ("1.5") into a key of `object`, whose path is noted.
// -EINVAL: it was refused, as a problem; -EBADMSG: it is no value; -ENOMEM.
int load_value(struct validation *validation, const char *path, const char *value,
               const struct schema_key *key, void *object);
// Completes a configuration and checks its keys against each other. -EINVAL: there are errors.
int load_check(struct validation *validation, struct config *config);
// Puts the problems behind the first `before` in order at the end of a load that came to `r`, and
// yields it; -ENOMEM, as the only problem, if that is what it was, or if one was lost.
int load_end(const struct config_text *text, struct config_problems *problems, size_t before,
             int r);
