// Reports of viewers by UDP, and those to them.
#include "tests/unit/daemon/transport_udp_bed.h"

static void send_report(const struct fixture *fixture, int fd, const char *text)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    to.sin_port = htons((uint16_t)(udp_sockets_port(fixture->sockets) + 1));
    assert_int_equal(sendto(fd, text, strlen(text), 0, (struct sockaddr *)&to, sizeof to),
                     strlen(text));
}

// What was sent before the second client's report number `count` has been read then.
static void wait_reports(const struct fixture *fixture, unsigned count)
{
    int64_t begin_ns = clock_now_ns();

    for (; fixture->clients[1].reports < count; g_main_context_iteration(NULL, TRUE)) {
        assert_true(clock_now_ns() - begin_ns < PATIENCE_NS);
    }
}

TEST(test_reports_count_from_their_own_address_alone, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct client *client = &fixture->clients[0], *other = &fixture->clients[1];
    uint16_t port = 0;
    int stranger = bind_to("127.0.0.1", &port);
    int same_port = bind_to("127.0.0.2", &client->rtcp_port);

    send_report(fixture, stranger, "stranger");
    send_report(fixture, same_port, "same port");
    send_report(fixture, client->rtp, "RTP port");
    send_report(fixture, other->rtcp, "other");
    wait_reports(fixture, 1);
    assert_int_equal(client->reports, 0);
    assert_int_equal(other->report_size, 5);
    assert_memory_equal(other->report, "other", 5);

    send_report(fixture, client->rtcp, "mine");
    send_report(fixture, client->rtcp, ""); // a datagram of nothing
    send_report(fixture, other->rtcp, "again");
    wait_reports(fixture, 2);
    assert_int_equal(client->reports, 2);
    assert_memory_equal(client->report, "mine", 4);
    assert_int_equal(client->report_size, 0);

    client->transport->ops->free(client->transport);
    client->transport = NULL;
    send_report(fixture, client->rtcp, "too late");
    send_report(fixture, other->rtcp, "once more");
    wait_reports(fixture, 3);
    assert_int_equal(client->reports, 2);
    close(stranger);
    close(same_port);
}

TEST(test_reports_go_to_the_rtcp_port, set_up, tear_down)
{
    struct fixture *fixture = *state;
    struct client *client = &fixture->clients[0];
    struct sockaddr_in from;
    socklen_t size = sizeof from;
    uint8_t bytes[100];

    client->transport->ops->send_rtcp(client->transport, (const uint8_t *)"report", 6);
    assert_int_equal(
        recvfrom(client->rtcp, bytes, sizeof bytes, 0, (struct sockaddr *)&from, &size), 6);
    assert_memory_equal(bytes, "report", 6);
    assert_string_equal(inet_ntoa(from.sin_addr), SOURCE);
    assert_int_equal(ntohs(from.sin_port), udp_sockets_port(fixture->sockets) + 1);
    assert_int_equal(udp_sockets_port(fixture->sockets) % 2, 0); // RFC 3550, section 11
}

RUN_TESTS(NULL, NULL)
