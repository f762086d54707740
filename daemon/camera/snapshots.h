// JPEGs of a camera's views for who asks for them, made in a thread of their own that runs behind
// the lane and the encoders.
//
// Of each view one picture waits at most, and the newest takes its place. One JPEG is made at a
// time, so all of them cost a core at most. One that the link does not take is lost: the front asks
// again.
#pragma once

#include "capture/frame.h"
#include "config/config.h"

struct link;
struct snapshots;

// `camera` is its name, for the log. Both outlive the snapshots. -ENOMEM, -EAGAIN: no thread.
int snapshots_new(struct link *link, const char *camera, struct snapshots **ret_snapshots);
// Waits for the JPEG under way. Takes NULL.
void snapshots_free(struct snapshots *snapshots);

// Once a second, one thread. How many looks in a row have found pictures that wait and none that
// was made.
unsigned snapshots_look(struct snapshots *snapshots);

// The snapshots that are wanted of a view. Embedded; starts out as {0}.
struct snapshot_wishes {
    atomic_uint wanted; // bits of the scales
    // Lane thread only.
    unsigned served;  // those that are to be made of this frame
    int64_t until_ns; // the view stays active: who wants snapshots often wants another soon
};

// Any thread. One is wanted, of a scale below LINK_SCALES.
void snapshot_wishes_add(struct snapshot_wishes *wishes, unsigned scale);
// Lane thread. A frame begins; whether the view is active for snapshots. `goes_on`: it was active
// in the frame before. Where pictures of `view` are compared with those before them, nothing moves
// in the first, so it is no snapshot.
bool snapshot_wishes_begin(struct snapshot_wishes *wishes, const struct config_view *view,
                           bool goes_on);
// Lane thread. Whether the picture of the frame that has begun is to be computed for snapshots. In
// the frames between two of them this is so only where pictures are compared.
bool snapshot_wishes_compute(const struct snapshot_wishes *wishes, const struct config_view *view);
// Lane thread. Has the JPEGs made of the frame's picture and sent to the front. `view` is the
// view's number; the picture is referenced. While one of this view is under way they stay wanted,
// so that no more than one picture is held besides those that wait for an encoder.
void snapshot_wishes_serve(struct snapshot_wishes *wishes, struct snapshots *snapshots,
                           uint32_t view, struct frame *picture, int quality);
