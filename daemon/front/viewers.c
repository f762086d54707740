#include "daemon/front/viewers.h"

#include "daemon/log.h"

#include <glib.h>
#include <string.h>

struct viewer {
    const void *client;
    char *description, *stream_path; // owned
};

struct viewers {
    GMutex lock;         // guards the table
    GHashTable *playing; // session id to struct viewer, both owned
};

static void free_viewer(gpointer data)
{
    struct viewer *viewer = data;

    g_free(viewer->description);
    g_free(viewer->stream_path);
    g_free(viewer);
}

struct viewers *viewers_new(void)
{
    struct viewers *viewers = g_new0(struct viewers, 1);

    g_mutex_init(&viewers->lock);
    viewers->playing = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_viewer);
    return viewers;
}

void viewers_free(struct viewers *viewers)
{
    if (!viewers) {
        return;
    }
    g_hash_table_unref(viewers->playing);
    g_mutex_clear(&viewers->lock);
    g_free(viewers);
}

static bool plays(const struct viewer *viewer, const char *stream_path)
{
    return !stream_path || strcmp(viewer->stream_path, stream_path) == 0;
}

static unsigned count_locked(struct viewers *viewers, const char *stream_path)
{
    GHashTableIter iterator;
    gpointer value;
    unsigned count = 0;

    g_hash_table_iter_init(&iterator, viewers->playing);
    while (g_hash_table_iter_next(&iterator, NULL, &value)) {
        const struct viewer *viewer = value;

        count += plays(viewer, stream_path);
    }
    return count;
}

void viewers_add(struct viewers *viewers, const char *session, const void *client,
                 const char *description, const char *stream_path)
{
    g_mutex_lock(&viewers->lock);
    if (!g_hash_table_contains(viewers->playing, session)) {
        struct viewer *viewer = g_new(struct viewer, 1);

        *viewer = (struct viewer){client, g_strdup(description), g_strdup(stream_path)};
        g_hash_table_insert(viewers->playing, g_strdup(session), viewer);
        log_write(LOG_INFO, LOG_EVENT_VIEWER, NULL, "playing", "%s: viewer %s came, %u now",
                  stream_path, description, count_locked(viewers, stream_path));
    }
    g_mutex_unlock(&viewers->lock);
}

// Called with the viewer out of the table already.
static void log_gone(struct viewers *viewers, const struct viewer *viewer)
{
    log_write(LOG_INFO, LOG_EVENT_VIEWER, NULL, "gone", "%s: viewer %s went, %u now",
              viewer->stream_path, viewer->description, count_locked(viewers, viewer->stream_path));
}

void viewers_remove_session(struct viewers *viewers, const char *session)
{
    gpointer id, value;

    g_mutex_lock(&viewers->lock);
    if (g_hash_table_steal_extended(viewers->playing, session, &id, &value)) {
        log_gone(viewers, value);
        free_viewer(value);
        g_free(id);
    }
    g_mutex_unlock(&viewers->lock);
}

void viewers_remove_client(struct viewers *viewers, const void *client)
{
    GHashTableIter iterator;
    gpointer id, value;

    g_mutex_lock(&viewers->lock);
    g_hash_table_iter_init(&iterator, viewers->playing);
    while (g_hash_table_iter_next(&iterator, &id, &value)) {
        struct viewer *viewer = value;

        if (viewer->client == client) {
            g_hash_table_iter_steal(&iterator);
            log_gone(viewers, viewer);
            free_viewer(viewer);
            g_free(id);
        }
    }
    g_mutex_unlock(&viewers->lock);
}

unsigned viewers_count(struct viewers *viewers, const char *stream_path)
{
    g_mutex_lock(&viewers->lock);
    unsigned count = count_locked(viewers, stream_path);
    g_mutex_unlock(&viewers->lock);
    return count;
}

bool viewers_has_client(struct viewers *viewers, const void *client, const char *stream_path)
{
    GHashTableIter iterator;
    gpointer value;
    bool found = false;

    g_mutex_lock(&viewers->lock);
    g_hash_table_iter_init(&iterator, viewers->playing);
    while (!found && g_hash_table_iter_next(&iterator, NULL, &value)) {
        const struct viewer *viewer = value;

        found = viewer->client == client && plays(viewer, stream_path);
    }
    g_mutex_unlock(&viewers->lock);
    return found;
}
