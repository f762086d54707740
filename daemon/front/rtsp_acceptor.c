#include "daemon/front/rtsp_acceptor.h"

struct acceptor {
    GstRTSPServer parent;
    rtsp_acceptor_handler *handler;
    void *context;
};

struct acceptor_class {
    GstRTSPServerClass parent;
};

static GstRTSPClient *create_client(GstRTSPServer *server)
{
    const GstRTSPServerClass *parent = g_type_class_peek(GST_TYPE_RTSP_SERVER);
    const struct acceptor *acceptor = (const struct acceptor *)server;
    GstRTSPClient *client = parent->create_client(server);

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
