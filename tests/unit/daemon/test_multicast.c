// Multicast on the loopback device: groups of this process's own, which no other test that runs at
// the same time sends to; their packets, their RTCP, and whose words count there.
#include "tests/unit/caught_stderr.h"
#include "tests/unit/daemon/rtsp_bed.h"

#include "daemon/front/rtsp/multicast.h"
#include "daemon/front/stream/rtcp.h"

#include <errno.h>
#include <net/if.h>

#define MULTICAST "Transport: RTP/AVP;multicast\r\n"
#define TTL 5

static struct in_addr groups[2]; // the pool
static uint16_t port;            // of the first

struct multicast_bed {
    struct rtsp_bed *rtsp;
    struct rtsp_client clients[2];
    unsigned key_frame_demands;
};

static void choose_groups(void)
{
    unsigned number = (unsigned)getpid() & 0x7fff;

    groups[0].s_addr = htonl(0xefff0000 | number << 1);
    groups[1].s_addr = htonl(0xefff0000 | number << 1 | 1);
    port = (uint16_t)(20000 + number % 10000 * 4);
}

static char *name_of(struct in_addr group)
{
    static char names[2][INET_ADDRSTRLEN];
    char *name = names[group.s_addr == groups[1].s_addr];

    inet_ntop(AF_INET, &group, name, INET_ADDRSTRLEN);
    return name;
}

static void on_demand(void *context, struct stream *stream, bool key_frame)
{
    (void)stream;
    ((struct multicast_bed *)context)->key_frame_demands += key_frame;
}

static int set_up_with(void **state, const char *settings)
{
    struct multicast_bed *bed = calloc(1, sizeof *bed);

    bed->rtsp = rtsp_bed_new_with(settings);
    stream_set_demand(bed->rtsp->stream, on_demand, bed);
    rtsp_bed_send_frame(bed->rtsp, 100);
    client_connect(&bed->clients[0], bed->rtsp);
    client_connect(&bed->clients[1], bed->rtsp);
    *state = bed;
    return 0;
}

static char *pool(const char *more)
{
    return g_strdup_printf("multicast = { addresses = \"%s-%s\"; port = %u; ttl = %d; %s };",
                           name_of(groups[0]), name_of(groups[1]), port, TTL, more);
}

static int set_up(void **state)
{
    choose_groups();
    g_autofree char *settings = pool("");

    return set_up_with(state, settings);
}

static int tear_down(void **state)
{
    struct multicast_bed *bed = *state;

    client_finish(&bed->clients[0]);
    client_finish(&bed->clients[1]);
    stream_set_demand(bed->rtsp->stream, NULL, NULL);
    rtsp_bed_free(bed->rtsp);
    free(bed);
    return 0;
}

// A socket that gets what comes to a group's port, as a player's.
static int join(struct in_addr group, uint16_t at)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr = group, .sin_port = htons(at)};
    const struct ip_mreqn membership = {.imr_multiaddr = group,
                                        .imr_ifindex = (int)if_nametoindex("lo")};
    const int yes = 1;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes), 0);
    assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_RECVTTL, &yes, sizeof yes), 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof membership),
                     0);
    return fd;
}

// The next datagram of a group; lets the server run until it comes. Returns its size.
static size_t receive(struct multicast_bed *bed, int fd, uint8_t bytes[2048])
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    struct iovec part = {bytes, 2048};
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr alignment;
    } control;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    int64_t begin_ns = clock_now_ns();
    int ttl;

    while (poll(&wait, 1, 0) == 0) {
        assert_true(clock_now_ns() - begin_ns < PATIENCE_NS);
        client_turn(&bed->clients[0]);
    }
    ssize_t size = recvmsg(fd, &message, 0);
    assert_true(size > 0);
    memcpy(&ttl, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof ttl);
    assert_int_equal(ttl, TTL);
    return (size_t)size;
}

static void assert_silent(int fd)
{
    uint8_t byte;

    assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
}

// Returns the reply to SETUP (g_free).
static char *ask_for_group(struct multicast_bed *bed, struct rtsp_client *client)
{
    char *reply = client_ask(client, bed->rtsp, "SETUP", NULL, MULTICAST);

    assert_int_equal(status_of(reply), 200);
    return reply;
}

// The line "Session: …" of a reply (g_free).
static char *session_of(const char *reply)
{
    const char *session = strstr(reply, "Session: ");

    assert_non_null(session);
    return g_strdup_printf("%.*s\r\n", (int)strcspn(session, ";\r"), session);
}

static char *set_up_client(struct multicast_bed *bed, struct rtsp_client *client)
{
    g_autofree char *reply = ask_for_group(bed, client);

    return session_of(reply);
}

static char *play_client(struct multicast_bed *bed, struct rtsp_client *client)
{
    char *session = set_up_client(bed, client);

    assert_int_equal(client_status(client, bed->rtsp, "PLAY", session), 200);
    return session;
}

// The number and the source of the next packet.
static unsigned next_sequence(struct multicast_bed *bed, int fd, uint32_t *ret_ssrc)
{
    uint8_t bytes[2048];

    assert_true(receive(bed, fd, bytes) > 12);
    *ret_ssrc = rtp_get32(bytes + 8);
    return (unsigned)bytes[2] << 8 | bytes[3];
}

// A newcomer is told where the packets are, and sees the next picture whole.
TEST(test_a_newcomer_is_given_a_key_frame_and_takes_nothing_away, set_up, tear_down)
{
    struct multicast_bed *bed = *state;
    int fd = join(groups[0], port);
    unsigned told;
    uint32_t ssrc;

    g_free(play_client(bed, &bed->clients[0]));
    g_autofree char *second = set_up_client(bed, &bed->clients[1]);
    rtsp_bed_send_frame(bed->rtsp, 100);
    next_sequence(bed, fd, &ssrc);
    unsigned sequence = next_sequence(bed, fd, &ssrc);
    bed->key_frame_demands = 0;
    g_autofree char *reply = client_ask(&bed->clients[1], bed->rtsp, "PLAY", NULL, second);
    assert_int_equal(sscanf(strstr(reply, ";seq="), ";seq=%u;", &told), 1);
    assert_int_equal(told, (sequence + 1) & 0xffff);
    while (bed->key_frame_demands == 0) // one was asked for just before, for the first client
        client_turn(&bed->clients[0]);
    assert_int_equal(client_status(&bed->clients[1], bed->rtsp, "PLAY", second), 200);
    client_turn(&bed->clients[0]);
    assert_int_equal(bed->key_frame_demands, 1); // it has been given one
    rtsp_bed_send_frame(bed->rtsp, 100);
    assert_int_equal(next_sequence(bed, fd, &ssrc), told);
    close(fd);
}

TEST(test_packets_go_while_one_member_plays, set_up, tear_down)
{
    struct multicast_bed *bed = *state;
    int fd = join(groups[0], port);
    g_autofree char *first = play_client(bed, &bed->clients[0]);
    g_autofree char *second = play_client(bed, &bed->clients[1]);
    uint32_t ssrc;

    assert_int_equal(client_status(&bed->clients[0], bed->rtsp, "PAUSE", first), 200);
    assert_int_equal(stream_viewers(bed->rtsp->stream, VIEWER_RTSP), 1);
    rtsp_bed_send_frame(bed->rtsp, 100);
    next_sequence(bed, fd, &ssrc);
    next_sequence(bed, fd, &ssrc);

    assert_int_equal(client_status(&bed->clients[1], bed->rtsp, "PAUSE", second), 200);
    rtsp_bed_send_frame(bed->rtsp, 100);
    client_turn(&bed->clients[0]);
    assert_silent(fd);

    assert_int_equal(client_status(&bed->clients[0], bed->rtsp, "PLAY", first), 200);
    rtsp_bed_send_frame(bed->rtsp, 100);
    next_sequence(bed, fd, &ssrc);
    next_sequence(bed, fd, &ssrc);
    assert_int_equal(client_status(&bed->clients[0], bed->rtsp, "TEARDOWN", first), 200);
    rtsp_bed_send_frame(bed->rtsp, 100);
    client_turn(&bed->clients[1]);
    assert_silent(fd);
    assert_string_not_equal(stream_group(bed->rtsp->stream), "");
    assert_int_equal(client_status(&bed->clients[1], bed->rtsp, "TEARDOWN", second), 200);
    assert_string_equal(stream_group(bed->rtsp->stream), "");
    assert_false(stream_is_watched(bed->rtsp->stream));
    close(fd);
}

TEST(test_who_hangs_up_leaves_the_group, set_up, tear_down)
{
    struct multicast_bed *bed = *state;

    g_free(play_client(bed, &bed->clients[0]));
    shutdown(bed->clients[0].fd, SHUT_RDWR);
    while (*stream_group(bed->rtsp->stream))
        client_turn(&bed->clients[1]);
    assert_false(stream_is_watched(bed->rtsp->stream));
}

static int status_of_setup(struct multicast_bed *bed, const char *path, struct rtsp_client *client)
{
    g_autofree char *url = g_strconcat(rtsp_server_url(bed->rtsp->server), path, NULL);
    g_autofree char *reply = client_ask(client, bed->rtsp, "SETUP", url, MULTICAST);

    return status_of(reply);
}

static void add_stream(struct multicast_bed *bed, const char *path, enum config_role role)
{
    struct stream *stream;

    assert_int_equal(stream_new(path, &payload_h264, 4000, &stream), 0);
    mounts_add(bed->rtsp->mounts, path, stream, role);
    stream_unref(stream);
}

// A group asks nobody who joins it.
TEST(test_what_not_everybody_may_watch_has_no_group, set_up, tear_down)
{
    struct multicast_bed *bed = *state;

    add_stream(bed, "/front/door", CONFIG_ROLE_OPERATOR);
    assert_int_equal(status_of_setup(bed, "/front/door", &bed->clients[0]), 461);
}

static int set_up_unplugged(void **state)
{
    choose_groups();
    g_autofree char *settings = pool("interface = \"not0there\"; }; auth = \"none\"; limits = { ");

    return set_up_with(state, settings);
}

TEST(test_an_interface_that_is_not_there_is_told_of, set_up_unplugged, tear_down)
{
    struct multicast_bed *bed = *state;
    char text[4096] = "";

    catch_stderr();
    assert_int_equal(client_status(&bed->clients[0], bed->rtsp, "SETUP", MULTICAST), 461);
    rewind(caught);
    assert_true(fread(text, 1, sizeof text - 1, caught) > 0);
    release_stderr();
    assert_non_null(strstr(text, " by not0there: No such device, refusing it"));
}

TEST(test_a_reload_with_another_pool_is_for_groups_to_come, set_up, tear_down)
{
    struct multicast_bed *bed = *state;
    _cleanup_(cleanup_config) struct config *config = NULL;
    g_autofree char *first = play_client(bed, &bed->clients[0]);
    g_autofree char *text = g_strdup_printf(
        "rtsp = { port = 0; multicast = { addresses = \"%s\"; }; };", name_of(groups[1]));

    assert_int_equal(config_parse(text, "test.conf", stderr, &config), 0);
    rtsp_server_configure(bed->rtsp->server, config);
    g_autofree char *second = set_up_client(bed, &bed->clients[1]);
    assert_true(g_str_has_prefix(stream_group(bed->rtsp->stream), name_of(groups[0])));
    assert_int_equal(client_status(&bed->clients[0], bed->rtsp, "TEARDOWN", first), 200);
    assert_int_equal(client_status(&bed->clients[1], bed->rtsp, "TEARDOWN", second), 200);
    g_autofree char *third = ask_for_group(bed, &bed->clients[1]);
    assert_non_null(strstr(third, name_of(groups[1])));
}

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

    for (; bed->members[member].reported_ns <= after_ns; g_main_context_iteration(NULL, FALSE))
        assert_true(clock_now_ns() - begin_ns < PATIENCE_NS);
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
