// The streams that can be asked for by their paths, and who may watch each. The cameras of the
// configuration write the table, the RTSP server looks in it. Main loop only.
#pragma once

#include "config/config.h"
#include "daemon/front/stream/stream.h"

#include <glib.h>

// The tracks at a path, which are watched together. Now there is one, the view.
struct mount {
    struct stream *stream; // a reference
    enum config_role role; // the least that may watch
};

// The stream of a track, from 0 on, borrowed. NULL: there are no more tracks.
struct stream *mount_track(const struct mount *mount, unsigned number);

// An empty table, by path; the caller g_hash_table_unref()s it.
GHashTable *mounts_new(void);
// Puts `stream` at `path` (also, when another path has it already) for users of `role` and those
// above it. Replaces what was there.
void mounts_add(GHashTable *mounts, const char *path, struct stream *stream, enum config_role role);
void mounts_remove(GHashTable *mounts, const char *path);
// Borrowed, until the table changes. NULL: there is none.
const struct mount *mounts_find(GHashTable *mounts, const char *path);
// The paths that `role` may watch, a line each, up to 64. The caller g_free()s the text.
char *mounts_list(GHashTable *mounts, enum config_role role);
