// The front's side of a view: what the camera process encoded, handed to every outlet.
//
// A stream outlives the camera process that feeds it: it keeps two key frames of the NO SIGNAL
// slate and plays them in turn while the process is being replaced, so that RTSP sessions go on.
// Frames arrive on the main loop; outlets come and go on the RTSP server's threads. `lock` guards
// everything; demand is always reported on the main loop, without the lock.
#pragma once

#include "daemon/front/outlet.h"
#include "daemon/front/snapshot.h"
#include "daemon/link/messages.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream;

// Called on the main loop when an outlet came or went, and when a key frame is wanted now.
typedef void stream_demand_handler(void *context, struct stream *stream, bool key_frame);

// `path` is "/camera/view"; `bitrate_kbps` as for stream_set_bitrate(). 0 or -ENOMEM.
int stream_new(const char *path, uint32_t bitrate_kbps, struct stream **ret_stream);
struct stream *stream_ref(struct stream *stream);
// Takes NULL. From any thread.
void stream_unref(struct stream *stream);
const char *stream_path(const struct stream *stream);
// What the view is configured for: bounds what may wait in an outlet, to 2 s at twice that rate.
void stream_set_bitrate(struct stream *stream, uint32_t bitrate_kbps);

// Main loop only. Says who answers for the demand; NULL: nobody any more.
void stream_set_demand(struct stream *stream, stream_demand_handler *handler, void *context);
// Main loop only. Takes over `payload` (malloc'd, `size` bytes, a struct link_access_unit followed
// by Annex B bytes) as the next frame. -EBADMSG: too short or not Annex B; it is freed.
int stream_take_access_unit(struct stream *stream, uint8_t *payload, size_t size);
// Main loop only. Takes over `payload` (malloc'd, Annex B) as a slate key frame; the newest two
// are kept. -EBADMSG as above.
int stream_take_slate(struct stream *stream, uint8_t *payload, size_t size);
// Main loop only. The camera process is gone: the slates play, at once and twice a second, until
// the next key frame arrives. The stream does the same by itself when it is watched and no access
// unit came for longer than freshness.h allows (the process hangs).
void stream_interrupt(struct stream *stream);
// Main loop only. What the camera process says about this view.
void stream_set_view_counters(struct stream *stream, uint64_t encoded, uint64_t dropped,
                              const char *encoder);

// From any thread. Feeds `source` from now on, beginning with a key frame; when the camera sends
// none within 400 ms, with the slate. `base_ns` is the base time of its pipeline. 0 or -ENOMEM.
int stream_attach(struct stream *stream, GstAppSrc *source, int64_t base_ns);
void stream_detach(struct stream *stream, GstAppSrc *source);
void stream_set_playing(struct stream *stream, GstAppSrc *source, bool playing);
// From any thread. A frame of `pts_ns` (CLOCK_MONOTONIC) reaches the payloader behind `source` now.
void stream_note_payloaded(struct stream *stream, GstAppSrc *source, int64_t pts_ns);
// From any thread. A viewer joined: it needs a key frame.
void stream_want_key_frame(struct stream *stream);
// From any thread but the main loop's. Waits up to `timeout_ns` (0: not at all) for something to
// answer DESCRIBE with, and tells whether there is. After a wait the next outlet gets the slate
// without giving the camera its 400 ms.
bool stream_wait_servable(struct stream *stream, int64_t timeout_ns);
// From any thread. Both slate key frames are there.
bool stream_has_slates(struct stream *stream);
bool stream_is_watched(struct stream *stream);

// From any thread. Fills the counters, bitrate and histograms of `mount`.
void stream_describe(struct stream *stream, struct snapshot_mount *mount);
