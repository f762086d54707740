#include "daemon/front/model/slow_write.h"

#include "config/base.h"

#include <errno.h>
#include <glib.h>
#include <pthread.h>

struct slow_write {
    void (*run)(void *work);
    void *work;
    void (*ended)(void *context);
    void *context;
    GThread *thread; // NULL: there was none to be had
    GSource *source; // on the main loop, of ended(); owned

    pthread_mutex_t lock; // guards the rest
    pthread_cond_t changed;
    bool has_run, is_left; // run() has returned; nobody waits for it any more
};

static gpointer run_thread(gpointer data)
{
    struct slow_write *write = data;

    write->run(write->work);
    pthread_mutex_lock(&write->lock);
    write->has_run = true;
    if (!write->is_left)
        g_source_attach(write->source, NULL);
    pthread_cond_signal(&write->changed);
    pthread_mutex_unlock(&write->lock);
    return NULL;
}

static gboolean on_ended(gpointer data)
{
    struct slow_write *write = data;

    write->ended(write->context);
    return G_SOURCE_REMOVE;
}

struct slow_write *slow_write_begin(void (*run)(void *work), void *work,
                                    void (*ended)(void *context), void *context)
{
    struct slow_write *write = g_new0(struct slow_write, 1);
    pthread_condattr_t attributes;

    write->run = run;
    write->work = work;
    write->ended = ended;
    write->context = context;
    pthread_mutex_init(&write->lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&write->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    write->source = g_idle_source_new();
    g_source_set_callback(write->source, on_ended, write, NULL);
    write->thread = g_thread_try_new("write", run_thread, write, NULL);
    if (!write->thread)
        run_thread(write);
    return write;
}

bool slow_write_wait(struct slow_write *write, int64_t until_ns)
{
    const struct timespec until = {until_ns / NS_PER_S, until_ns % NS_PER_S};
    int r = 0;

    pthread_mutex_lock(&write->lock);
    while (!write->has_run && r != ETIMEDOUT)
        r = pthread_cond_timedwait(&write->changed, &write->lock, &until);
    bool has_run = write->has_run;
    pthread_mutex_unlock(&write->lock);
    return has_run;
}

void *slow_write_end(struct slow_write *write)
{
    pthread_mutex_lock(&write->lock);
    bool is_left = write->is_left = !write->has_run;
    pthread_mutex_unlock(&write->lock);
    if (is_left) {
        g_thread_unref(write->thread);
        return NULL;
    }
    void *work = write->work;
    if (write->thread)
        g_thread_join(write->thread);
    g_source_destroy(write->source);
    g_source_unref(write->source);
    pthread_mutex_destroy(&write->lock);
    pthread_cond_destroy(&write->changed);
    g_free(write);
    return work;
}
