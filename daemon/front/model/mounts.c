#include "daemon/front/model/mounts.h"

#include <string.h>

#define PATHS_LISTED 64u

static void free_mount(gpointer data)
{
    struct mount *mount = data;

    stream_unref(mount->stream);
    g_free(mount);
}

struct stream *mount_track(const struct mount *mount, unsigned number)
{
    return number == 0 ? mount->stream : NULL;
}

GHashTable *mounts_new(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_mount);
}

void mounts_add(GHashTable *mounts, const char *path, struct stream *stream, enum config_role role)
{
    struct mount *mount = g_new(struct mount, 1);

    *mount = (struct mount){stream_ref(stream), role};
    g_hash_table_replace(mounts, g_strdup(path), mount);
}

void mounts_remove(GHashTable *mounts, const char *path)
{
    g_hash_table_remove(mounts, path);
}

const struct mount *mounts_find(GHashTable *mounts, const char *path)
{
    return g_hash_table_lookup(mounts, path);
}

char *mounts_list(GHashTable *mounts, enum config_role role)
{
    GList *paths = g_list_sort(g_hash_table_get_keys(mounts), (GCompareFunc)strcmp);
    GString *text = g_string_new(NULL);
    unsigned listed = 0, left_out = 0;

    for (const GList *at = paths; at; at = at->next) {
        if (mounts_find(mounts, at->data)->role > role)
            continue;
        if (listed < PATHS_LISTED) {
            g_string_append_printf(text, "%s\n", (const char *)at->data);
            listed++;
        } else {
            left_out++;
        }
    }
    g_list_free(paths);
    if (listed == 0)
        g_string_append(text, "none\n");
    if (left_out > 0)
        g_string_append_printf(text, "and %u more\n", left_out);
    return g_string_free(text, FALSE);
}
