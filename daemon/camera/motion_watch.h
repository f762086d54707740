// The motion watch of a camera: measures every frame in its regions, and turns what moves into
// events.
//
// Masks are read when frames of a new layout come, which is when a camera is opened. A mask that
// cannot be read then leaves its region without events until the next time.
#pragma once

#include "capture/frame.h"
#include "config/config.h"
#include "daemon/link/messages.h"

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
