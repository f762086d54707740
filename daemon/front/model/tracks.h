// The views that are recorded, each a track: a reader of the view's ring that passes the units on
// to the recorder, what of them is to be recorded, and the pictures that belong to them.
//
// All that is to be recorded is said as a whole, at each change and once a second. Units that the
// recorder does not take yet wait in the ring, where they cost no viewer anything. Units that the
// ring has dropped meanwhile are lost: the next one's number tells how many, and it is a key frame.
// A track counts as watched, so that its view is encoded, but not as a viewer. While there is no
// recorder nothing is read. A camera whose record.mode is "off" has a track only while a clip that
// was asked for lasts. Main loop only.
#pragma once

#include "daemon/front/events/regions.h"
#include "daemon/front/stream/stream.h"
#include "daemon/front/supervise/recorder.h"

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
// A clip began, ended or has a picture; one that began without any is given one of now. Whether it
// has ended: its file is whole.
bool tracks_note_clip(struct tracks *tracks, const struct record_clip *clip);

// Motion began or ended. The recorder hears of it if the region's motion is recorded.
void tracks_note_motion(struct tracks *tracks, const struct motion_event *event);
// How much moves now in the regions of a camera: where it is more than in any picture of the event,
// a picture is taken, at most two a second. A track that is new learns of what moves already.
void tracks_note_regions(struct tracks *tracks, const struct regions *regions);
// The recorder has followed this trigger, of the track with this number.
void tracks_note_trigger(struct tracks *tracks, uint32_t number,
                         const struct record_trigger *trigger);

// Waits for clips that begin or end.
struct clip_waiter {
    struct tracks *tracks;       // borrowed; NULL: it does not wait
    void (*wake)(void *context); // called once for each
    void *context;
};

// `waiter` may not move until tracks_leave().
void tracks_wait(struct tracks *tracks, struct clip_waiter *waiter);
// Also takes one that does not wait.
void tracks_leave(struct clip_waiter *waiter);

// Has a clip begin with the camera's next key frame, or not begin, as `trigger` says, also where
// record.mode is "off". False: there is no such camera.
bool tracks_begin_clip(struct tracks *tracks, const char *camera,
                       const struct record_trigger *trigger);
// The number of the camera's track, which the recorder can be asked to prolong or stop a clip of;
// 0: it has none, or was asked to begin a clip that has not begun yet.
uint32_t tracks_find(const struct tracks *tracks, const char *camera);
// The newest clip of a camera that is being written; 0: none.
uint64_t tracks_newest_clip(const struct tracks *tracks, const char *camera);
// The newest clip of a camera that is being written, if it is of motion in that region; 0: none.
uint64_t tracks_open_clip(const struct tracks *tracks, const char *camera, const char *region);
