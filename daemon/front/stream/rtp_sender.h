// Sends a stream to one viewer, or to a group of them, by RTP: reads it, and gives each unit's
// packets to a transport, with the numbers of RTP.
//
// Sequence numbers and time stamps continue when the reader moves to a newer key frame, and when
// the camera process is replaced. Main loop only.
#pragma once

#include "daemon/front/stream/stream.h"
#include "daemon/front/stream/transport.h"

struct rtp_sender;

// Takes over `transport`, also when it fails. The stream is watched from now on, held until
// rtp_sender_play(). `broken` is called when the transport fails; it may free the sender. NULL: it
// never does (UDP). 0 or -ENOMEM.
int rtp_sender_new(struct stream *stream, struct transport *transport,
                   void (*broken)(void *context), void *context, struct rtp_sender **ret_sender);
// Says BYE. Takes NULL.
void rtp_sender_free(struct rtp_sender *sender);

// Goes on with the next key frame.
void rtp_sender_play(struct rtp_sender *sender);
void rtp_sender_pause(struct rtp_sender *sender);
bool rtp_sender_is_playing(const struct rtp_sender *sender);

uint32_t rtp_sender_ssrc(const struct rtp_sender *sender);
// The sequence number of the next packet, and the RTP time of this moment.
void rtp_sender_position(const struct rtp_sender *sender, uint16_t *ret_sequence,
                         uint32_t *ret_timestamp);

// Takes RTCP from the viewer. Returns whether it shows that the viewer is alive. A BYE (RFC 3550,
// section 6.6) does not, and does not end anything either, because anybody could send it in
// another's name.
bool rtp_sender_take_rtcp(struct rtp_sender *sender, const uint8_t *bytes, size_t size);
// To be called about once a second: sends the reports that are due.
void rtp_sender_tick(struct rtp_sender *sender, int64_t now_ns);
// As reader_stalled_ns().
int64_t rtp_sender_stalled_ns(const struct rtp_sender *sender);
