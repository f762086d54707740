// One who watches a stream by RTP: a cursor into its ring, a transport, and RTP's numbers.
//
// It has no queue: what its transport does not take waits in the stream's ring, until the viewer is
// moved to a newer key frame. Sequence numbers and time stamps go on over that and over a camera
// process's replacement. Main loop only.
#pragma once

#include "daemon/front/stream/stream.h"
#include "daemon/front/stream/transport.h"

struct viewer;

// Takes over `transport`, also when it fails. The stream is watched from now on, held until
// viewer_play(). `broken` is called when the transport fails; it may free the viewer. NULL: it
// never does (UDP). 0 or -ENOMEM.
int viewer_new(struct stream *stream, struct transport *transport, void (*broken)(void *context),
               void *context, struct viewer **ret_viewer);
// Says BYE. Takes NULL.
void viewer_free(struct viewer *viewer);

// Goes on with the next key frame.
void viewer_play(struct viewer *viewer);
// One more receives what it sends (multicast): a key frame is asked for, and the others lose
// nothing.
void viewer_welcome(struct viewer *viewer);
void viewer_pause(struct viewer *viewer);
bool viewer_is_playing(const struct viewer *viewer);

uint32_t viewer_ssrc(const struct viewer *viewer);
// The sequence number of the next packet, and the RTP time of this moment.
void viewer_position(const struct viewer *viewer, uint16_t *ret_sequence, uint32_t *ret_timestamp);

// RTCP from the viewer. Returns whether it says that somebody is there: a BYE (RFC 3550, section
// 6.6), which anybody could send in another's name, ends nothing, and keeps nothing alive either.
bool viewer_take_rtcp(struct viewer *viewer, const uint8_t *bytes, size_t size);
// To be called about once a second: sends the reports that are due.
void viewer_tick(struct viewer *viewer, int64_t now_ns);
// When it counts as stalled, if its transport takes nothing until then of what there is to send.
// INT64_MAX: nothing waits.
int64_t viewer_stalled_ns(const struct viewer *viewer);
