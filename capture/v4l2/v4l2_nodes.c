#include "capture/v4l2/v4l2_nodes.h"

#include "config/base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define CAMERAS "video"
#define EVENTS (IN_CREATE | IN_MOVED_TO | IN_ATTRIB)

static const char *name_of(const char *device)
{
    const char *slash = strrchr(device, '/');

    return slash ? slash + 1 : device;
}

int v4l2_nodes_open(const char *device)
{
    int nodes = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    size_t length = (size_t)(name_of(device) - device);
    char folder[256];

    if (nodes < 0)
        return -errno;
    // The folder of links goes with the last camera, so that of the nodes is watched in any case.
    snprintf(folder, sizeof folder, "%.*s", (int)length, device);
    if (inotify_add_watch(nodes, "/dev", EVENTS) < 0) {
        int code = errno;

        close(nodes);
        return -code;
    }
    if (length > 0)
        inotify_add_watch(nodes, folder, EVENTS | IN_MASK_ADD);
    return nodes;
}

static bool is_one(const struct inotify_event *event, const char *device)
{
    return event->len > 0 && (strncmp(event->name, CAMERAS, strlen(CAMERAS)) == 0 ||
                              strcmp(event->name, name_of(device)) == 0);
}

bool v4l2_nodes_have_come(int nodes, const char *device)
{
    char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    bool any = false;
    ssize_t size;

    while ((size = read(nodes, buffer, sizeof buffer)) > 0) {
        for (ssize_t at = 0; at < size;) {
            const struct inotify_event *event = (const struct inotify_event *)(buffer + at);

            any |= is_one(event, device);
            at += (ssize_t)(sizeof *event + event->len);
        }
    }
    return any;
}
