// The motion watch of a camera: looks at frames ten times a second, measures what moves in its
// regions, and turns that into events.
//
// A look takes two steps. motion_watch_begin(), before the views, has the GPU begin with the
// frame's cells (cells.h), where one computes; motion_watch_measure(), behind them, takes the
// cells, made by the CPU if there is no GPU, and measures (meter.h). Masks are read when frames of
// a new layout come, which is when a camera is opened. A mask that cannot be read then leaves its
// region without events until the next time.
#pragma once

#include "capture/frame.h"
#include "config/config.h"
#include "daemon/link/messages.h"
#include "kernels/events/meter.h"

#include <stdbool.h>

// The trigger of one region: when motion begins an event, and when that is over.
//
// An event begins when a share of at least `start` of the region has moved in every look for
// `duration`, and is over when less than `end` has in every look for `cooldown`. All times are
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

// A look: fills in the region and, when that begins or ends an event, *ret_event; true if so.
bool trigger_step(struct trigger *trigger, int64_t pts_ns, const struct region_reading *reading,
                  struct link_event *ret_event);
// Frames stop coming: nothing moves any more, and an event under way ends without a message.
void trigger_reset(struct trigger *trigger);

struct gpu;
struct motion_watch;

// Called for each event, in the thread that calls the functions below.
typedef void motion_watch_event(void *context, const struct link_event *event);

// For the regions of `camera`, which outlives them. -ENOMEM.
int motion_watch_new(const struct config_camera *camera, motion_watch_event *event, void *context,
                     struct motion_watch **ret_watch);
// Takes NULL. Its GPU is idle or lost, and still there.
void motion_watch_free(struct motion_watch *watch);

// Other settings of the same camera, from the next frame on; they outlive the motion watch or the
// next call, and those before may be freed. A region that keeps its name keeps its events and, even
// where its settings have changed, its state. An event under way in a region that is gone ends
// without a message.
void motion_watch_set_camera(struct motion_watch *watch, const struct config_camera *camera);

// Whether to look at a frame of that pts. The two functions below are for such frames alone.
bool motion_watch_wants(const struct motion_watch *watch, int64_t pts_ns);
// Before the views. `gpu` makes the cells, in memory of `allocator`, which outlive them until
// motion_watch_reset(); NULL: the CPU does. Without memory, or of pictures that are too large, the
// watch logs it, ends events under way and goes on without events; what cells_new() and
// cells_begin() say of a GPU is returned.
int motion_watch_begin(struct motion_watch *watch, struct gpu *gpu,
                       const struct frame_allocator *allocator, struct frame *frame,
                       struct error *error);
// The same frame, behind the views. Errors of cells_end().
int motion_watch_measure(struct motion_watch *watch, struct frame *frame, struct error *error);
// The next frame is compared with none before it: the camera was opened again. `lost`: because it
// failed. Then nothing moves until there are frames, and events under way end without a message of
// their own, because the loss of the signal has been reported.
void motion_watch_reset(struct motion_watch *watch, bool lost);

// How region `index` is now; NULL: there are no more.
const struct link_region *motion_watch_region(const struct motion_watch *watch, size_t index);
