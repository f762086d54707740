// Many descriptors watched as one source of the main loop, by epoll: what an event costs does not
// grow with the number of connections. Main loop only.
#pragma once

#include <stdint.h>
#include <sys/epoll.h>

struct poller;

// Embedded in the object that waits. Its fd is -1 at first.
struct poller_watch {
    int fd;
    void (*ready)(void *context, uint32_t events); // EPOLLIN and so on; may remove any watch
    void *context;
    uint32_t events; // asked for
};

// 0 or -errno.
int poller_new(struct poller **ret_poller);
// No watches are left. Takes NULL.
void poller_free(struct poller *poller);

// Watches `watch->fd` for `watch->events`, until poller_remove(), which comes before the fd is
// closed. 0 or -errno.
int poller_add(struct poller *poller, struct poller_watch *watch);
void poller_set_events(struct poller *poller, struct poller_watch *watch, uint32_t events);
// Takes a watch that was never added.
void poller_remove(struct poller *poller, struct poller_watch *watch);
