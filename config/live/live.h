// Settings over the file: values of keys that lie on top of what edged.conf says, by paths of names
// ("cameras.front.views.edges.gain"), and the configuration as JSON.
//
// A file is read once, as a struct config_file. Loading it gives a configuration; loading it with
// overrides gives the one that the file would give if it had those values, checked in the same way.
#pragma once

#include "config/config.h"
#include "config/problems.h"

// One setting over the file's, or an element of a list that is taken away.
struct config_override {
    char *path;    // owned
    char *value;   // as in edged.conf ("1.5"), owned; NULL: the element, a region, is not there
    char *in_file; // what the file said when this was kept; owned; "": nothing of this key, NULL:
                   // it had no such region
    bool by_admin; // an administrator kept it, so it may show what the file hides
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
// Forgets that elements that `path` is inside of are taken away.
void config_overrides_bring_back(struct config_overrides *overrides, const char *path);
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
// every problem is added to `problems` (may be NULL). *ret_file is for config_file_free().
int config_file_read(const char *path, struct config_problems *problems,
                     struct config_file **ret_file);
// The configuration with `overrides` over it. -EINVAL with problems (may be NULL), -ENOMEM.
int config_file_load(const struct config_file *file, const struct config_overrides *overrides,
                     struct config_problems *problems, struct config **ret_config);
// The configuration that the file alone gives, without overrides; owned by the file.
const struct config *config_file_plain(const struct config_file *file);
// When the newest of the files that it is made of was changed last, before it was read: nanoseconds
// since 1970; 0: it is made of none.
int64_t config_file_changed_ns(const struct config_file *file);
// Where the file sets the key at a path: "edged.conf:12", with the name of an included file where
// it stands in one; the caller frees it. NULL: nowhere, so that it has its default.
char *config_file_origin(const struct config_file *file, const char *path);
void config_file_free(struct config_file *file); // takes NULL

// The key or element that a path of names leads to.
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
// The JSON of a place in `config` as config_print_json() writes it, "null" if nothing is there; the
// caller frees it. NULL: no memory.
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

// Refuses a change from `running` to `next`, of the paths in `asked` and of those in `resets` that
// go back to what the file says, that shows somebody of `role` what the file hides. Only an
// administrator changes a private part that the file has, or moves the picture under one (flip,
// size, rate). A view shows the camera's own picture where it did not before only by a role that
// may watch a view that does so in the file or in `running`. -EPERM, with the key and the sentence
// in `fault`.
int config_check_reveals(const struct config *file, const struct config *running,
                         const struct config *next, const struct config_overrides *asked,
                         const struct config_overrides *resets, enum config_role role,
                         struct fault *fault);
// Whether a kept setting changes a private part that the file has, or moves the picture under one.
bool config_override_uncovers(const struct config *file, const struct config_override *kept);

static inline void cleanup_overrides(struct config_overrides *overrides)
{
    config_overrides_finish(overrides);
}
