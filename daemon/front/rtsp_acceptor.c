#include "daemon/front/rtsp_acceptor.h"

struct acceptor {
    GstRTSPServer parent;
    rtsp_acceptor_handler *handler;
    void *context;
    gint clients; // made and not finalized yet; atomic
};

struct acceptor_class {
    GstRTSPServerClass parent;
};

static void count_down(gpointer server)
{
    g_atomic_int_dec_and_test(&((struct acceptor *)server)->clients);
    g_object_unref(server);
}

static GstRTSPClient *create_client(GstRTSPServer *server)
{
    const GstRTSPServerClass *parent = g_type_class_peek(GST_TYPE_RTSP_SERVER);
    struct acceptor *acceptor = (struct acceptor *)server;
    GstRTSPClient *client = parent->create_client(server);

    // A client's data is the last that goes, after all it has to do with sessions and medias.
    g_atomic_int_inc(&acceptor->clients);
    g_object_set_data_full(G_OBJECT(client), "edged-count", g_object_ref(server), count_down);
    acceptor->handler(acceptor->context, client);
    return client;
}

static void acceptor_class_init(gpointer type_class, gpointer data)
{
    GstRTSPServerClass *server = type_class;

    (void)data;
    server->create_client = create_client;
}

static GType acceptor_get_type(void)
{
    static gsize type;

    if (g_once_init_enter(&type)) {
        GType made = g_type_register_static_simple(
            GST_TYPE_RTSP_SERVER, "EdgedRtspAcceptor", sizeof(struct acceptor_class),
            acceptor_class_init, sizeof(struct acceptor), NULL, 0);

        g_once_init_leave(&type, made);
    }
    return type;
}

GstRTSPServer *rtsp_acceptor_new(rtsp_acceptor_handler *handler, void *context)
{
    struct acceptor *acceptor = g_object_new(acceptor_get_type(), NULL);

    acceptor->handler = handler;
    acceptor->context = context;
    return &acceptor->parent;
}

unsigned rtsp_acceptor_clients(GstRTSPServer *server)
{
    return (unsigned)g_atomic_int_get(&((struct acceptor *)server)->clients);
}
