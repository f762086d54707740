// Listening sockets that the front opens by itself.
#include "tests/unit/daemon/listening.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>

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
    int first = open_listener("127.0.0.1", 0);
    int port = listener_port(first);

    assert_in_range(port, 1, 65535);
    close(first);
    first = open_listener("127.0.0.1", port);
    assert_int_equal(listener_port(first), port);
    close(first);
}

TEST(test_every_ipv6_address_is_every_ipv4_address_too)
{
    int probe = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (probe < 0) {
        SKIP("this kernel has no IPv6");
    }
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

    snprintf(sentence, sizeof sentence,
             "cannot listen on rtsp.address 127.0.0.1, rtsp.port %d: Address already in use", port);
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

RUN_TESTS(NULL, NULL)
