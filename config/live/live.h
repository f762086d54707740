// Settings over the file: values of keys that lie on top of what edged.conf says, by paths of names
// ("cameras.front.views.edges.gain"), and the configuration as JSON.
//
// A file is read once, as a struct config_file. Loading it gives a configuration; loading it with
// overrides gives the one that the file would give if it had those values, checked in the same way.
#pragma once

#include "config/config.h"

#define CONFIG_PATCH_BYTES_MAX 65536u

// One setting over the file's, or an element of a list that is taken away.
struct config_override {
    char *path;    // owned
    char *value;   // as in edged.conf ("1.5"), owned; NULL: the element, a region, is not there
    char *in_file; // what the file said when this was kept; owned, NULL: nothing
};

// In the order in which they are laid over the file. Starts out as {0}.
struct config_overrides {
    struct config_override *list;
    size_t count;
};

// Sets a path, copying all; what was said of it, and of what is inside it if `value` is NULL, goes.
// -ENOMEM.
int config_overrides_set(struct config_overrides *overrides, const char *path, const char *value,
                         const char *in_file);
// Forgets what is said of `path` and of all inside it. Whether anything was.
bool config_overrides_unset(struct config_overrides *overrides, const char *path);
// The one of exactly that path; NULL: there is none.
const struct config_override *config_overrides_find(const struct config_overrides *overrides,
                                                    const char *path);
// Whether anything is said of `path` or of what is inside it.
bool config_overrides_has(const struct config_overrides *overrides, const char *path);
// Sets all of `from` in `target`. -ENOMEM: some are missing.
int config_overrides_add(struct config_overrides *target, const struct config_overrides *from);
void config_overrides_finish(struct config_overrides *overrides);

// The text of a configuration file with all that it includes, as it was when it was read.
struct config_file;

// Reads `path`, NULL: the built-in defaults, and loads it; errors are those of config_load(), and
// every problem is written to `problems` (may be NULL). *ret_file is for config_file_free().
int config_file_read(const char *path, FILE *problems, struct config_file **ret_file);
// The configuration with `overrides` over it. -EINVAL with problems: those of a setting have the
// form `PATH: what it got, what is allowed` after "error: " or "warning: "; -ENOMEM.
int config_file_load(const struct config_file *file, const struct config_overrides *overrides,
                     FILE *problems, struct config **ret_config);
// What the file says by itself; owned by the file.
const struct config *config_file_plain(const struct config_file *file);
// Where the file sets the key at a path: "edged.conf:12", with the name of an included file where
// it stands in one; NULL: nowhere, so that it has its default. The file's.
const char *config_file_origin(const struct config_file *file, const char *path);
void config_file_free(struct config_file *file); // takes NULL

// What a path of names leads to.
struct config_place {
    const struct schema_group *group; // that the key is in
    const struct schema_key *key;
    const void *object;  // that the key's value is in; NULL: an element on the way is not there
    const char *element; // the path ends in this name of an element of the list `key`, in the path;
                         // NULL: it ends in the key
    enum config_role role; // the least that is shown all elements on the way
};

// Finds a place, whether its value is there or not: of an element that may be made, a region, the
// path is fine if nothing has that name. -ENOENT: no such key or element; `error` says what there
// is.
int config_find(const struct config *config, const char *path, struct error *error,
                struct config_place *ret_place);

// Writes all values as JSON, but of the views that `role` may not watch and of cameras that have
// only such: cameras, views and regions are objects by their names. Secrets are hidden
// (config/redact.h).
void config_print_json(FILE *file, const struct config *config, enum config_role role);
// The least role that is shown an element of a list of the group: of a view, who may watch it; of a
// camera, who may watch one of its views.
enum config_role config_element_role(const struct schema_group *group, const void *element);
// Calls `tell` for every key with a value of its own that a role is shown.
void config_each_key(const struct config *config, enum config_role role,
                     void (*tell)(void *context, const char *path,
                                  const struct config_place *place),
                     void *context);
// What config_print_json() writes of a place in `config`, "null" if nothing is there, for the
// caller to free. NULL: no memory.
char *config_json_at(const struct config *config, const char *path);
// A string in JSON's quotes.
void config_print_json_string(FILE *file, const char *string);
// The value at a path as it stands in a file ("1.5"); NULL: it has none, or without memory. The
// caller frees it.
char *config_value_text(const struct config *config, const char *path);
// JSON Schema (2020-12) of what config_print_json() writes, from the table of keys: with `x-cost`
// (frame, view, camera or front: what a change starts anew), `x-remote`, `x-unit`, `x-used-by`.
void config_print_schema(FILE *file);
// The word for a cost in JSON.
const char *config_cost_word(enum config_cost cost);

// What is wrong with a patch.
struct config_fault {
    struct error error; // "got …, allowed: …"
    char key[256];      // the path that is meant; "": the text as a whole
};

// Reads a JSON merge patch (RFC 7396) for `config` into `ret_overrides`, {0} at first, and the
// paths that go back to what the file says into `ret_resets` (their values mean nothing). Only keys
// that may be changed over the network are taken, of what `role` is shown. An admin may also reset
// what is in `kept`, settings of cameras and views that may be gone. -EBADMSG: no JSON, or a key
// for the second time; -EPERM: a key that may not be changed; -ENOENT: no such key, camera or view;
// -EINVAL: a value that cannot be one; -ENOMEM. Values are checked when they are loaded.
int config_patch_read(const struct config *config, const struct config_overrides *kept,
                      enum config_role role, const char *text, size_t size,
                      struct config_fault *fault, struct config_overrides *ret_overrides,
                      struct config_overrides *ret_resets);

static inline void cleanup_overrides(struct config_overrides *overrides)
{
    config_overrides_finish(overrides);
}
