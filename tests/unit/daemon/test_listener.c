// Listening sockets: those that the front opens by itself, and those that systemd passes.
#include "tests/unit/caught_stderr.h"
#include "tests/unit/unit.h"

#include "daemon/front/socket/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#define PATIENCE_MS 60000

static struct listener_place at(const char *address, int port)
{
    return (struct listener_place){"rtsp.address", address, "rtsp.port", port};
}

static int open_listener(const char *address, int port)
{
    const struct listener_place place = at(address, port);
    struct error error = {0};
    int fd = -1;

    if (listener_open(&place, &error, &fd) < 0)
        fail_msg("%s", error.text);
    return fd;
}

static void refuse_listener(const char *address, int port, int expected, const char *sentence)
{
    const struct listener_place place = at(address, port);
    struct error error = {0};
    int fd = -1;

    assert_int_equal(listener_open(&place, &error, &fd), expected);
    assert_int_equal(fd, -1);
    if (!strstr(error.text, sentence))
        fail_msg("%s", error.text);
}

static int connect_v4(const char *host, int port)
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
static bool accepts(int listener)
{
    struct pollfd ready = {.fd = listener, .events = POLLIN};

    if (poll(&ready, 1, PATIENCE_MS) != 1)
        return false;
    int fd = accept(listener, NULL, NULL);
    bool accepted = fd >= 0;

    close(fd);
    return accepted;
}

TEST(test_localhost_is_127_0_0_1)
{
    int listener = open_listener("localhost", 0);
    int viewer = connect_v4("127.0.0.1", listener_port(listener));

    assert_true(viewer >= 0);
    assert_true(accepts(listener));
    close(viewer);
    assert_int_equal(connect_v4("127.0.0.2", listener_port(listener)), -ECONNREFUSED);
    close(listener);
}

TEST(test_sockets_neither_block_nor_are_inherited)
{
    int listener = open_listener("127.0.0.1", 0);

    assert_true(fcntl(listener, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(listener, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(accept(listener, NULL, NULL), -1);
    assert_int_equal(errno, EAGAIN);
    close(listener);
}

TEST(test_the_port_is_the_one_asked_for)
{
    int listener = -1, port;

    // Between the two another program may be given the port that was free.
    do {
        int first = open_listener("127.0.0.1", 0);

        port = listener_port(first);
        assert_in_range(port, 1, 65535);
        close(first);
        const struct listener_place place = at("127.0.0.1", port);
        struct error error = {0};
        int r = listener_open(&place, &error, &listener);

        assert_true(r == 0 || r == -EADDRINUSE);
    } while (listener < 0);
    assert_int_equal(listener_port(listener), port);
    close(listener);
}

TEST(test_every_ipv6_address_is_every_ipv4_address_too)
{
    int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (probe < 0)
        SKIP("this kernel has no IPv6");
    close(probe);
    int listener = open_listener("::", 0);
    int viewer = connect_v4("127.0.0.1", listener_port(listener));

    assert_true(viewer >= 0);
    assert_true(accepts(listener));
    close(viewer);
    close(listener);
}

TEST(test_an_address_in_use_is_told_apart)
{
    int listener = open_listener("127.0.0.1", 0);
    int port = listener_port(listener);
    char sentence[128];

    snprintf(
        sentence, sizeof sentence,
        "cannot listen on rtsp.address 127.0.0.1, rtsp.port %d: Address already in use; `sudo ss",
        port);
    refuse_listener("127.0.0.1", port, -EADDRINUSE, sentence);
    refuse_listener("0.0.0.0", port, -EADDRINUSE, "Address already in use");
    close(listener);
}

// 192.0.2.0/24 is nobody's (RFC 5737), and so is the name ending .invalid (RFC 2606).
TEST(test_addresses_of_other_machines_are_refused)
{
    refuse_listener("192.0.2.7", 0, -EADDRNOTAVAIL, "Cannot assign requested address");
    refuse_listener("edged.invalid", 8554, -EADDRNOTAVAIL,
                    "cannot listen on rtsp.address edged.invalid, rtsp.port 8554: ");
}

TEST(test_no_descriptor_left_is_an_error_with_its_sentence)
{
    struct rlimit before, none;

    getrlimit(RLIMIT_NOFILE, &before);
    none = before;
    none.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &none);
    refuse_listener("127.0.0.1", 0, -EIO, "Too many open files");
    setrlimit(RLIMIT_NOFILE, &before);
}

// A listening socket as systemd makes it, with a descriptor above those that it passes.
static int open_for_systemd(int port)
{
    const int on = 1;
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 64);

    close(fd);
    setsockopt(high, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    assert_int_equal(bind(high, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(high, 1), 0);
    return high;
}

// Passes `fds` as systemd does: from 3 on, and said in the environment. Closes them. `names` are
// parted by colons.
static void pass_named(const int *fds, int count, const char *names)
{
    char number[16];

    for (int i = 0; i < count; i++) {
        assert_int_equal(dup2(fds[i], 3 + i), 3 + i);
        close(fds[i]);
    }
    snprintf(number, sizeof number, "%d", count);
    setenv("LISTEN_FDS", number, 1);
    snprintf(number, sizeof number, "%d", (int)getpid());
    setenv("LISTEN_PID", number, 1);
    setenv("LISTEN_FDNAMES", names, 1);
}

static void pass(const int *fds, int count)
{
    pass_named(fds, count, count == 1 ? "edged.socket" : "edged.socket:edged.socket");
}

TEST(test_the_socket_that_systemd_passed_is_taken)
{
    int passed = open_for_systemd(0), port = listener_port(passed);
    int other = open_for_systemd(0), other_port = listener_port(other);

    pass((int[]){other, passed}, 2);
    int early = connect_v4("127.0.0.1", port); // before edged is there
    int listener = open_listener("127.0.0.1", port);

    assert_int_equal(listener, 4);
    assert_true(fcntl(listener, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(listener, F_GETFD) & FD_CLOEXEC);
    assert_true(accepts(listener));
    assert_null(getenv("LISTEN_FDS"));
    close(early);

    int second = open_listener("127.0.0.1", other_port);

    assert_int_equal(second, 3);
    close(listener);
    close(second);
}

TEST(test_a_passed_socket_outlasts_who_takes_it)
{
    int systemd = open_for_systemd(0), port = listener_port(systemd);

    pass((int[]){fcntl(systemd, F_DUPFD_CLOEXEC, 64)}, 1);
    close(open_listener("127.0.0.1", port));

    int viewer = connect_v4("127.0.0.1", port);

    assert_true(viewer >= 0);
    assert_true(accepts(systemd));
    close(viewer);
    close(systemd);
}

// Port 0 fits every address, also that which another server is going to ask for.
TEST(test_any_port_is_none_that_was_passed)
{
    int systemd = open_for_systemd(0), port = listener_port(systemd);

    pass((int[]){fcntl(systemd, F_DUPFD_CLOEXEC, 64)}, 1);
    int any = open_listener("127.0.0.1", 0), passed = open_listener("127.0.0.1", port);

    assert_int_not_equal(listener_port(any), port);
    assert_int_equal(listener_port(passed), port);
    close(any);
    close(passed);
    close(systemd);
}

TEST(test_one_of_edged_socket_outlasts_its_end_here_and_one_that_was_left_does_not)
{
    int systemd[] = {open_for_systemd(0), open_for_systemd(0)};
    int copies[] = {fcntl(systemd[0], F_DUPFD_CLOEXEC, 64), fcntl(systemd[1], F_DUPFD_CLOEXEC, 64)};

    pass_named(copies, 2, "edged.socket:stored");
    for (size_t i = 0; i < ARRAY_LENGTH(systemd); i++)
        listener_end(open_listener("127.0.0.1", listener_port(systemd[i])));
    int viewer = connect_v4("127.0.0.1", listener_port(systemd[0]));

    assert_true(viewer >= 0);
    assert_int_equal(connect_v4("127.0.0.1", listener_port(systemd[1])), -ECONNREFUSED);
    close(viewer);
    close(systemd[0]);
    close(systemd[1]);
}

TEST(test_one_of_its_own_ends_for_whoever_has_it)
{
    int listener = open_listener("127.0.0.1", 0), port = listener_port(listener);
    int systemd = fcntl(listener, F_DUPFD_CLOEXEC, 64); // as FDSTORE=1 does

    listener_end(listener);
    assert_int_equal(connect_v4("127.0.0.1", port), -ECONNREFUSED);
    close(open_listener("0.0.0.0", port));
    close(systemd);
}

// The kernel's facts of a listening socket: tcpi_sacked is its backlog (tcp(7), ss -l).
TEST(test_the_backlog_is_1024_or_what_the_system_allows)
{
    int systemd = open_for_systemd(0), port = listener_port(systemd), allowed = 0;
    FILE *limit = fopen("/proc/sys/net/core/somaxconn", "re");

    assert_int_equal(fscanf(limit, "%d", &allowed), 1);
    fclose(limit);
    pass(&systemd, 1);

    int listeners[] = {open_listener("127.0.0.1", port), open_listener("127.0.0.1", 0)};

    for (size_t i = 0; i < ARRAY_LENGTH(listeners); i++) {
        struct tcp_info info = {0};
        socklen_t size = sizeof info;

        assert_int_equal(getsockopt(listeners[i], IPPROTO_TCP, TCP_INFO, &info, &size), 0);
        assert_int_equal(info.tcpi_sacked, allowed < 1024 ? allowed : 1024);
        close(listeners[i]);
    }
}

TEST(test_a_passed_socket_that_is_in_the_way_is_named)
{
    int systemd = open_for_systemd(0), port = listener_port(systemd);
    char sentence[128];

    pass(&systemd, 1);
    snprintf(sentence, sizeof sentence, "edged.socket listens on 127.0.0.1:%d: run `edgectl setup`",
             port);
    refuse_listener("0.0.0.0", port, -EADDRINUSE, sentence);
    catch_stderr();
    listener_close_rest();
    release_stderr();
}

// Hears a notification to systemd: the message in `text`, and the descriptor that came with it.
static int hear_notification(int systemd, char *text, size_t size)
{
    struct pollfd ready = {.fd = systemd, .events = POLLIN};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec line = {.iov_base = text, .iov_len = size - 1};
    struct msghdr message = {.msg_iov = &line,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    int fd = -1;

    assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
    ssize_t length = recvmsg(systemd, &message, MSG_CMSG_CLOEXEC);

    assert_true(length > 0);
    text[length] = '\0';
    for (struct cmsghdr *i = CMSG_FIRSTHDR(&message); i; i = CMSG_NXTHDR(&message, i)) {
        if (i->cmsg_type == SCM_RIGHTS)
            memcpy(&fd, CMSG_DATA(i), sizeof fd);
    }
    return fd;
}

// The whole way of a socket over a restart, sd_pid_notify_with_fds(3) and sd_listen_fds(3).
TEST(test_a_socket_of_its_own_is_left_with_systemd_and_found_again)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    int systemd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t size = sizeof name;
    char text[64], path[64];

    // The kernel chooses an abstract name: five hexadecimal digits.
    assert_int_equal(bind(systemd, (struct sockaddr *)&name, sizeof(sa_family_t)), 0);
    assert_int_equal(getsockname(systemd, (struct sockaddr *)&name, &size), 0);
    snprintf(path, sizeof path, "@%.5s", name.sun_path + 1);
    setenv("NOTIFY_SOCKET", path, 1);
    int before = open_listener("127.0.0.1", 0), port = listener_port(before);
    int stored = hear_notification(systemd, text, sizeof text);

    unsetenv("NOTIFY_SOCKET");
    close(systemd);
    assert_string_equal(text, "FDSTORE=1");
    assert_int_equal(listener_port(stored), port);
    close(before);

    int viewer = connect_v4("127.0.0.1", port); // nobody is there
    int high = fcntl(stored, F_DUPFD_CLOEXEC, 64), high_viewer = fcntl(viewer, F_DUPFD_CLOEXEC, 64);

    close(stored);
    close(viewer);
    assert_true(high_viewer >= 0);
    pass_named(&high, 1, "stored");
    int after = open_listener("127.0.0.1", port);

    assert_true(accepts(after));
    close(high_viewer);
    close(after);
}

TEST(test_what_was_left_with_systemd_makes_way_for_another_address)
{
    int stored = open_for_systemd(0), port = listener_port(stored);

    pass_named((int[]){fcntl(stored, F_DUPFD_CLOEXEC, 64)}, 1, "stored");
    int listener = open_listener("0.0.0.0", port);
    struct pollfd hung_up = {.fd = stored};

    assert_int_equal(poll(&hung_up, 1, PATIENCE_MS), 1); // which is when systemd drops it
    assert_true(hung_up.revents & POLLHUP);
    close(stored);
    close(listener);
}

TEST(test_what_was_left_with_systemd_and_is_not_wanted_ends_silently)
{
    int stored = open_for_systemd(0), port = listener_port(stored);
    char said[64];

    pass_named((int[]){fcntl(stored, F_DUPFD_CLOEXEC, 64)}, 1, "stored");
    catch_stderr();
    listener_close_rest();
    rewind(caught);
    assert_null(fgets(said, sizeof said, caught));
    release_stderr();
    assert_int_equal(connect_v4("127.0.0.1", port), -ECONNREFUSED);
    close(stored);
}

TEST(test_passed_sockets_that_nobody_takes_are_named_and_closed)
{
    int systemd[] = {open_for_systemd(0), open_for_systemd(0)};
    int port = listener_port(systemd[1]), taken_port = listener_port(systemd[0]);
    char said[1024] = "", expected[128];

    pass(systemd, 2);
    int listener = open_listener("127.0.0.1", taken_port);

    catch_stderr();
    listener_close_rest();
    rewind(caught);
    assert_non_null(fgets(said, sizeof said, caught));
    release_stderr();
    snprintf(expected, sizeof expected,
             "edged.socket listens on 127.0.0.1:%d, which the configuration does not name", port);
    if (!strstr(said, expected))
        fail_msg("%s", said);
    assert_int_equal(connect_v4("127.0.0.1", port), -ECONNREFUSED);
    close(listener);
}

TEST(test_what_nobody_takes_is_named_as_urls_have_it)
{
    const struct sockaddr_in6 loopback = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    int six = socket(AF_INET6, SOCK_STREAM, 0), local = socket(AF_UNIX, SOCK_STREAM, 0);
    int systemd[] = {fcntl(six, F_DUPFD_CLOEXEC, 64), fcntl(local, F_DUPFD_CLOEXEC, 64)};
    char said[1024] = "", expected[128];

    close(six);
    close(local);
    if (bind(systemd[0], (const struct sockaddr *)&loopback, sizeof loopback) < 0)
        SKIP("this kernel has no IPv6");
    assert_int_equal(listen(systemd[0], 1), 0);
    snprintf(expected, sizeof expected, "edged.socket listens on [::1]:%d, ?, which",
             listener_port(systemd[0]));
    pass(systemd, 2);
    catch_stderr();
    listener_close_rest();
    rewind(caught);
    assert_non_null(fgets(said, sizeof said, caught));
    release_stderr();
    if (!strstr(said, expected))
        fail_msg("%s", said);
}

TEST(test_without_systemd_nothing_is_said)
{
    char said[64];

    catch_stderr();
    listener_close_rest();
    rewind(caught);
    assert_null(fgets(said, sizeof said, caught));
    release_stderr();
}

RUN_TESTS(NULL, NULL)
