#include "daemon/front/listener.h"

#include "daemon/front/passed_sockets.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

// Viewers that may come at once, or while edged is started again.
#define BACKLOG 1024

static void cleanup_addresses(struct addrinfo **addresses)
{
    if (*addresses) {
        freeaddrinfo(*addresses);
    }
}

static int refuse(const struct listener_place *place, int code, const char *reason,
                  struct error *error)
{
    return error_set(error, code, "cannot listen on %s %s, %s %d: %s", place->address_key,
                     place->address, place->port_key, place->port, reason);
}

static int find_addresses(const struct listener_place *place, struct error *error,
                          struct addrinfo **ret_addresses)
{
    const struct addrinfo hints = {
        .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
        .ai_socktype = SOCK_STREAM,
        .ai_protocol = IPPROTO_TCP,
    };
    const char *address = strcmp(place->address, "localhost") == 0 ? "127.0.0.1" : place->address;
    char service[16];
    int r;

    snprintf(service, sizeof service, "%d", place->port);
    r = getaddrinfo(address, service, &hints, ret_addresses);
    if (r == 0) {
        return 0;
    }
    return refuse(place, -EADDRNOTAVAIL, r == EAI_SYSTEM ? strerror(errno) : gai_strerror(r),
                  error);
}

// A socket of our own that listens on `address`, or a negative errno.
static int open_own(const struct addrinfo *address)
{
    const int on = 1, off = 0;
    _cleanup_(cleanup_close) int fd =
        socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);

    if (fd < 0) {
        return -errno;
    }
    // The kernel may still be closing connections of the previous edged.
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0) {
        return -errno;
    }
    // Whatever net.ipv6.bindv6only says.
    if (address->ai_family == AF_INET6 &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) < 0) {
        return -errno;
    }
    if (bind(fd, address->ai_addr, address->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0) {
        return -errno;
    }
    return TAKE_FD(fd);
}

static int open_passed(const struct addrinfo *address)
{
    int fd = passed_sockets_take(address->ai_addr, address->ai_addrlen);

    if (fd >= 0) {
        listen(fd, BACKLOG); // systemd 245 gives it 128
    }
    return fd;
}

static int translate(int code)
{
    switch (code) {
    case -EADDRINUSE:
    case -EADDRNOTAVAIL:
    case -EACCES:
        return code;
    case -EAFNOSUPPORT: // IPv6 is switched off
        return -EADDRNOTAVAIL;
    default:
        return -EIO;
    }
}

static int explain(const struct listener_place *place, int code, struct error *error)
{
    char passed[256], reason[480];
    bool in_the_way = code == -EADDRINUSE && passed_sockets_name_rest(passed, sizeof passed);

    if (in_the_way) {
        snprintf(reason, sizeof reason,
                 "%s; edged.socket listens on %s: run `edgectl setup`, or `systemctl disable --now "
                 "edged.socket`",
                 strerror(-code), passed);
    }
    return refuse(place, translate(code), in_the_way ? reason : strerror(-code), error);
}

// A socket that the previous edged left with systemd, under another configuration, may be in the
// way.
static int open_and_store(const struct addrinfo *address)
{
    int fd = open_own(address);

    if (fd == -EADDRINUSE && passed_sockets_end_stored(address->ai_addr)) {
        fd = open_own(address);
    }
    if (fd >= 0) {
        passed_sockets_store(fd);
    }
    return fd;
}

int listener_open(const struct listener_place *place, struct error *error, int *ret_fd)
{
    _cleanup_(cleanup_addresses) struct addrinfo *addresses = NULL;
    int r = find_addresses(place, error, &addresses), fd = -ENOENT;

    if (r < 0) {
        return r;
    }
    // A socket that systemd passed for any of the addresses is preferred to a new one.
    for (const struct addrinfo *i = addresses; i && fd < 0; i = i->ai_next) {
        fd = open_passed(i);
    }
    for (const struct addrinfo *i = addresses; i && fd < 0; i = i->ai_next) {
        fd = open_and_store(i);
    }
    if (fd < 0) {
        return explain(place, fd, error);
    }
    *ret_fd = fd;
    return 0;
}

void listener_end(int fd)
{
    passed_sockets_end(fd);
}

int listener_port(int fd)
{
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof address;

    getsockname(fd, (struct sockaddr *)&address, &size);
    return socket_address_port((const struct sockaddr *)&address);
}
