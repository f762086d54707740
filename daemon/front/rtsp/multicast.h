// Multicast: a stream that somebody asked for by it is sent once, by one viewer, to a group of
// addresses and ports that the pool of the configuration had free. Its sessions are members of the
// group: the first opens it and the last closes it, and packets go while one of them plays.
//
// Anybody may report to a group and ask for key frames there. Only what comes from the address of a
// member counts, and for members of that address alone. Main loop only.
#pragma once

#include "config/config.h"
#include "daemon/front/account/peer.h"
#include "daemon/front/poller.h"
#include "daemon/front/stream/viewer.h"

#include <netinet/in.h>

struct multicast;
struct multicast_group;

// A session's part of a group. Embedded in it; its fields but `playing` are the session's to fill.
struct multicast_member {
    struct peer peer;             // whom it is of
    void (*heard)(void *context); // a report came from there
    void *context;
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
// Groups that there are stay as they are.
void multicast_configure(struct multicast *multicast, const struct config *config);
// Whether there is a pool.
bool multicast_is_offered(const struct multicast *multicast);

// Makes `member` (borrowed until multicast_leave()) one of the group of `stream`, which is opened
// where there is none. -ENOSPC: all groups are taken; -ENODEV: the interface is not there; or what
// the sockets say; told in the log.
int multicast_join(struct multicast *multicast, struct stream *stream,
                   struct multicast_member *member, struct multicast_group **ret_group);
void multicast_leave(struct multicast_group *group, struct multicast_member *member);
// A key frame is asked for, for the member alone: the others go on.
void multicast_play(struct multicast_group *group, struct multicast_member *member);
void multicast_pause(struct multicast_group *group, struct multicast_member *member);

// Borrowed.
struct viewer *multicast_viewer(const struct multicast_group *group);
const struct multicast_place *multicast_group_place(const struct multicast_group *group);
// Of the stream of that path; borrowed. NULL: there is no group for it.
const struct multicast_place *multicast_find_place(const struct multicast *multicast,
                                                   const char *stream_path);
