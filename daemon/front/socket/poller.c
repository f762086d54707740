#include "daemon/front/socket/poller.h"

#include "config/base.h"

#include <errno.h>
#include <glib.h>

// How many events are handled at a time; more wait for the next turn, so that other sources of the
// loop get theirs.
#define EVENTS_MAX 64

struct poller {
    GSource source;
    int fd;
    struct epoll_event events[EVENTS_MAX];
    int event_count; // of those being handled
};

static gboolean dispatch(GSource *source, GSourceFunc callback, gpointer data)
{
    struct poller *poller = (struct poller *)source;
    int count = epoll_wait(poller->fd, poller->events, EVENTS_MAX, 0);

    (void)callback;
    (void)data;
    poller->event_count = count > 0 ? count : 0;
    for (int i = 0; i < poller->event_count; i++) {
        const struct poller_watch *watch = poller->events[i].data.ptr;

        if (watch) // else it was removed by one before it
            watch->ready(watch->context, poller->events[i].events);
    }
    poller->event_count = 0;
    return G_SOURCE_CONTINUE;
}

static void finalize(GSource *source)
{
    close(((struct poller *)source)->fd);
}

static GSourceFuncs functions = {.dispatch = dispatch, .finalize = finalize};

int poller_new(struct poller **ret_poller)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);

    if (fd < 0)
        return -errno;
    GSource *source = g_source_new(&functions, sizeof(struct poller));
    struct poller *poller = (struct poller *)source;
    poller->fd = fd;
    g_source_add_unix_fd(source, fd, G_IO_IN);
    g_source_attach(source, NULL);
    *ret_poller = poller;
    return 0;
}

void poller_free(struct poller *poller)
{
    if (poller) {
        g_source_destroy(&poller->source);
        g_source_unref(&poller->source);
    }
}

static int control(struct poller *poller, int operation, struct poller_watch *watch)
{
    struct epoll_event event = {.events = watch->events, .data.ptr = watch};

    return epoll_ctl(poller->fd, operation, watch->fd, &event) < 0 ? -errno : 0;
}

int poller_add(struct poller *poller, struct poller_watch *watch)
{
    return control(poller, EPOLL_CTL_ADD, watch);
}

void poller_set_events(struct poller *poller, struct poller_watch *watch, uint32_t events)
{
    if (watch->events != events) {
        watch->events = events;
        control(poller, EPOLL_CTL_MOD, watch);
    }
}

void poller_remove(struct poller *poller, struct poller_watch *watch)
{
    if (watch->fd < 0)
        return;
    control(poller, EPOLL_CTL_DEL, watch);
    for (int i = 0; i < poller->event_count; i++) {
        if (poller->events[i].data.ptr == watch)
            poller->events[i].data.ptr = NULL;
    }
}
