#include "daemon/front/passed_sockets.h"

#include "config/base.h"
#include "daemon/common/log.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

#define SOCKETS_MAX 16 // a socket unit with more is a mistake
// The name that systemd gives to sockets that were stored without one
// (sd_listen_fds_with_names(3)).
#define STORED "stored"

static struct {
    struct passed_socket {
        int fd;
        bool is_stored; // by an edged; else of edged.socket
    } list[SOCKETS_MAX];
    size_t count;
} rest;

// The sockets of edged.socket, by inode number, because descriptor numbers are used again.
static struct {
    ino_t list[SOCKETS_MAX];
    size_t count;
} units;

static ino_t find_inode(int fd)
{
    struct stat status = {0};

    fstat(fd, &status);
    return status.st_ino;
}

static void add(int fd, bool is_stored)
{
    if (rest.count == SOCKETS_MAX || (!is_stored && units.count == SOCKETS_MAX)) {
        close(fd);
        return;
    }
    rest.list[rest.count++] = (struct passed_socket){fd, is_stored};
    if (!is_stored) {
        units.list[units.count++] = find_inode(fd);
    }
}

// Reads the sockets from systemd's environment variables, once. They are removed then, so that
// camera processes do not inherit them.
static void collect(void)
{
    char **names = NULL;
    int count = sd_listen_fds_with_names(1, &names);

    for (int i = 0; i < count; i++) {
        add(SD_LISTEN_FDS_START + i, strcmp(names[i], STORED) == 0);
        free(names[i]);
    }
    free(names);
}

static struct passed_socket remove_at(size_t index)
{
    struct passed_socket removed = rest.list[index];

    rest.list[index] = rest.list[--rest.count];
    return removed;
}

int socket_address_port(const struct sockaddr *address)
{
    switch (address->sa_family) {
    case AF_INET:
        return ntohs(((const struct sockaddr_in *)(const void *)address)->sin_port);
    case AF_INET6:
        return ntohs(((const struct sockaddr_in6 *)(const void *)address)->sin6_port);
    default:
        return 0;
    }
}

void socket_address_text(const struct sockaddr *address, char text[SOCKET_TEXT_BYTES])
{
    bool is_v4 = address->sa_family == AF_INET;
    char host[INET6_ADDRSTRLEN];

    if (!is_v4 && address->sa_family != AF_INET6) {
        snprintf(text, SOCKET_TEXT_BYTES, "?");
        return;
    }
    inet_ntop(address->sa_family,
              is_v4 ? (const void *)&((const struct sockaddr_in *)(const void *)address)->sin_addr
                    : &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr,
              host, sizeof host);
    snprintf(text, SOCKET_TEXT_BYTES, is_v4 ? "%s:%d" : "[%s]:%d", host,
             socket_address_port(address));
}

// The address where it listens; of family AF_UNSPEC if that is not known.
static struct sockaddr_storage find_address(int fd)
{
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof address;

    getsockname(fd, (struct sockaddr *)&address, &size);
    return address;
}

int passed_sockets_take(const struct sockaddr *address, socklen_t size)
{
    collect();
    if (socket_address_port(address) == 0) {
        return -ENOENT; // any port would do, also another server's
    }
    for (size_t i = 0; i < rest.count; i++) {
        int fd = rest.list[i].fd;

        if (sd_is_socket_sockaddr(fd, SOCK_STREAM, address, (unsigned)size, 1) > 0) {
            fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
            return remove_at(i).fd;
        }
    }
    return -ENOENT;
}

void passed_sockets_store(int fd)
{
    sd_pid_notify_with_fds(0, 0, "FDSTORE=1", &fd, 1);
}

// systemd drops a stored socket once it has hung up.
void passed_sockets_end(int fd)
{
    bool is_unit = false;

    for (size_t i = 0; i < units.count && !is_unit; i++) {
        is_unit = units.list[i] == find_inode(fd);
    }
    if (!is_unit) {
        shutdown(fd, SHUT_RDWR);
    }
    close(fd);
}

bool passed_sockets_end_stored(const struct sockaddr *address)
{
    bool any = false;

    for (size_t i = rest.count; i-- > 0;) {
        struct sockaddr_storage own = find_address(rest.list[i].fd);

        if (rest.list[i].is_stored &&
            socket_address_port((const struct sockaddr *)&own) == socket_address_port(address)) {
            passed_sockets_end(remove_at(i).fd);
            any = true;
        }
    }
    return any;
}

bool passed_sockets_name_rest(char *text, size_t size)
{
    size_t length = 0;

    collect();
    text[0] = '\0';
    for (size_t i = 0; i < rest.count && length < size; i++) {
        struct sockaddr_storage address = find_address(rest.list[i].fd);
        char name[SOCKET_TEXT_BYTES];

        if (!rest.list[i].is_stored) {
            socket_address_text((const struct sockaddr *)&address, name);
            length +=
                (size_t)snprintf(text + length, size - length, "%s%s", length ? ", " : "", name);
        }
    }
    return length > 0;
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
        passed_sockets_end(remove_at(rest.count - 1).fd);
    }
}
