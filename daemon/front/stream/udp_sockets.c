#include "daemon/front/stream/udp_sockets.h"

#include "daemon/front/passed_sockets.h"

#include <errno.h>
#include <string.h>

#define PAIR_ATTEMPTS 64
#define SEND_BUFFER_BYTES (4 << 20)
// How many datagrams are received in one turn of the main loop.
#define BATCH 64

struct udp_sockets {
    struct poller *poller; // borrowed
    struct poller_watch rtp, rtcp;
    uint16_t port;
    bool segments; // the kernel cuts datagrams apart
    bool is_group;
    GHashTable *peers; // both struct sockaddr_storage of a peer to its struct udp_peer, borrowed
    GQueue waiting;    // borrowed struct udp_peer
};

socklen_t udp_address_size(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                          : sizeof(struct sockaddr_in);
}

static in_port_t *port_of(struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 ? &((struct sockaddr_in6 *)address)->sin6_port
                                          : &((struct sockaddr_in *)address)->sin_port;
}

void udp_address_set_port(struct sockaddr_storage *address, uint16_t port)
{
    *port_of(address) = htons(port);
}

static guint hash_address(gconstpointer key)
{
    struct sockaddr_storage address = *(const struct sockaddr_storage *)key;

    if (address.ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&address;
        uint32_t last;

        memcpy(&last, six->sin6_addr.s6_addr + 12, sizeof last);
        return last * 31 + six->sin6_port;
    }
    return ((const struct sockaddr_in *)&address)->sin_addr.s_addr * 31 + *port_of(&address);
}

static gboolean equal_addresses(gconstpointer left, gconstpointer right)
{
    struct sockaddr_storage a = *(const struct sockaddr_storage *)left;
    struct sockaddr_storage b = *(const struct sockaddr_storage *)right;

    if (a.ss_family != b.ss_family || *port_of(&a) != *port_of(&b)) {
        return FALSE;
    }
    return a.ss_family == AF_INET6
               ? memcmp(&((struct sockaddr_in6 *)&a)->sin6_addr,
                        &((struct sockaddr_in6 *)&b)->sin6_addr, sizeof(struct in6_addr)) == 0
               : ((struct sockaddr_in *)&a)->sin_addr.s_addr ==
                     ((struct sockaddr_in *)&b)->sin_addr.s_addr;
}

// Drops what comes to the RTP port: clients send it only to open a way through a firewall.
static void drain(int fd)
{
    uint8_t bytes[64];

    for (int i = 0; i < BATCH && recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) >= 0; i++) {
    }
}

// The peer that a report from `from` belongs to; NULL: none.
static const struct udp_peer *find_peer(const struct udp_sockets *sockets,
                                        const struct sockaddr_storage *from)
{
    GHashTableIter iterator;
    gpointer found = NULL;

    if (sockets->is_group) {
        g_hash_table_iter_init(&iterator, sockets->peers);
        g_hash_table_iter_next(&iterator, NULL, &found);
        return found;
    }
    const struct udp_peer *peer = g_hash_table_lookup(sockets->peers, from);
    return peer && equal_addresses(&peer->rtcp, from) ? peer : NULL;
}

static void receive_rtcp(struct udp_sockets *sockets)
{
    uint8_t bytes[1500];

    for (int i = 0; i < BATCH; i++) {
        struct sockaddr_storage from = {0};
        socklen_t from_size = sizeof from;
        ssize_t size = recvfrom(sockets->rtcp.fd, bytes, sizeof bytes, MSG_DONTWAIT,
                                (struct sockaddr *)&from, &from_size);

        if (size < 0) {
            return;
        }
        const struct udp_peer *peer = find_peer(sockets, &from);
        if (peer) {
            peer->take_rtcp(peer->context, (const struct sockaddr *)&from, bytes, (size_t)size);
        }
    }
}

// The socket has room again: each peer that waited goes on, and may have to wait again.
static void resume(struct udp_sockets *sockets)
{
    poller_set_events(sockets->poller, &sockets->rtp, EPOLLIN);
    for (guint left = sockets->waiting.length; left > 0 && sockets->waiting.length > 0; left--) {
        struct udp_peer *peer = g_queue_pop_head(&sockets->waiting);

        peer->waits = false;
        peer->writable(peer);
    }
}

static void on_rtp(void *context, uint32_t events)
{
    struct udp_sockets *sockets = context;

    if (events & EPOLLIN) {
        drain(sockets->rtp.fd);
    }
    if (events & EPOLLOUT) {
        resume(sockets);
    }
}

static void on_rtcp(void *context, uint32_t events)
{
    (void)events;
    receive_rtcp(context);
}

// Returns it or -errno.
static int open_socket(int family)
{
    const int no = 0, bytes = SEND_BUFFER_BYTES;
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        return -errno;
    }
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    if (family == AF_INET6) { // serves IPv4 too
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    }
    return fd;
}

// Opens a socket bound to `port` of the address `at`, 0: any. Returns it or -errno.
static int open_port(const struct sockaddr_storage *at, uint16_t port)
{
    struct sockaddr_storage address = *at;
    int fd = open_socket(at->ss_family);

    *port_of(&address) = htons(port);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, udp_address_size(&address)) < 0) {
        int r = -errno;

        close(fd);
        return r;
    }
    return fd;
}

static uint16_t bound_port(int fd)
{
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof address;

    getsockname(fd, (struct sockaddr *)&address, &size);
    return (uint16_t)socket_address_port((const struct sockaddr *)&address);
}

// An even port and the one above it.
static int open_pair(struct udp_sockets *sockets, const struct sockaddr_storage *at)
{
    int r = -EADDRINUSE;

    for (int i = 0; i < PAIR_ATTEMPTS; i++) {
        _cleanup_(cleanup_close) int rtp = open_port(at, 0);
        uint16_t port = rtp < 0 ? 0 : bound_port(rtp);

        if (rtp < 0) {
            return rtp;
        }
        if (port % 2 != 0) {
            continue;
        }
        int rtcp = open_port(at, port + 1);
        if (rtcp >= 0) {
            sockets->port = port;
            sockets->rtp.fd = TAKE_FD(rtp);
            sockets->rtcp.fd = rtcp;
            return 0;
        }
        r = rtcp;
    }
    return r;
}

static int watch(struct udp_sockets *sockets, struct poller_watch *watch_,
                 void (*ready)(void *context, uint32_t events))
{
    watch_->events = EPOLLIN;
    watch_->ready = ready;
    watch_->context = sockets;
    return poller_add(sockets->poller, watch_);
}

// Sends by the interface of the group, at most `ttl` routers far. Sender reports go the same way as
// the stream.
static int send_to_group(int fd, const struct ip_mreqn *group, int ttl)
{
    return setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, group, sizeof *group) < 0 ||
                   setsockopt(fd, IPPROTO_IP, IP_MULTICAST_TTL, &ttl, sizeof ttl) < 0
               ? -errno
               : 0;
}

// Players on this machine use the same port of the group, so it is shared. Bound to the group's
// address, the socket gets nothing else.
static int join(int fd, const struct ip_mreqn *group, uint16_t port)
{
    const struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr = group->imr_multiaddr, .sin_port = htons(port)};
    const int yes = 1;

    return setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) < 0 ||
                   bind(fd, (const struct sockaddr *)&address, sizeof address) < 0 ||
                   setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, group, sizeof *group) < 0
               ? -errno
               : 0;
}

static int open_group(struct udp_sockets *sockets, const struct ip_mreqn *group, uint16_t port,
                      int ttl)
{
    int r;

    sockets->is_group = true;
    sockets->port = port;
    sockets->rtp.fd = open_port(&(struct sockaddr_storage){.ss_family = AF_INET}, 0);
    sockets->rtcp.fd = open_socket(AF_INET);
    if (sockets->rtp.fd < 0 || sockets->rtcp.fd < 0) {
        return MIN(sockets->rtp.fd, sockets->rtcp.fd);
    }
    r = send_to_group(sockets->rtp.fd, group, ttl);
    r = r < 0 ? r : send_to_group(sockets->rtcp.fd, group, ttl);
    return r < 0 ? r : join(sockets->rtcp.fd, group, port + 1);
}

static struct udp_sockets *allocate(struct poller *poller)
{
    struct udp_sockets *sockets = g_new0(struct udp_sockets, 1);

    sockets->poller = poller;
    sockets->rtp.fd = sockets->rtcp.fd = -1;
    sockets->peers = g_hash_table_new(hash_address, equal_addresses);
    g_queue_init(&sockets->waiting);
    return sockets;
}

// Takes over `sockets`, open where `r` is 0, in any case.
static int start(struct udp_sockets *sockets, int r, struct udp_sockets **ret_sockets)
{
    const int none = 0;

    r = r < 0 ? r : watch(sockets, &sockets->rtp, on_rtp);
    r = r < 0 ? r : watch(sockets, &sockets->rtcp, on_rtcp);
    if (r < 0) {
        udp_sockets_free(sockets);
        return r;
    }
    sockets->segments = setsockopt(sockets->rtp.fd, SOL_UDP, UDP_SEGMENT, &none, sizeof none) == 0;
    *ret_sockets = sockets;
    return 0;
}

int udp_sockets_new(struct poller *poller, const struct sockaddr_storage *at,
                    struct udp_sockets **ret_sockets)
{
    struct udp_sockets *sockets = allocate(poller);

    return start(sockets, open_pair(sockets, at), ret_sockets);
}

int udp_sockets_new_group(struct poller *poller, const struct ip_mreqn *group, uint16_t port,
                          int ttl, struct udp_sockets **ret_sockets)
{
    struct udp_sockets *sockets = allocate(poller);

    return start(sockets, open_group(sockets, group, port, ttl), ret_sockets);
}

void udp_sockets_free(struct udp_sockets *sockets)
{
    if (!sockets) {
        return;
    }
    poller_remove(sockets->poller, &sockets->rtp);
    poller_remove(sockets->poller, &sockets->rtcp);
    cleanup_close(&sockets->rtp.fd);
    cleanup_close(&sockets->rtcp.fd);
    g_hash_table_unref(sockets->peers);
    g_free(sockets);
}

uint16_t udp_sockets_port(const struct udp_sockets *sockets)
{
    return sockets->port;
}

int udp_sockets_rtp(const struct udp_sockets *sockets)
{
    return sockets->rtp.fd;
}

int udp_sockets_rtcp(const struct udp_sockets *sockets)
{
    return sockets->rtcp.fd;
}

bool udp_sockets_has_segments(const struct udp_sockets *sockets)
{
    return sockets->segments;
}

int udp_sockets_add(struct udp_sockets *sockets, struct udp_peer *peer)
{
    if (g_hash_table_contains(sockets->peers, &peer->rtp) ||
        g_hash_table_contains(sockets->peers, &peer->rtcp)) {
        return -EADDRINUSE;
    }
    g_hash_table_insert(sockets->peers, &peer->rtp, peer);
    g_hash_table_insert(sockets->peers, &peer->rtcp, peer);
    return 0;
}

void udp_sockets_remove(struct udp_sockets *sockets, struct udp_peer *peer)
{
    g_hash_table_remove(sockets->peers, &peer->rtp);
    g_hash_table_remove(sockets->peers, &peer->rtcp);
    if (peer->waits) {
        g_queue_remove(&sockets->waiting, peer);
    }
}

void udp_sockets_wait(struct udp_sockets *sockets, struct udp_peer *peer)
{
    if (!peer->waits) {
        peer->waits = true;
        g_queue_push_tail(&sockets->waiting, peer);
        poller_set_events(sockets->poller, &sockets->rtp, EPOLLIN | EPOLLOUT);
    }
}
