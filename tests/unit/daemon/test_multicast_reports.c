// RTCP of a multicast group: what the server says there, and whose words count.
#include "tests/unit/daemon/multicast_bed.h"

#include "daemon/front/stream/rtcp.h"

#include <errno.h>

TEST(test_the_group_is_told_of_its_sender_and_of_its_end, set_up, tear_down)
{
    struct multicast_bed *bed = *state;
    int rtp = join(groups[0], port), rtcp = join(groups[0], port + 1);
    g_autofree char *session = play_client(bed, &bed->clients[0]);
    uint8_t bytes[2048];
    uint32_t ssrc;

    rtsp_bed_send_frame(bed->rtsp, 100);
    next_sequence(bed, rtp, &ssrc);
    assert_true(receive(bed, rtcp, bytes) > 28); // RFC 3550, section 6.4.1
    assert_int_equal(bytes[0], 0x80);
    assert_int_equal(bytes[1], 200);
    assert_int_equal(rtp_get32(bytes + 4), ssrc);
    assert_int_equal(rtp_get32(bytes + 20), 2); // packets

    assert_int_equal(client_status(&bed->clients[0], bed->rtsp, "TEARDOWN", session), 200);
    size_t size = receive(bed, rtcp, bytes);
    assert_int_equal(bytes[size - 7], 203); // section 6.6: BYE, of one source
    assert_int_equal(rtp_get32(bytes + size - 4), ssrc);
    close(rtp);
    close(rtcp);
}

// A group with members at 127.0.0.1, where the server's own reports come from too, and at
// 127.0.0.2.
struct group_bed {
    struct poller *poller;
    struct stream *stream;
    struct multicast *multicast;
    struct multicast_group *group;
    struct multicast_member members[2];
    unsigned key_frame_demands;
};

static void note_demand(void *context, struct stream *stream, bool key_frame)
{
    (void)stream;
    ((struct group_bed *)context)->key_frame_demands += key_frame;
}

static struct sockaddr_in address_of(const char *name)
{
    struct sockaddr_in address = {.sin_family = AF_INET};

    inet_pton(AF_INET, name, &address.sin_addr);
    return address;
}

static int set_up_group(void **state)
{
    static const char *const names[] = {"127.0.0.1", "127.0.0.2"};
    struct group_bed *bed = calloc(1, sizeof *bed);
    _cleanup_(cleanup_config) struct config *config = NULL;

    choose_groups();
    g_autofree char *settings = pool("");
    g_autofree char *text = g_strdup_printf("rtsp = { %s };", settings);
    assert_int_equal(config_parse(text, "test.conf", stderr, &config), 0);
    assert_int_equal(poller_new(&bed->poller), 0);
    assert_int_equal(stream_new("/front/edges", &payload_h264, 4000, &bed->stream), 0);
    stream_set_demand(bed->stream, note_demand, bed);
    bed->multicast = multicast_new(bed->poller, config);
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        const struct sockaddr_in address = address_of(names[i]);

        bed->members[i].peer = peer_of((const struct sockaddr *)&address);
        assert_int_equal(multicast_join(bed->multicast, bed->stream, &bed->members[i], &bed->group),
                         0);
    }
    *state = bed;
    return 0;
}

static int tear_down_group(void **state)
{
    struct group_bed *bed = *state;

    multicast_leave(bed->group, &bed->members[0]);
    multicast_leave(bed->group, &bed->members[1]);
    stream_set_demand(bed->stream, NULL, NULL);
    multicast_free(bed->multicast);
    stream_unref(bed->stream);
    poller_free(bed->poller);
    free(bed);
    return 0;
}

// Sends it to the group from `name`.
static void report_from(const char *name, const uint8_t *bytes, size_t size)
{
    const struct sockaddr_in from = address_of(name);
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_addr = groups[0], .sin_port = htons(port + 1)};
    const struct ip_mreqn by = {.imr_address = from.sin_addr,
                                .imr_ifindex = (int)if_nametoindex("lo")};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof by), 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&from, sizeof from), 0);
    assert_int_equal(sendto(fd, bytes, size, 0, (const struct sockaddr *)&to, sizeof to), size);
    close(fd);
}

// Waits until a report of the member has come after `after_ns`. Returns when it came.
static int64_t wait_report(struct group_bed *bed, size_t member, int64_t after_ns)
{
    int64_t begin_ns = clock_now_ns();

    for (; bed->members[member].reported_ns <= after_ns; g_main_context_iteration(NULL, FALSE)) {
        assert_true(clock_now_ns() - begin_ns < PATIENCE_NS);
    }
    return bed->members[member].reported_ns;
}

// By RFC 3550, section 6.4.2, and RFC 4585, section 6.3.1.
static const uint8_t receiver_report[] = {0x80, 201, 0, 1, 0xde, 0xad, 0xbe, 0xef};
static const uint8_t picture_loss[] = {0x81, 206, 0, 2, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0, 1};

TEST(test_a_report_counts_for_members_of_its_address_alone, set_up_group, tear_down_group)
{
    struct group_bed *bed = *state;

    report_from("127.0.0.3", receiver_report, sizeof receiver_report);
    report_from("127.0.0.2", (const uint8_t *)"hello", 5);
    report_from("127.0.0.2", receiver_report, sizeof receiver_report);
    int64_t reported_ns = wait_report(bed, 1, 0);
    assert_int_equal(bed->members[0].reported_ns, 0);
    report_from("127.0.0.1", receiver_report, sizeof receiver_report);
    wait_report(bed, 0, 0);
    assert_int_equal(bed->members[1].reported_ns, reported_ns);
}

// It comes back from the group, and says nothing of a member on the same machine.
TEST(test_the_servers_own_report_keeps_nobody, set_up_group, tear_down_group)
{
    struct group_bed *bed = *state;
    uint8_t bytes[RTCP_REPORT_MAX];
    const struct rtcp_sender own = {.ssrc = rtp_sender_ssrc(multicast_sender(bed->group)),
                                    .cname = "edged"};

    size_t size = rtcp_write(&own, bytes);

    report_from("127.0.0.1", bytes, size);
    report_from("127.0.0.2", receiver_report, sizeof receiver_report);
    wait_report(bed, 1, 0);
    assert_int_equal(bed->members[0].reported_ns, 0);
}

TEST(test_only_members_may_ask_for_a_key_frame, set_up_group, tear_down_group)
{
    struct group_bed *bed = *state;

    report_from("127.0.0.3", picture_loss, sizeof picture_loss);
    report_from("127.0.0.2", receiver_report, sizeof receiver_report);
    int64_t reported_ns = wait_report(bed, 1, 0);
    while (g_main_context_iteration(NULL, FALSE)) {
    }
    assert_int_equal(bed->key_frame_demands, 0);
    report_from("127.0.0.2", picture_loss, sizeof picture_loss);
    wait_report(bed, 1, reported_ns);
    while (g_main_context_iteration(NULL, FALSE)) {
    }
    assert_int_equal(bed->key_frame_demands, 1);
}

RUN_TESTS(NULL, NULL)
