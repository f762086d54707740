#include "daemon/front/passed_sockets.h"

#include "config/base.h"
#include "daemon/log.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#define SOCKETS_MAX 16 // a socket unit with more is a mistake

static struct {
    int fds[SOCKETS_MAX];
    size_t count;
} rest;

// Asks systemd's environment, which says it once: it is removed, and camera processes inherit none.
static void collect(void)
{
    int count = sd_listen_fds(1);

    for (int i = 0; i < count; i++) {
        int fd = SD_LISTEN_FDS_START + i;

        if (rest.count == SOCKETS_MAX) {
            close(fd);
        } else {
            rest.fds[rest.count++] = fd;
        }
    }
}

void socket_address_text(const struct sockaddr *address, socklen_t size,
                         char text[SOCKET_TEXT_BYTES])
{
    char host[64], port[8];

    if ((address->sa_family != AF_INET && address->sa_family != AF_INET6) ||
        getnameinfo(address, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        snprintf(text, SOCKET_TEXT_BYTES, "?");
        return;
    }
    snprintf(text, SOCKET_TEXT_BYTES, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

static void name_socket(int fd, char text[SOCKET_TEXT_BYTES])
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;

    getsockname(fd, (struct sockaddr *)&address, &size); // else the family stays unknown
    socket_address_text((const struct sockaddr *)&address, size, text);
}

int passed_sockets_take(const struct sockaddr *address, socklen_t size)
{
    collect();
    for (size_t i = 0; i < rest.count; i++) {
        int fd = rest.fds[i];

        if (sd_is_socket_sockaddr(fd, SOCK_STREAM, address, (unsigned)size, 1) > 0) {
            fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
            rest.fds[i] = rest.fds[--rest.count];
            return fd;
        }
    }
    return -ENOENT;
}

bool passed_sockets_name_rest(char *text, size_t size)
{
    size_t length = 0;

    collect();
    text[0] = '\0';
    for (size_t i = 0; i < rest.count && length < size; i++) {
        char name[SOCKET_TEXT_BYTES];

        name_socket(rest.fds[i], name);
        length += (size_t)snprintf(text + length, size - length, "%s%s", i ? ", " : "", name);
    }
    return rest.count > 0;
}

void passed_sockets_close_rest(void)
{
    char text[SOCKETS_MAX * SOCKET_TEXT_BYTES];

    if (passed_sockets_name_rest(text, sizeof text)) {
        log_warning("edged.socket listens on %s, which the configuration does not name, serving "
                    "nobody there: run `edgectl setup`, or `systemctl disable --now edged.socket`",
                    text);
    }
    while (rest.count > 0) {
        close(rest.fds[--rest.count]);
    }
}
