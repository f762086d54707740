#include "daemon/front/rtsp_threads.h"

#include "daemon/front/deadline.h"

struct threads {
    GstRTSPThreadPool parent;
    int hung_s;
};

struct threads_class {
    GstRTSPThreadPoolClass parent;
};

static _Thread_local GSource *pulse; // a reference

static gboolean on_pulse(gpointer deadline)
{
    deadline_extend(deadline);
    return G_SOURCE_CONTINUE;
}

static void free_deadline(gpointer deadline)
{
    deadline_free(deadline);
}

static void thread_enter(GstRTSPThreadPool *pool, GstRTSPThread *thread)
{
    const struct threads *threads = (const struct threads *)pool;
    const char *what = thread->type == GST_RTSP_THREAD_TYPE_CLIENT
                           ? "the thread of an RTSP connection"
                           : "the thread of a view's RTSP media";

    pulse = g_timeout_source_new_seconds(1);
    g_source_set_callback(pulse, on_pulse, deadline_new(what, threads->hung_s), free_deadline);
    g_source_attach(pulse, thread->context);
}

static void thread_leave(GstRTSPThreadPool *pool, GstRTSPThread *thread)
{
    (void)pool;
    (void)thread;
    g_source_destroy(pulse);
    g_source_unref(pulse);
}

static void threads_class_init(gpointer type_class, gpointer data)
{
    GstRTSPThreadPoolClass *pool = type_class;

    (void)data;
    pool->thread_enter = thread_enter;
    pool->thread_leave = thread_leave;
}

static GType threads_get_type(void)
{
    static gsize type;

    if (g_once_init_enter(&type)) {
        GType made = g_type_register_static_simple(GST_TYPE_RTSP_THREAD_POOL, "EdgedRtspThreads",
                                                   sizeof(struct threads_class), threads_class_init,
                                                   sizeof(struct threads), NULL, 0);

        g_once_init_leave(&type, made);
    }
    return type;
}

GstRTSPThreadPool *rtsp_threads_new(int hung_s)
{
    struct threads *threads = g_object_new(threads_get_type(), NULL);

    threads->hung_s = hung_s;
    gst_rtsp_thread_pool_set_max_threads(&threads->parent, -1); // one a client
    return &threads->parent;
}
