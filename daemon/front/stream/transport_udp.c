// Each packet is a datagram, and a system call sends as many as possible: by sendmmsg(2), and where
// the kernel has UDP segmentation offload (4.18), packets of one size as one long datagram, which
// the kernel cuts into packets.

#include "daemon/front/stream/transport_udp.h"

#include "config/base.h"

#include <errno.h>
#include <glib.h>
#include <netinet/udp.h>
#include <string.h>

#define PAIR_ATTEMPTS 64
#define SEND_BUFFER_BYTES (4 << 20)
// Packets a system call; datagrams received in one turn of the main loop.
#define BATCH 64
// Parts of a packet, and how many packets may be in one long datagram (64 kB at most).
#define PARTS 3
#define SEGMENTS_MAX 44
// Room for the control message that names the address to send from (ip(7), ipv6(7)).
#define SOURCE_SPACE CMSG_SPACE(sizeof(struct in6_pktinfo))

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103 // linux/udp.h
#endif

struct udp_sockets {
    struct poller *poller; // borrowed
    struct poller_watch rtp, rtcp;
    uint16_t port;
    bool segments; // the kernel cuts datagrams apart
    bool is_group;
    GHashTable *peers; // both addresses of a struct udp to it, borrowed
    GQueue waiting;    // borrowed struct udp, for room in the RTP socket
};

struct udp {
    struct transport transport;
    struct udp_sockets *sockets;  // borrowed
    struct sockaddr_storage rtp;  // where its packets go to
    struct sockaddr_storage rtcp; // where its RTCP comes from and goes to
    udp_report_handler *take_rtcp;
    void *context;
    bool waits;
    char source[SOURCE_SPACE]; // control message
    size_t source_size;        // 0: none
    bool segments;             // the kernel cuts datagrams to it apart
};

static socklen_t address_size(const struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                          : sizeof(struct sockaddr_in);
}

static in_port_t *port_of(struct sockaddr_storage *address)
{
    return address->ss_family == AF_INET6 ? &((struct sockaddr_in6 *)address)->sin6_port
                                          : &((struct sockaddr_in *)address)->sin_port;
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

    if (a.ss_family != b.ss_family || *port_of(&a) != *port_of(&b))
        return FALSE;
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
static const struct udp *find_peer(const struct udp_sockets *sockets,
                                   const struct sockaddr_storage *from)
{
    GHashTableIter iterator;
    gpointer found = NULL;

    if (sockets->is_group) {
        g_hash_table_iter_init(&iterator, sockets->peers);
        g_hash_table_iter_next(&iterator, NULL, &found);
        return found;
    }
    const struct udp *peer = g_hash_table_lookup(sockets->peers, from);
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

        if (size < 0)
            return;
        const struct udp *peer = find_peer(sockets, &from);
        if (peer)
            peer->take_rtcp(peer->context, (const struct sockaddr *)&from, bytes, (size_t)size);
    }
}

// The socket has room again: each peer that waited goes on, and may have to wait again.
static void resume(struct udp_sockets *sockets)
{
    poller_set_events(sockets->poller, &sockets->rtp, EPOLLIN);
    for (guint left = sockets->waiting.length; left > 0 && sockets->waiting.length > 0; left--) {
        struct udp *peer = g_queue_pop_head(&sockets->waiting);

        peer->waits = false;
        peer->transport.writable(peer->transport.context);
    }
}

static void on_rtp(void *context, uint32_t events)
{
    struct udp_sockets *sockets = context;

    if (events & EPOLLIN)
        drain(sockets->rtp.fd);
    if (events & EPOLLOUT)
        resume(sockets);
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

    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    if (family == AF_INET6) // serves IPv4 too
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
    return fd;
}

// Opens a socket bound to `port` of the address `at`, 0: any. Returns it or -errno.
static int open_port(const struct sockaddr_storage *at, uint16_t port)
{
    struct sockaddr_storage address = *at;
    int fd = open_socket(at->ss_family);

    *port_of(&address) = htons(port);
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&address, address_size(&address)) < 0) {
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
    return ntohs(*port_of(&address));
}

// An even port and the one above it.
static int open_pair(struct udp_sockets *sockets, const struct sockaddr_storage *at)
{
    int r = -EADDRINUSE;

    for (int i = 0; i < PAIR_ATTEMPTS; i++) {
        _cleanup_(cleanup_close) int rtp = open_port(at, 0);
        uint16_t port = rtp < 0 ? 0 : bound_port(rtp);

        if (rtp < 0)
            return rtp;
        if (port % 2 != 0)
            continue;
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
    if (sockets->rtp.fd < 0 || sockets->rtcp.fd < 0)
        return MIN(sockets->rtp.fd, sockets->rtcp.fd);
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
    if (!sockets)
        return;
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

// Packets that are being made ready for one system call.
struct batch {
    uint8_t headers[BATCH][RTP_HEADER_SIZE];
    struct iovec parts[BATCH * PARTS];
    struct mmsghdr messages[BATCH];
    unsigned packets[BATCH]; // of each message
    union {
        char bytes[SOURCE_SPACE + CMSG_SPACE(sizeof(uint16_t))];
        struct cmsghdr alignment;
    } controls[BATCH];
    unsigned packet_count, message_count;
};

static size_t packet_size(const struct unit_packet *packet)
{
    return RTP_HEADER_SIZE + packet->head_size + packet->size;
}

// How many packets from `from` on are of one size, the last of which may be shorter.
static unsigned run_length(const struct unit *unit, unsigned from, unsigned most)
{
    size_t size = packet_size(&unit->packets[from]);
    unsigned length = 1;

    while (length < most && from + length < unit->packet_count) {
        size_t next = packet_size(&unit->packets[from + length]);

        if (next > size)
            break;
        length++;
        if (next < size)
            break;
    }
    return length;
}

// Writes a control message. Returns its size.
static size_t write_control(char *bytes, int level, int type, const void *data, size_t size)
{
    const struct cmsghdr header = {
        .cmsg_len = CMSG_LEN(size), .cmsg_level = level, .cmsg_type = type};

    memcpy(bytes, &header, sizeof header);
    memcpy(bytes + CMSG_LEN(0), data, size);
    return CMSG_SPACE(size);
}

static void set_source(struct udp *udp, const struct sockaddr_storage *address)
{
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
    const struct sockaddr_in *four = (const struct sockaddr_in *)address;

    if (address->ss_family == AF_INET6) {
        const struct in6_pktinfo info = {.ipi6_addr = six->sin6_addr,
                                         .ipi6_ifindex = six->sin6_scope_id};

        udp->source_size =
            write_control(udp->source, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof info);
    } else {
        const struct in_pktinfo info = {.ipi_spec_dst = four->sin_addr};

        udp->source_size = write_control(udp->source, IPPROTO_IP, IP_PKTINFO, &info, sizeof info);
    }
}

// Of a datagram that is to be cut into packets of `size` bytes; 0: it is one.
static void add_controls(struct batch *batch, const struct udp *udp, struct msghdr *message,
                         size_t size)
{
    char *bytes = batch->controls[batch->message_count].bytes;
    const uint16_t segment = (uint16_t)size;

    memcpy(bytes, udp->source, udp->source_size);
    message->msg_control = bytes;
    message->msg_controllen = udp->source_size;
    if (segment > 0) {
        message->msg_controllen +=
            write_control(bytes + udp->source_size, SOL_UDP, UDP_SEGMENT, &segment, sizeof segment);
    }
}

// Adds a datagram of `count` packets.
static void add_message(struct batch *batch, struct udp *udp, const struct rtp_header *first,
                        const struct unit *unit, unsigned from, unsigned count)
{
    struct rtp_header header = *first;
    struct iovec *parts = batch->parts + (size_t)batch->packet_count * PARTS;
    struct msghdr *message = &batch->messages[batch->message_count].msg_hdr;

    *message = (struct msghdr){.msg_name = &udp->rtp,
                               .msg_namelen = address_size(&udp->rtp),
                               .msg_iov = parts,
                               .msg_iovlen = (size_t)count * PARTS};
    for (unsigned i = 0; i < count; i++) {
        const struct unit_packet *packet = &unit->packets[from + i];
        uint8_t *bytes = batch->headers[batch->packet_count + i];

        rtp_write_header(&header, from + i + 1 == unit->packet_count, bytes);
        header.sequence++;
        *parts++ = (struct iovec){bytes, RTP_HEADER_SIZE};
        *parts++ = (struct iovec){unit_packet_head(unit, packet), packet->head_size};
        *parts++ = (struct iovec){unit->bytes + packet->offset, packet->size};
    }
    add_controls(batch, udp, message, count > 1 ? packet_size(&unit->packets[from]) : 0);
    batch->packets[batch->message_count++] = count;
    batch->packet_count += count;
}

// Sends a batch from packet `from` on. Returns how many packets went, or -errno.
static int send_batch(struct udp *udp, const struct rtp_header *first, const struct unit *unit,
                      unsigned from)
{
    struct batch batch;
    struct rtp_header header = *first;
    unsigned most = udp->segments ? SEGMENTS_MAX : 1;
    int packets = 0;

    batch.packet_count = batch.message_count = 0;
    while (from + batch.packet_count < unit->packet_count && batch.packet_count < BATCH) {
        unsigned at = from + batch.packet_count;
        unsigned count = run_length(unit, at, MIN(most, BATCH - batch.packet_count));

        add_message(&batch, udp, &header, unit, at, count);
        header.sequence = (uint16_t)(header.sequence + count);
    }
    int sent = sendmmsg(udp->sockets->rtp.fd, batch.messages, batch.message_count, MSG_NOSIGNAL);
    if (sent < 0)
        return -errno;
    for (int i = 0; i < sent; i++)
        packets += (int)batch.packets[i];
    return packets;
}

static void wait_for_room(struct udp *udp)
{
    struct udp_sockets *sockets = udp->sockets;

    if (!udp->waits) {
        udp->waits = true;
        g_queue_push_tail(&sockets->waiting, udp);
        poller_set_events(sockets->poller, &sockets->rtp, EPOLLIN | EPOLLOUT);
    }
}

static int send_packets(struct transport *transport, const struct rtp_header *first,
                        const struct unit *unit, unsigned from)
{
    struct udp *udp = (struct udp *)transport;
    struct rtp_header header = *first;
    unsigned at = from;

    while (at < unit->packet_count) {
        int sent = send_batch(udp, &header, unit, at);

        if (sent == -EAGAIN || sent == -ENOBUFS) {
            wait_for_room(udp);
            break;
        }
        // The route cannot do that: it is encrypted, or has a smaller MTU, which fragments whole
        // datagrams.
        if (udp->segments && (sent == -EIO || sent == -EINVAL || sent == -EMSGSIZE)) {
            udp->segments = false;
            continue;
        }
        // The address has gone from this machine, where the connection has not noticed yet.
        if (udp->source_size > 0 && sent == -EINVAL) {
            udp->source_size = 0;
            continue;
        }
        // A packet that cannot be sent (because a route is gone, say) is lost, as packets on their
        // way are; the session ends when nothing more is heard of its viewer.
        unsigned passed = sent < 0 ? 1 : (unsigned)sent;
        at += passed;
        header.sequence = (uint16_t)(header.sequence + passed);
    }
    return (int)(at - from);
}

static void send_rtcp(struct transport *transport, const uint8_t *bytes, size_t size)
{
    struct udp *udp = (struct udp *)transport;
    struct iovec part = {(void *)bytes, size};
    const struct msghdr message = {.msg_name = &udp->rtcp,
                                   .msg_namelen = address_size(&udp->rtcp),
                                   .msg_iov = &part,
                                   .msg_iovlen = 1,
                                   .msg_control = udp->source,
                                   .msg_controllen = udp->source_size};

    sendmsg(udp->sockets->rtcp.fd, &message, MSG_NOSIGNAL);
}

static void free_udp(struct transport *transport)
{
    struct udp *udp = (struct udp *)transport;

    g_hash_table_remove(udp->sockets->peers, &udp->rtp);
    g_hash_table_remove(udp->sockets->peers, &udp->rtcp);
    if (udp->waits)
        g_queue_remove(&udp->sockets->waiting, udp);
    g_free(udp);
}

static const struct transport_ops operations = {
    .send = send_packets,
    .send_rtcp = send_rtcp,
    .free = free_udp,
};

int transport_udp_new(struct udp_sockets *sockets, const struct sockaddr_storage *source,
                      const struct sockaddr_storage *address, uint16_t port, uint16_t rtcp_port,
                      udp_report_handler *take_rtcp, void *context,
                      struct transport **ret_transport)
{
    struct udp *udp = g_new0(struct udp, 1);

    udp->transport.ops = &operations;
    udp->sockets = sockets;
    udp->segments = sockets->segments;
    udp->rtp = udp->rtcp = *address;
    *port_of(&udp->rtp) = htons(port);
    *port_of(&udp->rtcp) = htons(rtcp_port);
    udp->take_rtcp = take_rtcp;
    udp->context = context;
    if (source)
        set_source(udp, source);
    if (g_hash_table_contains(sockets->peers, &udp->rtp) ||
        g_hash_table_contains(sockets->peers, &udp->rtcp)) {
        g_free(udp);
        return -EADDRINUSE;
    }
    g_hash_table_insert(sockets->peers, &udp->rtp, udp);
    g_hash_table_insert(sockets->peers, &udp->rtcp, udp);
    *ret_transport = &udp->transport;
    return 0;
}
