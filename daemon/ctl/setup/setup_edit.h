// Changes settings in the text of a configuration and leaves the rest of it as it is: comments,
// order, and settings that stay.
#pragma once

#include <stdbool.h>

// The text `file` with what differs between two configurations. `old` and `wanted` are those as
// config_format() writes them, with every key; `usual` is the same of setup_edit_kinds(wanted). The
// text of a key that both have alike is not touched, and no key is added that has its default. A
// list whose elements come, go or change places is put together anew from its elements. Settings
// that the file includes are not found in it: the caller has to load the result and compare. The
// caller frees it with g_free().
char *setup_edit(const char *file, const char *old, const char *usual, const char *wanted);
// Text that setup_edit_find() has found in a file; `end` is behind its last byte.
struct setup_text {
    const char *start, *end;
};

// A setting in a file, at a path such as "cameras[0].fps".
struct setup_place {
    struct setup_text group; // with its brackets; the whole file for an outermost setting
    struct setup_text name;  // {0}: the group has no such setting
    struct setup_text value;
};

// Finds a setting. False: the file has no group in which it could be, or it is no setting but an
// element of a list.
bool setup_edit_find(const char *file, const char *path, struct setup_place *ret_place);
// The file with the setting as `name` = `value`, added at the beginning of its group, or at the end
// of the file, if it is not there; a `name` of NULL takes it out. The caller frees it with
// g_free().
char *setup_edit_set(const char *file, const struct setup_place *place, const char *name,
                     const char *value);
// A configuration with the cameras and views of a formatted one, in which everything else has its
// default. The caller frees it with g_free().
char *setup_edit_kinds(const char *formatted);
