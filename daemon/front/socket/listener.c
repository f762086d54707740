#include "daemon/front/socket/listener.h"

#include "daemon/common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

// Viewers that may come at once, or while edged is started again.
#define BACKLOG 1024
#define PASSED_MAX 16 // a socket unit with more is a mistake
// The name that systemd gives to sockets that were stored without one
// (sd_listen_fds_with_names(3)).
#define STORED "stored"
#define HOW_TO_MEND "run `edgectl setup`, or `systemctl disable --now edged.socket`"

// The sockets that systemd passed, in its order.
static struct passed_socket {
    int fd;         // -1: it has been taken or closed
    ino_t inode;    // names the socket for good; descriptors are used again
    bool is_stored; // by an edged; else of edged.socket
} passed[PASSED_MAX];
static size_t passed_count;

static ino_t find_inode(int fd)
{
    struct stat status = {0};

    fstat(fd, &status);
    return status.st_ino;
}

// Reads the sockets from systemd's environment variables, once. They are removed then, so that
// camera processes do not inherit them.
static void collect(void)
{
    char **names = NULL;
    int count = sd_listen_fds_with_names(1, &names);

    for (int i = 0; i < count; i++) {
        int fd = SD_LISTEN_FDS_START + i;

        if (passed_count < PASSED_MAX) {
            passed[passed_count++] =
                (struct passed_socket){fd, find_inode(fd), strcmp(names[i], STORED) == 0};
        } else {
            close(fd);
        }
        free(names[i]);
    }
    free(names);
}

// Takes the socket that listens on exactly that address, family and port. -ENOENT: systemd passed
// none such, or the port is 0, which would do for every other address, too.
static int take_passed(const struct addrinfo *address, int port)
{
    collect();
    for (size_t i = 0; i < passed_count && port != 0; i++) {
        int fd = passed[i].fd;

        if (fd >= 0 && sd_is_socket_sockaddr(fd, SOCK_STREAM, address->ai_addr,
                                             (unsigned)address->ai_addrlen, 1) > 0) {
            passed[i].fd = -1;
            fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
            listen(fd, BACKLOG); // systemd 245 gives it 128
            return fd;
        }
    }
    return -ENOENT;
}

// Ends the sockets left by the previous edged that nobody has taken and that have that port,
// because they keep it from being bound. Whether there were any.
static bool end_stored(int port)
{
    bool any = false;

    for (size_t i = 0; i < passed_count; i++) {
        if (passed[i].fd >= 0 && passed[i].is_stored &&
            sd_is_socket_inet(passed[i].fd, AF_UNSPEC, SOCK_STREAM, 1, (uint16_t)port) > 0) {
            listener_end(TAKE_FD(passed[i].fd));
            any = true;
        }
    }
    return any;
}

// "127.0.0.1:8554", "[::1]:8554"; "?": no address of the Internet.
static void append_address(int fd, GString *text)
{
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof address;
    char host[64], port[16];

    getsockname(fd, (struct sockaddr *)&address, &size);
    if ((address.ss_family != AF_INET && address.ss_family != AF_INET6) ||
        getnameinfo((struct sockaddr *)&address, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        g_string_append(text, "?");
        return;
    }
    g_string_append_printf(text, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
}

// The addresses of the sockets of edged.socket that nobody has taken, "127.0.0.1:8554, [::1]:8554";
// "": there are none. The caller g_free()s it.
static char *name_rest(void)
{
    GString *text = g_string_new(NULL);

    collect();
    for (size_t i = 0; i < passed_count; i++) {
        if (passed[i].fd >= 0 && !passed[i].is_stored) {
            g_string_append(text, text->len ? ", " : "");
            append_address(passed[i].fd, text);
        }
    }
    return g_string_free(text, FALSE);
}

static void cleanup_addresses(struct addrinfo **addresses)
{
    if (*addresses)
        freeaddrinfo(*addresses);
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
    if (r == 0)
        return 0;
    return refuse(place, -EADDRNOTAVAIL, r == EAI_SYSTEM ? strerror(errno) : gai_strerror(r),
                  error);
}

// A socket of our own that listens on `address`, or a negative errno.
static int open_own(const struct addrinfo *address)
{
    const int on = 1, off = 0;
    _cleanup_(cleanup_close) int fd =
        socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_TCP);

    if (fd < 0)
        return -errno;
    // The kernel may still be closing connections of the previous edged.
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0)
        return -errno;
    // Whatever net.ipv6.bindv6only says.
    if (address->ai_family == AF_INET6 &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) < 0) {
        return -errno;
    }
    if (bind(fd, address->ai_addr, address->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0)
        return -errno;
    return TAKE_FD(fd);
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

// Advice on an address or port that cannot be had.
static const char *find_advice(int code)
{
    switch (code) {
    case -EADDRINUSE:
        return "; `sudo ss -ltnp` shows which program has it";
    case -EADDRNOTAVAIL:
        return "; `ip address` lists those of this machine";
    case -EACCES:
        return "; below 1024 only root and edged.socket may";
    default:
        return "";
    }
}

static int explain(const struct listener_place *place, int code, struct error *error)
{
    g_autofree char *rest = code == -EADDRINUSE ? name_rest() : g_strdup("");
    g_autofree char *reason = *rest ? g_strconcat(strerror(-code), "; edged.socket listens on ",
                                                  rest, ": " HOW_TO_MEND, NULL)
                                    : g_strconcat(strerror(-code), find_advice(code), NULL);

    return refuse(place, translate(code), reason, error);
}

// A socket that the previous edged left with systemd, under another configuration, may be in the
// way.
static int open_and_store(const struct addrinfo *address, int port)
{
    int fd = open_own(address);

    if (fd == -EADDRINUSE && end_stored(port))
        fd = open_own(address);
    if (fd >= 0)
        sd_pid_notify_with_fds(0, 0, "FDSTORE=1", &fd, 1);
    return fd;
}

int listener_open(const struct listener_place *place, struct error *error, int *ret_fd)
{
    _cleanup_(cleanup_addresses) struct addrinfo *addresses = NULL;
    int r = find_addresses(place, error, &addresses), fd = -ENOENT;

    if (r < 0)
        return r;
    // A socket that systemd passed for any of the addresses is preferred to a new one.
    for (const struct addrinfo *i = addresses; i && fd < 0; i = i->ai_next)
        fd = take_passed(i, place->port);
    for (const struct addrinfo *i = addresses; i && fd < 0; i = i->ai_next)
        fd = open_and_store(i, place->port);
    if (fd < 0)
        return explain(place, fd, error);
    *ret_fd = fd;
    return 0;
}

// systemd drops a stored socket once it has hung up.
void listener_end(int fd)
{
    ino_t inode = find_inode(fd);
    bool is_unit = false;

    for (size_t i = 0; i < passed_count; i++)
        is_unit |= !passed[i].is_stored && passed[i].inode == inode;
    if (!is_unit)
        shutdown(fd, SHUT_RDWR);
    close(fd);
}

int listener_port(int fd)
{
    struct sockaddr_in6 address = {0}; // or one of IPv4, whose port lies in the same place
    socklen_t size = sizeof address;

    getsockname(fd, (struct sockaddr *)&address, &size);
    return ntohs(address.sin6_port);
}

void listener_close_rest(void)
{
    g_autofree char *rest = name_rest();

    if (*rest) {
        log_warning("edged.socket listens on %s, which the configuration does not name, serving "
                    "nobody there: " HOW_TO_MEND,
                    rest);
    }
    for (size_t i = 0; i < passed_count; i++) {
        if (passed[i].fd >= 0)
            listener_end(TAKE_FD(passed[i].fd));
    }
}
