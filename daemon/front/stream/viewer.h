// Somebody who watches a stream by RTP: a cursor into its ring, a transport, and the numbers of
// RTP.
//
// It has no queue: what its transport does not take waits in the stream's ring, until the viewer is
// moved to a newer key frame. Sequence numbers and time stamps continue over such a move, and over
// the replacement of a camera process. Main loop only.
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
// There is one more receiver (multicast): asks for a key frame, and the other receivers lose
// nothing.
void viewer_welcome(struct viewer *viewer);
void viewer_pause(struct viewer *viewer);
bool viewer_is_playing(const struct viewer *viewer);

uint32_t viewer_ssrc(const struct viewer *viewer);
// The sequence number of the next packet, and the RTP time of this moment.
void viewer_position(const struct viewer *viewer, uint16_t *ret_sequence, uint32_t *ret_timestamp);

// Takes RTCP from the viewer. Returns whether it shows that the viewer is alive. A BYE (RFC 3550,
// section 6.6) does not, and does not end anything either, because anybody could send it in
// another's name.
bool viewer_take_rtcp(struct viewer *viewer, const uint8_t *bytes, size_t size);
// To be called about once a second: sends the reports that are due.
void viewer_tick(struct viewer *viewer, int64_t now_ns);
// When the viewer counts as stalled, if its transport takes nothing of what waits until then.
// INT64_MAX: nothing waits.
int64_t viewer_stalled_ns(const struct viewer *viewer);
