// The connection is read as bytes come. Without any for 45 s, three times as long as edged is ever
// silent, it counts as lost. After a loss the follower sends the id of the last event, and so
// misses none.
#include "daemon/ctl/events/event_follower.h"

#include "daemon/ctl/client.h"

#include <errno.h>
#include <glib-unix.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define SILENCE_S 45
#define RETRY_MS 500

struct following {
    const struct event_follower *follower; // borrowed, as are the next two
    GMainLoop *loop;
    struct error *error;
    int fd;                         // -1: not connected
    guint readable, silence, retry; // GLib source ids; 0: none
    GString *text;                  // owned; bytes of a line that has not ended
    char *last_id;                  // owned; NULL: none
    gint64 lost_us;                 // when the connection was lost
    int result;
};

static void end(struct following *following, int result)
{
    following->result = result;
    g_main_loop_quit(following->loop);
}

static void disconnect(struct following *following)
{
    g_clear_handle_id(&following->readable, g_source_remove);
    g_clear_handle_id(&following->silence, g_source_remove);
    if (following->fd >= 0) {
        close(following->fd);
    }
    following->fd = -1;
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer data);
static gboolean on_silence(gpointer data);

static void heard(struct following *following)
{
    g_clear_handle_id(&following->silence, g_source_remove);
    following->silence = g_timeout_add_seconds(SILENCE_S, on_silence, following);
}

static int connect_to_edged(struct following *following, struct error *error)
{
    const struct event_follower *follower = following->follower;

    following->fd = client_open_stream(follower->socket, follower->page, following->last_id, error);
    if (following->fd < 0) {
        return following->fd;
    }
    g_string_truncate(following->text, 0);
    following->readable = g_unix_fd_add(following->fd, G_IO_IN, on_readable, following);
    heard(following);
    return 0;
}

static gboolean on_retry(gpointer data)
{
    struct following *following = data;
    struct error error = {0};
    int away_s, r = connect_to_edged(following, &error);

    away_s = (int)((g_get_monotonic_time() - following->lost_us) / G_USEC_PER_SEC);
    if (r < 0 && r != -EINVAL && away_s < following->follower->reconnect_s) {
        return G_SOURCE_CONTINUE;
    }
    following->retry = 0;
    if (r == 0) {
        fputs("edgectl: edged is back\n", stderr);
    } else if (r == -EINVAL) {
        *following->error = error;
        end(following, r);
    } else {
        error_set(following->error, -ETIMEDOUT, "edged has been away for %d s: %s", away_s,
                  error.text);
        end(following, -ETIMEDOUT);
    }
    return G_SOURCE_REMOVE;
}

static void lose(struct following *following, const char *how)
{
    int reconnect_s = following->follower->reconnect_s;

    disconnect(following);
    if (reconnect_s == 0) {
        end(following, error_set(following->error, -ETIMEDOUT, "%s", how));
        return;
    }
    fprintf(stderr, "edgectl: %s, trying for %d s to come back\n", how, reconnect_s);
    following->lost_us = g_get_monotonic_time();
    following->retry = g_timeout_add(RETRY_MS, on_retry, following);
}

static gboolean on_silence(gpointer data)
{
    struct following *following = data;

    following->silence = 0;
    lose(following, "edged has been silent for 45 s");
    return G_SOURCE_REMOVE;
}

static int take_line(struct following *following, const char *line)
{
    const struct event_follower *follower = following->follower;

    if (g_str_has_prefix(line, "id: ")) {
        g_free(following->last_id);
        following->last_id = g_strdup(line + strlen("id: "));
    }
    return g_str_has_prefix(line, "data: ")
               ? follower->event(follower->context, line + strlen("data: "))
               : 0; // its name, or a sign of life
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer data)
{
    struct following *following = data;
    char bytes[4096];
    ssize_t count = recv(fd, bytes, sizeof bytes, MSG_DONTWAIT);
    const char *line_end;

    (void)condition;
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) {
        return G_SOURCE_CONTINUE;
    }
    if (count <= 0) {
        following->readable = 0;
        lose(following, "edged ended the stream");
        return G_SOURCE_REMOVE;
    }
    heard(following);
    g_string_append_len(following->text, bytes, count);
    while ((line_end = strchr(following->text->str, '\n'))) {
        gssize length = line_end - following->text->str;
        g_autofree char *line = g_strndup(following->text->str, length);
        int r = take_line(following, line);

        g_string_erase(following->text, 0, length + 1);
        if (r < 0) {
            end(following, r);
            break;
        }
    }
    return G_SOURCE_CONTINUE;
}

int event_follower_run(const struct event_follower *follower, GMainLoop *loop, struct error *error)
{
    struct following following = {
        .follower = follower, .loop = loop, .error = error, .text = g_string_new(NULL), .fd = -1};

    following.result = connect_to_edged(&following, error);
    if (following.result == 0) {
        g_main_loop_run(loop);
    }
    disconnect(&following);
    g_clear_handle_id(&following.retry, g_source_remove);
    g_string_free(following.text, TRUE);
    g_free(following.last_id);
    return following.result;
}
