// Multicast: a stream is sent once for all sessions that ask for it by multicast. One sender sends
// it to a group, an address and ports that were free in the pool of the configuration. The sessions
// are members of the group: the first one opens it and the last one closes it, and packets are sent
// while one of them plays.
//
// Anybody can send reports to a group and ask for key frames there. Only reports from the address
// of a member count, and only for members of that address. Main loop only.
#pragma once

#include "config/config.h"
#include "daemon/common/peer.h"
#include "daemon/front/socket/poller.h"
#include "daemon/front/stream/rtp_sender.h"

#include <netinet/in.h>

struct multicast;
struct multicast_group;

// A session's part of a group. Embedded in it; `peer` is the session's to fill.
struct multicast_member {
    struct peer peer;    // the client that it belongs to
    int64_t reported_ns; // when the last report came from there; 0: none has
    bool playing;
};

// Where a group's packets go.
struct multicast_place {
    char address[INET_ADDRSTRLEN];
    uint16_t port; // of RTP; RTCP's is one more
    int ttl;
};

// `poller` is borrowed.
struct multicast *multicast_new(struct poller *poller, const struct config *config);
// There are no members left. Takes NULL.
void multicast_free(struct multicast *multicast);
// Takes over the configuration for groups to come; existing groups stay as they are.
void multicast_configure(struct multicast *multicast, const struct config *config);
// Whether there is a pool.
bool multicast_is_offered(const struct multicast *multicast);

// Makes `member` (borrowed until multicast_leave()) a member of the group of `stream`, which is
// opened if there is none. -ENOSPC: all groups are in use; -ENODEV: there is no such interface; or
// an error of the sockets. The log tells the reason.
int multicast_join(struct multicast *multicast, struct stream *stream,
                   struct multicast_member *member, struct multicast_group **ret_group);
void multicast_leave(struct multicast_group *group, struct multicast_member *member);
// Begins to play for the member: asks for a key frame for it, while the others go on.
void multicast_play(struct multicast_group *group, struct multicast_member *member);
void multicast_pause(struct multicast_group *group, struct multicast_member *member);

// Borrowed.
struct rtp_sender *multicast_sender(const struct multicast_group *group);
const struct multicast_place *multicast_group_place(const struct multicast_group *group);
