// Signals of clients arrive on their threads and may outlast rtsp_server_free(), so that each
// connection of a signal holds a reference to the server.

#include "daemon/front/rtsp_server.h"

#include "daemon/descriptors.h"
#include "daemon/front/listener.h"
#include "daemon/front/rtsp_acceptor.h"
#include "daemon/front/rtsp_connection.h"
#include "daemon/front/rtsp_threads.h"
#include "daemon/front/viewers.h"
#include "daemon/log.h"

#include <errno.h>
#include <gio/gio.h>
#include <stdio.h>
#include <string.h>

#define SESSION_CLEANUP_S 5
// With the time that a media takes to begin, within the second that a DESCRIBE may last.
#define FIRST_PICTURE_NS (700 * NS_PER_MS)
#define HELD_MEDIA_KEY "edged-held-media"
// What a client set up last: its stream's path, interned.
#define SET_UP_KEY "edged-set-up"
// Requests need no body, and the library would read one of any length.
#define BODY_MAX_BYTES 65536u
#define CONNECTIONS_MAX 128
// Those that were hung up on may take a moment to go.
#define CONNECTIONS_GOING_MAX 128
// What one that plays nothing yet may come to need: its socket, its thread's main loop and a media
// of its own over UDP.
#define CONNECTION_DESCRIPTORS 18
// For the control socket, camera processes and files.
#define OTHER_DESCRIPTORS 16

struct rtsp_server {
    GstRTSPServer *server;        // reference
    GstRTSPMountPoints *mounts;   // reference
    GstRTSPSessionPool *sessions; // reference
    GstRTSPThreadPool *threads;   // reference
    struct viewers *viewers;      // owned
    GSource *listener;            // reference
    guint cleanup_timer;          // GLib source id
    char url[160];
};

static void finalize_server(gpointer data)
{
    struct rtsp_server *server = data;

    viewers_free(server->viewers);
    g_clear_object(&server->threads);
    g_clear_object(&server->sessions);
    g_clear_object(&server->mounts);
    g_clear_object(&server->server);
}

static void release_server(gpointer data, GClosure *closure)
{
    (void)closure;
    g_atomic_rc_box_release_full(data, finalize_server);
}

static void connect_signal(struct rtsp_server *server, gpointer object, const char *signal,
                           GCallback callback)
{
    g_signal_connect_data(object, signal, callback, g_atomic_rc_box_acquire(server), release_server,
                          0);
}

// The mount that the request's URL leads to, with a reference; NULL: none.
static GstRTSPMediaFactory *find_mount(struct rtsp_server *server, const GstRTSPContext *context)
{
    return context->uri ? gst_rtsp_mount_points_match(server->mounts, context->uri->abspath, NULL)
                        : NULL;
}

// "127.0.0.1 over TCP", as agreed in SETUP.
static void describe_viewer(const GstRTSPContext *context, char *buffer, size_t size)
{
    GstRTSPStreamTransport *agreed = gst_rtsp_session_media_get_transport(context->sessmedia, 0);
    const GstRTSPTransport *transport =
        agreed ? gst_rtsp_stream_transport_get_transport(agreed) : NULL;

    snprintf(buffer, size, "%s over %s",
             transport && transport->destination ? transport->destination : "unknown",
             transport && transport->lower_transport == GST_RTSP_LOWER_TRANS_TCP ? "TCP" : "UDP");
}

// Without a frame to begin with, the library would wait 20 s. A viewer that comes with the daemon
// or a reload waits a moment here, in its own thread; then its media is held until the answer.
static GstRTSPStatusCode on_pre_describe(GstRTSPClient *client, GstRTSPContext *context,
                                         gpointer data)
{
    struct rtsp_server *server = data;
    GstRTSPMediaFactory *mount = find_mount(server, context);
    GstRTSPMedia *media = NULL;

    if (!mount) {
        return GST_RTSP_STS_OK; // the library answers 404
    }
    if (stream_wait_servable(mount_stream(mount), FIRST_PICTURE_NS)) {
        media = mount_hold_media(mount, server->threads, context);
    }
    if (media) {
        g_object_set_data_full(G_OBJECT(client), HELD_MEDIA_KEY, media, mount_release_media);
    } else {
        log_info("%s: no picture yet, answering a viewer with 503",
                 stream_path(mount_stream(mount)));
    }
    g_object_unref(mount);
    return media ? GST_RTSP_STS_OK : GST_RTSP_STS_SERVICE_UNAVAILABLE;
}

// The client's own hold of the media has begun.
static void on_describe(GstRTSPClient *client, GstRTSPContext *context, gpointer data)
{
    (void)context;
    (void)data;
    g_object_set_data(G_OBJECT(client), HELD_MEDIA_KEY, NULL);
}

static GstRTSPStatusCode on_pre_setup(GstRTSPClient *client, GstRTSPContext *context, gpointer data)
{
    struct rtsp_server *server = data;
    int matched; // the path goes on with "/stream=0"
    GstRTSPMediaFactory *mount =
        gst_rtsp_mount_points_match(server->mounts, context->uri->abspath, &matched);

    if (mount) {
        const char *path = g_intern_string(stream_path(mount_stream(mount)));

        g_object_set_data(G_OBJECT(client), SET_UP_KEY, (gpointer)path);
        g_object_unref(mount);
    }
    return GST_RTSP_STS_OK;
}

static void on_play(GstRTSPClient *client, GstRTSPContext *context, gpointer data)
{
    struct rtsp_server *server = data;
    GstRTSPMediaFactory *mount = find_mount(server, context);
    char viewer[128];

    if (!mount) {
        return;
    }
    struct stream *stream = mount_stream(mount);
    describe_viewer(context, viewer, sizeof viewer);
    viewers_add(server->viewers, gst_rtsp_session_get_sessionid(context->session), client, viewer,
                stream_path(stream));
    stream_want_key_frame(stream);
    g_object_unref(mount);
}

static void on_session_removed(GstRTSPSessionPool *pool, GstRTSPSession *session, gpointer data)
{
    struct rtsp_server *server = data;

    (void)pool;
    viewers_remove_session(server->viewers, gst_rtsp_session_get_sessionid(session));
}

static void on_teardown(GstRTSPClient *client, GstRTSPContext *context, gpointer data)
{
    struct rtsp_server *server = data;

    (void)client;
    if (context->session) {
        viewers_remove_session(server->viewers, gst_rtsp_session_get_sessionid(context->session));
    }
}

static void on_closed(GstRTSPClient *client, gpointer data)
{
    struct rtsp_server *server = data;

    g_object_set_data(G_OBJECT(client), HELD_MEDIA_KEY, NULL);
    viewers_remove_client(server->viewers, client);
}

static void on_connected(GstRTSPServer *object, GstRTSPClient *client, gpointer data)
{
    (void)object;
    (void)data;
    rtsp_connection_adopt(client);
}

static void on_new_client(void *data, GstRTSPClient *client)
{
    connect_signal(data, client, "pre-describe-request", G_CALLBACK(on_pre_describe));
    connect_signal(data, client, "describe-request", G_CALLBACK(on_describe));
    connect_signal(data, client, "pre-setup-request", G_CALLBACK(on_pre_setup));
    connect_signal(data, client, "play-request", G_CALLBACK(on_play));
    connect_signal(data, client, "teardown-request", G_CALLBACK(on_teardown));
    connect_signal(data, client, "closed", G_CALLBACK(on_closed));
}

// Where there is no room for one more, hangs up on the oldest connection that plays nothing.
static bool make_room(struct rtsp_server *server)
{
    GList *clients = gst_rtsp_server_client_filter(server->server, NULL, NULL);
    unsigned count = g_list_length(clients), playing = viewers_count(server->viewers, NULL);
    unsigned idle = count > playing ? count - playing : 0;
    bool scarce = descriptors_left() < OTHER_DESCRIPTORS + (idle + 1) * CONNECTION_DESCRIPTORS;
    bool room = count < CONNECTIONS_MAX && !scarce;

    for (GList *link = clients; link && !room; link = link->next) {
        room = count < CONNECTIONS_MAX + CONNECTIONS_GOING_MAX &&
               !viewers_has_client(server->viewers, link->data, NULL) &&
               rtsp_connection_hang_up(link->data);
    }
    g_list_free_full(clients, g_object_unref);
    return room && !scarce; // its descriptors are free only when it has gone
}

static gboolean on_connection(GSocket *listener, GIOCondition condition, gpointer data)
{
    struct rtsp_server *server = data;

    if (make_room(server)) {
        return gst_rtsp_server_io_func(listener, condition, server->server);
    }
    GSocket *refused = g_socket_accept(listener, NULL, NULL);

    g_clear_object(&refused); // closes it
    return G_SOURCE_CONTINUE;
}

static gboolean on_cleanup_timer(gpointer data)
{
    struct rtsp_server *server = data;

    gst_rtsp_session_pool_cleanup(server->sessions);
    return G_SOURCE_CONTINUE;
}

static int listen_on(struct rtsp_server *server, const char *address, int port, struct error *error)
{
    const struct listener_place place = {"rtsp.address", address, "rtsp.port", port};
    _cleanup_(cleanup_close) int fd = -1;
    GError *failure = NULL;
    int r = listener_open(&place, error, &fd);

    if (r < 0) {
        return r;
    }
    if (g_object_class_find_property(G_OBJECT_GET_CLASS(server->server), "content-length-limit")) {
        g_object_set(server->server, "content-length-limit", BODY_MAX_BYTES, NULL); // since 1.18
    }
    snprintf(server->url, sizeof server->url,
             strchr(address, ':') ? "rtsp://[%s]:%d" : "rtsp://%s:%d", address, listener_port(fd));
    GSocket *socket = g_socket_new_from_fd(fd, &failure);
    if (!socket) {
        r = error_set(error, -EIO, "cannot listen on %s: %s", server->url, failure->message);
        g_clear_error(&failure);
        return r;
    }
    fd = -1; // the object's now
    server->listener = g_socket_create_source(socket, G_IO_IN, NULL);
    g_object_unref(socket);
    g_source_set_callback(server->listener, G_SOURCE_FUNC(on_connection), server, NULL);
    g_source_attach(server->listener, NULL);
    server->cleanup_timer = g_timeout_add_seconds(SESSION_CLEANUP_S, on_cleanup_timer, server);
    return 0;
}

int rtsp_server_new(const char *address, int port, struct error *error,
                    struct rtsp_server **ret_server)
{
    struct rtsp_server *server = g_atomic_rc_box_new0(struct rtsp_server);

    server->server = rtsp_acceptor_new(on_new_client, server);
    server->mounts = gst_rtsp_server_get_mount_points(server->server);
    server->sessions = gst_rtsp_server_get_session_pool(server->server);
    server->viewers = viewers_new();
    server->threads = rtsp_threads_new(RTSP_THREADS_HUNG_S);
    gst_rtsp_server_set_thread_pool(server->server, server->threads);

    int r = listen_on(server, address, port, error);
    if (r < 0) {
        rtsp_server_free(server);
        return r;
    }
    connect_signal(server, server->server, "client-connected", G_CALLBACK(on_connected));
    connect_signal(server, server->sessions, "session-removed", G_CALLBACK(on_session_removed));
    *ret_server = server;
    return 0;
}

static GstRTSPFilterResult hang_up(GstRTSPServer *object, GstRTSPClient *client, gpointer data)
{
    (void)object;
    (void)data;
    rtsp_connection_hang_up(client);
    return GST_RTSP_FILTER_KEEP;
}

static GstRTSPFilterResult remove_session(GstRTSPSessionPool *pool, GstRTSPSession *session,
                                          gpointer data)
{
    (void)pool;
    (void)session;
    (void)data;
    return GST_RTSP_FILTER_REMOVE;
}

void rtsp_server_close(struct rtsp_server *server)
{
    if (!server->listener) {
        return;
    }
    g_source_remove(server->cleanup_timer);
    g_source_destroy(server->listener);
    g_source_unref(server->listener);
    server->listener = NULL;
    g_signal_handlers_disconnect_by_data(server->server, server);
    gst_rtsp_server_client_filter(server->server, hang_up, NULL);
}

bool rtsp_server_is_closed(struct rtsp_server *server)
{
    bool none = rtsp_acceptor_clients(server->server) == 0;

    // A client's thread may be using its session for as long as it is there.
    if (none && !server->listener) {
        gst_rtsp_session_pool_filter(server->sessions, remove_session, NULL);
    }
    return none && !server->listener;
}

void rtsp_server_free(struct rtsp_server *server)
{
    if (!server) {
        return;
    }
    rtsp_server_close(server);
    g_signal_handlers_disconnect_by_data(server->sessions, server);
    g_atomic_rc_box_release_full(server, finalize_server);
}

const char *rtsp_server_url(const struct rtsp_server *server)
{
    return server->url;
}

void rtsp_server_add(struct rtsp_server *server, const char *path, GstRTSPMediaFactory *mount)
{
    gst_rtsp_mount_points_add_factory(server->mounts, path, g_object_ref(mount));
}

void rtsp_server_remove(struct rtsp_server *server, const char *path)
{
    gst_rtsp_mount_points_remove_factory(server->mounts, path);
}

struct disconnect_call {
    struct rtsp_server *server;
    const char *stream_path;
};

static GstRTSPFilterResult hang_up_on_viewer(GstRTSPServer *object, GstRTSPClient *client,
                                             gpointer data)
{
    const struct disconnect_call *call = data;

    (void)object;
    if (viewers_has_client(call->server->viewers, client, call->stream_path) ||
        g_strcmp0(g_object_get_data(G_OBJECT(client), SET_UP_KEY), call->stream_path) == 0) {
        rtsp_connection_hang_up(client);
    }
    return GST_RTSP_FILTER_KEEP;
}

void rtsp_server_disconnect(struct rtsp_server *server, const char *stream_path)
{
    struct disconnect_call call = {server, stream_path};

    gst_rtsp_server_client_filter(server->server, hang_up_on_viewer, &call);
}

unsigned rtsp_server_count_viewers(struct rtsp_server *server, const char *stream_path)
{
    return viewers_count(server->viewers, stream_path);
}
