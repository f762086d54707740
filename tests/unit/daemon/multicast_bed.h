// Multicast on the loopback device: groups of this process's own, which no other test that runs at
// the same time sends to.
#pragma once

#include "tests/unit/daemon/rtsp_bed.h"

#include "daemon/front/rtsp/multicast.h"

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

static inline void choose_groups(void)
{
    unsigned number = (unsigned)getpid() & 0x7fff;

    groups[0].s_addr = htonl(0xefff0000 | number << 1);
    groups[1].s_addr = htonl(0xefff0000 | number << 1 | 1);
    port = (uint16_t)(20000 + number % 10000 * 4);
}

static inline char *name_of(struct in_addr group)
{
    static char names[2][INET_ADDRSTRLEN];
    char *name = names[group.s_addr == groups[1].s_addr];

    inet_ntop(AF_INET, &group, name, INET_ADDRSTRLEN);
    return name;
}

static inline void on_demand(void *context, struct stream *stream, bool key_frame)
{
    (void)stream;
    ((struct multicast_bed *)context)->key_frame_demands += key_frame;
}

static inline int set_up_with(void **state, const char *settings)
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

static inline char *pool(const char *more)
{
    return g_strdup_printf("multicast = { addresses = \"%s-%s\"; port = %u; ttl = %d; %s };",
                           name_of(groups[0]), name_of(groups[1]), port, TTL, more);
}

static inline int set_up(void **state)
{
    choose_groups();
    g_autofree char *settings = pool("");

    return set_up_with(state, settings);
}

static inline int tear_down(void **state)
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
static inline int join(struct in_addr group, uint16_t at)
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
static inline size_t receive(struct multicast_bed *bed, int fd, uint8_t bytes[2048])
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

static inline void assert_silent(int fd)
{
    uint8_t byte;

    assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
}

// Returns the reply to SETUP (g_free).
static inline char *ask_for_group(struct multicast_bed *bed, struct rtsp_client *client)
{
    char *reply = client_ask(client, bed->rtsp, "SETUP", NULL, MULTICAST);

    assert_int_equal(status_of(reply), 200);
    return reply;
}

// The line "Session: …" of a reply (g_free).
static inline char *session_of(const char *reply)
{
    const char *session = strstr(reply, "Session: ");

    assert_non_null(session);
    return g_strdup_printf("%.*s\r\n", (int)strcspn(session, ";\r"), session);
}

static inline char *set_up_client(struct multicast_bed *bed, struct rtsp_client *client)
{
    g_autofree char *reply = ask_for_group(bed, client);

    return session_of(reply);
}

static inline char *play_client(struct multicast_bed *bed, struct rtsp_client *client)
{
    char *session = set_up_client(bed, client);

    assert_int_equal(client_status(client, bed->rtsp, "PLAY", session), 200);
    return session;
}

// The number and the source of the next packet.
static inline unsigned next_sequence(struct multicast_bed *bed, int fd, uint32_t *ret_ssrc)
{
    uint8_t bytes[2048];

    assert_true(receive(bed, fd, bytes) > 12);
    *ret_ssrc = rtp_get32(bytes + 8);
    return (unsigned)bytes[2] << 8 | bytes[3];
}
