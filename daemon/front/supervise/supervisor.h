// Keeps one camera process running and its streams fed.
//
// A process that ends or says nothing for 5 s is started again: at once the first time, then after
// 100 ms, 200 ms, … up to 5 s, until one has run for 5 s. A process that declares its
// fault incurable (LINK_FATAL) is tried again every 30 s; one that ends because a new one can do
// better (LINK_RESTART), as any other. One that cannot be killed is left behind.
//
// When the GPU fails (the process says so, or dies twice within 30 s while it uses it) the next
// process begins at once and on the CPU. That process is told to try the GPU after 1 s, 2 s, … up
// to 60 s; so is one that could not use the GPU for a reason that may pass.
//
// An encoder in which a process hangs is tried last by the next ones for 10 minutes, or until other
// settings come.
//
// Motion under way when a process loses its signal or ends is ended here (regions.h). Main loop
// only.
#pragma once

#include "config/config.h"
#include "daemon/front/events/regions.h"
#include "daemon/front/status/snapshot.h"
#include "daemon/front/stream/stream.h"

#include <stdbool.h>
#include <stddef.h>

struct supervisor;

// What a process is started with. `streams` are the views in the order of `configuration`
// (config_format() of that one camera). The supervisor copies the texts and takes references.
struct supervisor_settings {
    const char *program;
    const char *name;
    const char *configuration;
    const char *configuration_cpu; // the same with backend = "cpu"; NULL: no GPU is wanted
    const char *backend;           // the word for the one that is wanted; a literal
    struct stream *const *streams;
    size_t stream_count; // up to LINK_VIEWS_MAX
    // Called after every message that may settle the camera and when a process ended.
    void (*changed)(void *context);
    // Called for each motion event of the camera, ends made up by the front included. May be NULL.
    regions_event *motion;
    void *context; // of both
};

// 0, -ENOMEM, or -EINVAL for more than LINK_VIEWS_MAX streams. Nothing is started yet.
int supervisor_new(const struct supervisor_settings *settings, struct supervisor **ret_supervisor);
// Kills a process that is still there (the main loop reaps it). Takes NULL.
void supervisor_free(struct supervisor *supervisor);

// Starts the process. A failure is logged and tried again later; it is also returned (with the
// errno of posix_spawn) so that the first start can give up.
int supervisor_start(struct supervisor *supervisor);
// Takes other settings (the caller holds references to the streams of both). A running process is
// ended, and the next one begins with the new settings once it is gone, so that two never compete
// for a device.
int supervisor_reconfigure(struct supervisor *supervisor,
                           const struct supervisor_settings *settings);
// The same for settings that a running process can adopt (at most CONFIG_COST_VIEW): it is sent
// them and goes on. Without a process they are for the next one. Equal settings change nothing.
int supervisor_update(struct supervisor *supervisor, const struct supervisor_settings *settings);
// Closes the link, upon which the process ends; SIGKILL after 1 s. Nothing is started again.
void supervisor_stop(struct supervisor *supervisor);
bool supervisor_is_stopped(const struct supervisor *supervisor);

// The camera's mounts can be served with the newest settings, or it has declared why not.
bool supervisor_is_settled(const struct supervisor *supervisor);
// Why its process goes on with the settings before the newest; "": it does not, or it has not said.
// Borrowed until the process says something again.
const char *supervisor_refusal(const struct supervisor *supervisor);

// Fills all of `camera` but the source.
void supervisor_describe(const struct supervisor *supervisor, struct snapshot_camera *camera);
