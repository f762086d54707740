// The trigger of one region: when motion begins an event, and when that is over.
//
// An event begins when a share of at least `start` of the region's pixels has moved in every frame
// for `duration`, and is over when less than `end` has in every frame for `cooldown`. All times are
// those of the frames, no clock is read; a frame that is older than the one before it begins all
// waiting anew.
#pragma once

#include "config/config.h"
#include "daemon/link/messages.h"
#include "kernels/events/meter.h"

#include <stdbool.h>

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
