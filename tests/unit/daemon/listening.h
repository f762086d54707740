// Listening sockets of the front under test, and who connects to them.
#pragma once

#include "tests/unit/unit.h"

#include "daemon/front/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

#define PATIENCE_MS 60000

static inline struct listener_place at(const char *address, int port)
{
    return (struct listener_place){"rtsp.address", address, "rtsp.port", port};
}

static inline int open_listener(const char *address, int port)
{
    const struct listener_place place = at(address, port);
    struct error error = {0};
    int fd = -1;

    if (listener_open(&place, &error, &fd) < 0) {
        fail_msg("%s", error.text);
    }
    return fd;
}

static inline void refuse_listener(const char *address, int port, int expected,
                                   const char *sentence)
{
    const struct listener_place place = at(address, port);
    struct error error = {0};
    int fd = -1;

    assert_int_equal(listener_open(&place, &error, &fd), expected);
    assert_int_equal(fd, -1);
    if (!strstr(error.text, sentence)) {
        fail_msg("%s", error.text);
    }
}

static inline int connect_v4(const char *host, int port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    inet_pton(AF_INET, host, &address.sin_addr);
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        close(fd);
        return -errno;
    }
    return fd;
}

// Accepts one; whether there is one to be accepted.
static inline bool accepts(int listener)
{
    struct pollfd ready = {.fd = listener, .events = POLLIN};

    if (poll(&ready, 1, PATIENCE_MS) != 1) {
        return false;
    }
    int fd = accept(listener, NULL, NULL);
    bool accepted = fd >= 0;

    close(fd);
    return accepted;
}
