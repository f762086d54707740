// The sentry: watches the regions of a camera. Every frame is measured, and what moves becomes
// events.
//
// Masks are read when frames of a new layout come, which is when a camera is opened. A mask that
// cannot be read then leaves its region without events until the next time.
#pragma once

#include "capture/frame.h"
#include "config/config.h"
#include "daemon/link/messages.h"

struct sentry;

// Called for each event, in the thread that calls sentry_see().
typedef void sentry_event(void *context, const struct link_event *event);

// For the regions of `camera`, which outlives them. -ENOMEM.
int sentry_new(const struct config_camera *camera, sentry_event *event, void *context,
               struct sentry **ret_sentry);
void sentry_free(struct sentry *sentry); // takes NULL

// Other settings of the same camera, from the next frame on; they outlive the sentry or the next
// call, and those before may be freed. A region that keeps its name keeps its events and, even
// where its settings have changed, its state. An event under way in a region that is gone ends
// without a message.
void sentry_set_camera(struct sentry *sentry, const struct config_camera *camera);

// A frame, on the CPU's side; only read. Errors are logged: they cost events, not frames.
void sentry_see(struct sentry *sentry, const struct frame *frame);
// The next frame is compared with none before it: the camera was opened again. `lost`: because it
// failed. Then nothing moves until there are frames, and events under way end without a message of
// their own, because the loss of the signal has been reported.
void sentry_reset(struct sentry *sentry, bool lost);

// How region `index` is now; NULL: there are no more.
const struct link_region *sentry_region(const struct sentry *sentry, size_t index);
