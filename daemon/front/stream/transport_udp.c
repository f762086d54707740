// Each packet is a datagram, and a system call sends as many as possible: by sendmmsg(2), and where
// the kernel has UDP segmentation offload (4.18), packets of one size as one long datagram, which
// the kernel cuts into packets.

#include "daemon/front/stream/transport_udp.h"

#include <errno.h>
#include <string.h>

// Packets a system call, three parts each, and of them those in one long datagram (64 kB at most).
#define BATCH 64
#define PARTS 3
#define SEGMENTS_MAX 44
// Room for the control message that names the address to send from (ip(7), ipv6(7)).
#define SOURCE_SPACE CMSG_SPACE(sizeof(struct in6_pktinfo))

struct udp {
    struct transport transport;
    struct udp_sockets *sockets; // borrowed
    struct udp_peer peer;
    char source[SOURCE_SPACE]; // control message
    size_t source_size;        // 0: none
    bool segments;             // the kernel cuts datagrams to it apart
};

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

        if (next > size) {
            break;
        }
        length++;
        if (next < size) {
            break;
        }
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

    *message = (struct msghdr){.msg_name = &udp->peer.rtp,
                               .msg_namelen = udp_address_size(&udp->peer.rtp),
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
    int sent =
        sendmmsg(udp_sockets_rtp(udp->sockets), batch.messages, batch.message_count, MSG_NOSIGNAL);
    if (sent < 0) {
        return -errno;
    }
    for (int i = 0; i < sent; i++) {
        packets += (int)batch.packets[i];
    }
    return packets;
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
            udp_sockets_wait(udp->sockets, &udp->peer);
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
    const struct msghdr message = {.msg_name = &udp->peer.rtcp,
                                   .msg_namelen = udp_address_size(&udp->peer.rtcp),
                                   .msg_iov = &part,
                                   .msg_iovlen = 1,
                                   .msg_control = udp->source,
                                   .msg_controllen = udp->source_size};

    sendmsg(udp_sockets_rtcp(udp->sockets), &message, MSG_NOSIGNAL);
}

static void free_udp(struct transport *transport)
{
    struct udp *udp = (struct udp *)transport;

    udp_sockets_remove(udp->sockets, &udp->peer);
    g_free(udp);
}

static const struct transport_ops operations = {
    .send = send_packets,
    .send_rtcp = send_rtcp,
    .free = free_udp,
};

static void on_room(struct udp_peer *peer)
{
    struct udp *udp = (struct udp *)((char *)peer - offsetof(struct udp, peer));

    udp->transport.writable(udp->transport.context);
}

int transport_udp_new(struct udp_sockets *sockets, const struct sockaddr_storage *source,
                      const struct sockaddr_storage *address, uint16_t port, uint16_t rtcp_port,
                      udp_report_handler *take_rtcp, void *context,
                      struct transport **ret_transport)
{
    struct udp *udp = g_new0(struct udp, 1);

    udp->transport.ops = &operations;
    udp->sockets = sockets;
    udp->segments = udp_sockets_has_segments(sockets);
    udp->peer.rtp = udp->peer.rtcp = *address;
    udp_address_set_port(&udp->peer.rtp, port);
    udp_address_set_port(&udp->peer.rtcp, rtcp_port);
    udp->peer.take_rtcp = take_rtcp;
    udp->peer.context = context;
    udp->peer.writable = on_room;
    if (source) {
        set_source(udp, source);
    }
    int r = udp_sockets_add(sockets, &udp->peer);
    if (r < 0) {
        g_free(udp);
        return r;
    }
    *ret_transport = &udp->transport;
    return 0;
}
