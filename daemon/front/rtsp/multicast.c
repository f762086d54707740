#include "daemon/front/rtsp/multicast.h"

#include "config/multicast_range.h"
#include "daemon/common/log.h"
#include "daemon/common/log_limit.h"
#include "daemon/front/stream/transport_udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>

struct multicast {
    struct poller *poller; // borrowed
    struct multicast_range range;
    int port, ttl;
    char interface[IFNAMSIZ];   // "": by `address`
    struct in_addr address;     // that the server listens on; INADDR_ANY: all, or one of IPv6
    GPtrArray *groups;          // borrowed: a group lives as long as it has members
    int told;                   // why no group could be opened, as last logged; 0: not logged
    struct log_limit log_limit; // of the lines about groups
};

struct multicast_group {
    struct multicast *multicast; // borrowed
    struct stream *stream;       // the sender holds the reference
    struct multicast_place place;
    struct udp_sockets *sockets; // owned
    struct rtp_sender *sender;   // owned
    GPtrArray *members;          // borrowed struct multicast_member
};

void multicast_configure(struct multicast *multicast, const struct config *config)
{
    const struct config_multicast *settings = &config->rtsp.multicast;
    const char *address =
        config_is_loopback(config->rtsp.address) ? "127.0.0.1" : config->rtsp.address;

    multicast_range_parse(settings->addresses, &multicast->range); // the schema's rule has
    multicast->range.count = MIN(multicast->range.count, CONFIG_MULTICAST_MAX);
    multicast->port = settings->port;
    multicast->ttl = settings->ttl;
    g_strlcpy(multicast->interface, settings->interface, sizeof multicast->interface);
    multicast->address.s_addr = INADDR_ANY;
    inet_pton(AF_INET, address, &multicast->address);
}

struct multicast *multicast_new(struct poller *poller, const struct config *config)
{
    struct multicast *multicast = g_new0(struct multicast, 1);

    multicast->poller = poller;
    multicast->groups = g_ptr_array_new();
    multicast_configure(multicast, config);
    return multicast;
}

void multicast_free(struct multicast *multicast)
{
    if (multicast) {
        g_ptr_array_unref(multicast->groups);
        g_free(multicast);
    }
}

bool multicast_is_offered(const struct multicast *multicast)
{
    return multicast->range.count > 0;
}

// Finds the interface of that name, by which packets leave, and its address, from which they come.
static int find_named(const char *name, struct ip_mreqn *group)
{
    _cleanup_(cleanup_close) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    struct ifreq request = {0};

    g_strlcpy(request.ifr_name, name, sizeof request.ifr_name);
    if (fd < 0 || ioctl(fd, SIOCGIFADDR, &request) < 0)
        return -errno;
    group->imr_address = ((const struct sockaddr_in *)&request.ifr_addr)->sin_addr;
    group->imr_ifindex = (int)if_nametoindex(name);
    return 0;
}

// Finds the interface by which packets leave: the configured one, else that of the server's
// address. With neither, `group` stays all zeros and the kernel's routes decide.
static int find_interface(const struct multicast *multicast, struct ip_mreqn *group)
{
    group->imr_address = multicast->address;
    return *multicast->interface ? find_named(multicast->interface, group) : 0;
}

static bool is_taken(const struct multicast *multicast, const char *address)
{
    for (guint i = 0; i < multicast->groups->len; i++) {
        const struct multicast_group *group = g_ptr_array_index(multicast->groups, i);

        if (strcmp(group->place.address, address) == 0)
            return true;
    }
    return false;
}

// Chooses the first free address, with its ports. -ENOSPC: none is free.
static int choose_place(const struct multicast *multicast, struct multicast_place *place)
{
    for (uint32_t i = 0; i < multicast->range.count; i++) {
        const struct in_addr address = {htonl(multicast->range.first + i)};

        inet_ntop(AF_INET, &address, place->address, sizeof place->address);
        if (!is_taken(multicast, place->address)) {
            place->port = (uint16_t)((uint32_t)multicast->port + 2 * i);
            place->ttl = multicast->ttl;
            return 0;
        }
    }
    return -ENOSPC;
}

// Whether a packet is our own: what is sent to the group also comes back.
static bool is_own(const struct multicast_group *group, const uint8_t *bytes, size_t size)
{
    return size >= 8 && rtp_get32(bytes + 4) == rtp_sender_ssrc(group->sender);
}

static bool is_from(const struct multicast_member *member, const struct peer *peer)
{
    return memcmp(&member->peer, peer, sizeof *peer) == 0;
}

static bool has_member(const struct multicast_group *group, const struct peer *peer)
{
    for (guint i = 0; i < group->members->len; i++) {
        if (is_from(g_ptr_array_index(group->members, i), peer))
            return true;
    }
    return false;
}

static void on_rtcp(void *context, const struct sockaddr *from, const uint8_t *bytes, size_t size)
{
    struct multicast_group *group = context;
    struct peer peer = peer_of(from);

    if (is_own(group, bytes, size) || !has_member(group, &peer) ||
        !rtp_sender_take_rtcp(group->sender, bytes, size)) {
        return;
    }
    for (guint i = 0; i < group->members->len; i++) {
        struct multicast_member *member = g_ptr_array_index(group->members, i);

        if (is_from(member, &peer))
            member->reported_ns = clock_now_ns();
    }
}

// Opens the sockets and makes the sender that uses them.
static int open_group(struct multicast_group *group)
{
    const struct multicast *multicast = group->multicast;
    const struct multicast_place *place = &group->place;
    struct ip_mreqn membership = {0};
    struct sockaddr_in to = {.sin_family = AF_INET};
    struct sockaddr_storage address = {0};
    struct transport *transport;
    int r = find_interface(multicast, &membership);

    inet_pton(AF_INET, place->address, &to.sin_addr);
    membership.imr_multiaddr = to.sin_addr;
    memcpy(&address, &to, sizeof to);
    r = r < 0 ? r
              : udp_sockets_new_group(multicast->poller, &membership, place->port, place->ttl,
                                      &group->sockets);
    r = r < 0 ? r
              : transport_udp_new(group->sockets, NULL, &address, place->port, place->port + 1,
                                  on_rtcp, group, &transport);
    return r < 0 ? r : rtp_sender_new(group->stream, transport, NULL, NULL, &group->sender);
}

static void free_group(struct multicast_group *group)
{
    rtp_sender_free(group->sender);
    udp_sockets_free(group->sockets);
    g_ptr_array_unref(group->members);
    g_free(group);
}

// Logs a failure once until a group is opened or closed, because clients ask again and again.
static void log_failure(struct multicast *multicast, const struct multicast_group *group, int r)
{
    const char *path = stream_path(group->stream);
    char suffix[LOG_LIMIT_SUFFIX_SIZE];

    if (r == multicast->told)
        return;
    multicast->told = r;
    if (!log_limit_line(&multicast->log_limit, clock_now_ns(), suffix))
        return;
    if (r == -ENOSPC) {
        log_warning("%s: all %u addresses of rtsp.multicast are in use, refusing multicast%s", path,
                    multicast->range.count, suffix);
    } else {
        log_warning("%s: no multicast to %s%s%s: %s, refusing it%s", path, group->place.address,
                    *multicast->interface ? " by " : "", multicast->interface, strerror(-r),
                    suffix);
    }
}

static int new_group(struct multicast *multicast, struct stream *stream,
                     struct multicast_group **ret_group)
{
    struct multicast_group *group = g_new0(struct multicast_group, 1);
    char suffix[LOG_LIMIT_SUFFIX_SIZE], name[sizeof group->place.address + 6];

    group->multicast = multicast;
    group->stream = stream;
    group->members = g_ptr_array_new();
    int r = choose_place(multicast, &group->place);
    r = r < 0 ? r : open_group(group);
    if (r < 0) {
        log_failure(multicast, group, r);
        free_group(group);
        return r;
    }
    g_ptr_array_add(multicast->groups, group);
    g_snprintf(name, sizeof name, "%s:%u", group->place.address, group->place.port);
    stream_set_group(stream, name);
    multicast->told = 0;
    if (log_limit_line(&multicast->log_limit, clock_now_ns(), suffix))
        log_info("%s: sending it by multicast to %s%s", stream_path(stream), name, suffix);
    *ret_group = group;
    return 0;
}

static struct multicast_group *find_group(const struct multicast *multicast,
                                          const struct stream *stream)
{
    for (guint i = 0; i < multicast->groups->len; i++) {
        struct multicast_group *group = g_ptr_array_index(multicast->groups, i);

        if (group->stream == stream)
            return group;
    }
    return NULL;
}

int multicast_join(struct multicast *multicast, struct stream *stream,
                   struct multicast_member *member, struct multicast_group **ret_group)
{
    struct multicast_group *group = find_group(multicast, stream);
    int r = group ? 0 : new_group(multicast, stream, &group);

    if (r == 0) {
        g_ptr_array_add(group->members, member);
        *ret_group = group;
    }
    return r;
}

void multicast_leave(struct multicast_group *group, struct multicast_member *member)
{
    char suffix[LOG_LIMIT_SUFFIX_SIZE];

    multicast_pause(group, member);
    g_ptr_array_remove(group->members, member);
    if (group->members->len == 0) {
        if (log_limit_line(&group->multicast->log_limit, clock_now_ns(), suffix)) {
            log_info("%s: nobody is left in the group of %s:%u, closing it%s",
                     stream_path(group->stream), group->place.address, group->place.port, suffix);
        }
        g_ptr_array_remove(group->multicast->groups, group);
        stream_set_group(group->stream, "");
        group->multicast->told = 0;
        free_group(group);
    }
}

void multicast_play(struct multicast_group *group, struct multicast_member *member)
{
    if (!rtp_sender_is_playing(group->sender))
        rtp_sender_play(group->sender);
    else if (!member->playing)
        stream_want_key_frame(group->stream, DEMAND_BEGIN);
    member->playing = true;
}

void multicast_pause(struct multicast_group *group, struct multicast_member *member)
{
    bool playing = false;

    member->playing = false;
    for (guint i = 0; i < group->members->len; i++)
        playing |= ((const struct multicast_member *)g_ptr_array_index(group->members, i))->playing;
    if (!playing)
        rtp_sender_pause(group->sender);
}

struct rtp_sender *multicast_sender(const struct multicast_group *group)
{
    return group->sender;
}

const struct multicast_place *multicast_group_place(const struct multicast_group *group)
{
    return &group->place;
}
