// One configuration of the camera, as it came over the link, with a channel for each of its views.
//
// The control thread has the newest settings, the lane those in force; what both need is shared by
// reference. A view that was there before keeps its channel, and so its counters and viewers.
#pragma once

#include "config/config.h"
#include "daemon/camera/channel.h"
#include "daemon/link/link.h"

#include <stdatomic.h>

struct settings {
    atomic_uint references;
    struct config *config; // owned; of one camera, its blocks filled in by the board
    uint32_t number;
    struct channel *channels[LINK_VIEWS_MAX]; // references, in the order of the views
    size_t count;
};

// Reads the payload of a LINK_CONFIGURE, `size` bytes. `before` is NULL for the first settings.
// Later ones have to be such that the running process can adopt them (at most CONFIG_COST_VIEW),
// else -EPROTO. Views that `before` has under the same number keep their channel; those that are
// gone are no longer watched. -EPROTO, -EINVAL, -ENOMEM with `error`.
int settings_new(const uint8_t *payload, size_t size, const struct settings *before,
                 const struct channel_environment *environment, struct error *error,
                 struct settings **ret_settings);
struct settings *settings_ref(struct settings *settings);
void settings_unref(struct settings *settings); // takes NULL

// A file of the camera's that was put in place after this process was confined, which cannot be
// read until a new process is there (confine_shuts()); NULL: there is none. Borrowed.
const char *settings_find_shut(const struct settings *settings);
// The camera of the configuration.
const struct config_camera *settings_camera(const struct settings *settings);
// Fills in the views and the blocks.
void settings_describe(const struct settings *settings, struct link_telemetry *telemetry);
// The channel of the view with that number; NULL: there is none.
struct channel *settings_find(const struct settings *settings, uint32_t view);
