// The motion watch of a camera: measures every frame in its regions, and turns what moves into
// events.
//
// Masks are read when frames of a new layout come, which is when a camera is opened. A mask that
// cannot be read then leaves its region without events until the next time.
#pragma once

#include "capture/frame.h"
#include "config/config.h"
#include "daemon/link/messages.h"
#include "kernels/events/meter.h"

#include <stdbool.h>

// The trigger of one region: when motion begins an event, and when that is over.
//
// An event begins when a share of at least `start` of the region's pixels has moved in every frame
// for `duration`, and is over when less than `end` has in every frame for `cooldown`. All times are
// those of the frames, no clock is read; a frame that is older than the one before it begins all
// waiting anew.
struct trigger {
    double start, end; // shares, 0..1
    int64_t duration_ns, cooldown_ns;
    struct link_region region; // as it is now
    int64_t last_ns;           // pts of the last frame
    bool waiting;              // for the duration, or in an event for the cooldown, to pass
    int64_t waiting_ns;        // pts of the frame that began it
    int64_t started_ns;        // of the event: pts of the first moving frame
    float peak_share;          // since then
};

void trigger_init(struct trigger *trigger, const struct config_region *settings);
// Other settings from the next frame on. An event under way goes on.
void trigger_set(struct trigger *trigger, const struct config_region *settings);

// A frame: fills in the region and, when that begins or ends an event, *ret_event; true if so.
bool trigger_step(struct trigger *trigger, int64_t pts_ns, const struct region_reading *reading,
                  struct link_event *ret_event);
// Frames stop coming: nothing moves any more, and an event under way ends without a message.
void trigger_reset(struct trigger *trigger);

struct graph;
struct motion_watch;

// Called for each event, in the thread that calls motion_watch_measure().
typedef void motion_watch_event(void *context, const struct link_event *event);

// For the regions of `camera`, which outlives them, as does the graph of its views. -ENOMEM.
int motion_watch_new(const struct config_camera *camera, struct graph *graph,
                     motion_watch_event *event, void *context, struct motion_watch **ret_watch);
void motion_watch_free(struct motion_watch *watch); // takes NULL

// Other settings of the same camera, from the next frame on; they outlive the motion watch or the
// next call, and those before may be freed. A region that keeps its name keeps its events and, even
// where its settings have changed, its state. An event under way in a region that is gone ends
// without a message.
void motion_watch_set_camera(struct motion_watch *watch, const struct config_camera *camera);

// The frame that graph_begin() began, on the CPU's side, before the views; only read. Errors are
// logged: they cost events, not frames.
void motion_watch_begin(struct motion_watch *watch, const struct frame *frame);
// The same frame, behind the views, on the CPU's side again.
void motion_watch_measure(struct motion_watch *watch, const struct frame *frame);
// The next frame is compared with none before it: the camera was opened again. `lost`: because it
// failed. Then nothing moves until there are frames, and events under way end without a message of
// their own, because the loss of the signal has been reported.
void motion_watch_reset(struct motion_watch *watch, bool lost);

// How region `index` is now; NULL: there are no more.
const struct link_region *motion_watch_region(const struct motion_watch *watch, size_t index);
