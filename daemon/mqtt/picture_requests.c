#include "daemon/mqtt/picture_requests.h"

#include "daemon/common/log.h"

#include <errno.h>
#include <glib-unix.h>

#define ANSWER_S 5
#define REPLY_MAX_BYTES ((gsize)16 << 20)

struct picture_requests {
    const struct client *client; // borrowed
    picture_taker *take;
    void *context;
    GHashTable *under_way; // struct picture_request by their cameras; owned
};

struct picture_request {
    struct picture_requests *requests; // borrowed
    char *camera;                      // owned
    struct client_wire *wire;          // owned
    GString *reply;                    // owned
    guint readable, late;              // GLib source ids
};

static void free_request(gpointer data)
{
    struct picture_request *request = data;

    g_clear_handle_id(&request->readable, g_source_remove);
    g_clear_handle_id(&request->late, g_source_remove);
    client_wire_free(request->wire);
    g_string_free(request->reply, TRUE);
    g_free(request->camera);
    g_free(request);
}

static void end(struct picture_request *request)
{
    struct picture_requests *requests = request->requests;
    struct error error = {0};
    const char *jpeg;
    size_t size;

    if (client_read_reply(requests->client, request->reply, &error, &jpeg, &size) == 0)
        requests->take(requests->context, request->camera, jpeg, size);
    else
        log_debug("%s: no picture of the motion: %s", request->camera, error.text);
    g_hash_table_remove(requests->under_way, request->camera);
}

static gboolean on_readable(gint fd, GIOCondition condition, gpointer data)
{
    struct picture_request *request = data;
    char bytes[16384];
    ssize_t count;

    (void)fd, (void)condition;
    while ((count = client_wire_receive(request->wire, bytes, sizeof bytes)) > 0 &&
           request->reply->len < REPLY_MAX_BYTES) {
        g_string_append_len(request->reply, bytes, count);
    }
    if (count != -EAGAIN)
        end(request);
    return G_SOURCE_CONTINUE; // it is removed already
}

static gboolean on_late(gpointer data)
{
    end(data);
    return G_SOURCE_CONTINUE; // it is removed already
}

struct picture_requests *picture_requests_new(const struct client *client, picture_taker *take,
                                              void *context)
{
    struct picture_requests *requests = g_new0(struct picture_requests, 1);

    requests->client = client;
    requests->take = take;
    requests->context = context;
    requests->under_way = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_request);
    return requests;
}

void picture_requests_free(struct picture_requests *requests)
{
    if (!requests)
        return;
    g_hash_table_unref(requests->under_way);
    g_free(requests);
}

void picture_requests_add(struct picture_requests *requests, const char *camera)
{
    g_autofree char *page = g_strdup_printf("/snapshot.jpg?camera=%s", camera);
    struct client_wire *wire;
    struct picture_request *request;
    struct error error = {0};

    if (g_hash_table_contains(requests->under_way, camera))
        return;
    if (client_begin(requests->client, page, &error, &wire) < 0) {
        log_debug("%s: no picture of the motion: %s", camera, error.text);
        return;
    }
    request = g_new0(struct picture_request, 1);
    request->requests = requests;
    request->camera = g_strdup(camera);
    request->wire = wire;
    request->reply = g_string_new(NULL);
    request->readable =
        g_unix_fd_add(client_wire_stop_waiting(wire), G_IO_IN, on_readable, request);
    request->late = g_timeout_add_seconds(ANSWER_S, on_late, request);
    g_hash_table_insert(requests->under_way, request->camera, request);
}
