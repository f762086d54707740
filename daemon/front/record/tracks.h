// The views that are recorded, each a track: a reader of the view's ring that passes the units on
// to the recorder, and the motion and the pictures that belong to them.
//
// What the recorder does not take waits in the ring, where it costs no viewer anything. Units that
// the ring has dropped meanwhile are lost: the next one's number tells how many, and it is a key
// frame. A track counts as watched, so that its view is encoded, but not as a viewer. While there
// is no recorder nothing is read. Main loop only.
#pragma once

#include "daemon/front/events/regions.h"
#include "daemon/front/record/recorder.h"
#include "daemon/front/stream/stream.h"

struct tracks;

// `recorder` outlives it; its events are to be passed on to tracks_connect(), tracks_drain() and
// tracks_note_clip().
struct tracks *tracks_new(struct recorder *recorder);
// Takes NULL.
void tracks_free(struct tracks *tracks);

// Goes over to what the cameras of `config` say. `streams` has the one of each camera's recorded
// view (config_record_view()). A view that goes on with its stream goes on without a gap.
void tracks_configure(struct tracks *tracks, const struct config *config,
                      struct stream *const *streams);
// Ends all of them: nothing is watched any more.
void tracks_stop(struct tracks *tracks);

// A recorder is there and knows nothing: tells it of the tracks, and begins with key frames.
void tracks_connect(struct tracks *tracks);
// The recorder takes more again.
void tracks_drain(struct tracks *tracks);
// A clip began, ended or has a picture; one that began without any is given one of now.
void tracks_note_clip(struct tracks *tracks, const struct record_clip *clip);

// Motion began or ended. The recorder hears of it if the region's motion is recorded.
void tracks_note_motion(struct tracks *tracks, const struct motion_event *event);
// How much moves now in the regions of a camera: where it is more than in any picture of the event,
// a picture is taken, at most two a second.
void tracks_note_shares(struct tracks *tracks, const struct regions *regions);

// The number of a camera's track; 0: it is not recorded.
uint32_t tracks_find(const struct tracks *tracks, const char *camera);
// The newest clip of a camera that is being written, if it is of motion in that region; 0: none.
uint64_t tracks_open_clip(const struct tracks *tracks, const char *camera, const char *region);
