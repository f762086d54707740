// Keeps one camera process running and its streams fed.
//
//   STOPPED ----- supervisor_start() ----> STARTING
//   STARTING ---- first telemetry -------> RUNNING
//   STARTING, RUNNING -- its link ends, it is silent, or it is to end --> ENDING
//   STARTING, RUNNING, ENDING -- the process is gone:
//       told to stop ------------------------------> STOPPED
//       it lost the GPU, or the GPU is to blame ---> STARTING, at once and on the CPU
//       it declared an incurable fault ------------> FAILED,  STARTING after 30 s
//       else --------------------------------------> WAITING, STARTING after a delay
//
// The delay is 0 for other settings. Otherwise a process is started again at once the first time,
// then after 100 ms, 200 ms, … up to 5 s, until one has run for 5 s. A process that says nothing
// for 5 s is killed, once it has left a trace of where it hangs (process_trace()). One that cannot
// be killed is left behind.
//
// When the GPU fails (the process says so, or dies twice within 30 s while it uses it) the next
// process begins at once and on the CPU. That process is told to try the GPU after 1 s, 2 s, … up
// to 60 s; so is one that could not use the GPU for a reason that may pass (gpu_retry.h).
//
// systemd looks up which devices a process may open when it starts it. A process is replaced once
// if the GPU's devices came later, and again only after another one could open them. So is a
// process of a unit when one of the camera's files has been replaced, which it cannot see
// (own_files.h).
//
// An encoder in which a process hangs is tried last by the next ones for 10 minutes, or until other
// settings come.
//
// Motion under way when a process loses its signal or ends is ended here (regions.h). Main loop
// only.
#pragma once

#include "config/config.h"
#include "daemon/front/events/regions.h"
#include "daemon/front/stream/stream.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct camera_link;
struct supervisor;

// A camera as its supervisor knows it. Everything that this points to is borrowed.
struct supervisor_report {
    const char *state;       // "starting", "live", "no signal", "hanging", "restarting", "failed"
    const char *error, *gpu; // "": none
    pid_t pid;               // of the camera process; 0: none
    uint64_t restarts;
    uint64_t gpu_faults;           // times the GPU failed and the CPU went on
    uint64_t encoder_hangs;        // times an encoder hung and the process was replaced
    uint32_t encoders_passed_over; // a bit for each enum config_encoder that hung lately
    double frame_age_s;            // since the newest frame in its process's telemetry; NAN: none
    const struct link_telemetry *telemetry; // the newest
    const struct regions *regions;
};

struct supervisor_environment {
    const char *program;     // of camera processes; borrowed, as are `socket` and `context`
    const char *socket;      // at which systemd starts them instead; NULL: there is none
    const char *config_path; // which a process must not read; copied. NULL: there is no file
    // Called after every message that may settle the camera and when a process ended.
    void (*changed)(void *context);
    // Called for each motion event of the camera, ends made up by the front included. May be NULL.
    regions_event *motion;
    void *context; // of both
};

// The process is to be camera number `camera` of `config`, which is borrowed until the supervisor
// is given another. `streams` are those of its views, up to LINK_VIEWS_MAX; the supervisor takes
// references. Nothing is started yet.
struct supervisor *supervisor_new(const struct config *config, size_t camera,
                                  struct stream *const *streams,
                                  const struct supervisor_environment *environment);
// Kills a process that is still there (the main loop reaps it). Takes NULL.
void supervisor_free(struct supervisor *supervisor);

// Starts the process. A failure is logged and tried again later; it is also returned (with the
// errno of posix_spawn) so that the first start can give up.
int supervisor_start(struct supervisor *supervisor);
// Goes over to another configuration, as above; the caller holds references to the streams of both.
// `cost` is that of the change, by config_diff_camera(). Up to CONFIG_COST_VIEW a running process
// is sent it and goes on, also where no key has changed, because a mask may be another picture.
// Else it is ended, and the next one begins once it is gone, so that two never compete for a
// device. Without a process only CONFIG_COST_NONE leaves the next start where it is.
void supervisor_configure(struct supervisor *supervisor, const struct config *config, size_t camera,
                          struct stream *const *streams, enum config_cost cost);
// Closes the link, upon which the process ends; SIGKILL after 1 s. Nothing is started again.
void supervisor_stop(struct supervisor *supervisor);
bool supervisor_is_stopped(const struct supervisor *supervisor);

// The camera's mounts can be served with the newest settings, or it has declared why not.
bool supervisor_is_settled(const struct supervisor *supervisor);
// The process goes on without that view, by its place, because no encoder works for it.
bool supervisor_lacks_encoder(const struct supervisor *supervisor, size_t view);
// Why its process goes on with the settings before the newest; "": it does not, or it has not said.
// Borrowed until the process says something again.
const char *supervisor_refusal(const struct supervisor *supervisor);

// The conversation with its process, borrowed until the process ends; NULL: there is none.
struct camera_link *supervisor_link(const struct supervisor *supervisor);
// The motion in the camera's regions; borrowed.
const struct regions *supervisor_regions(const struct supervisor *supervisor);
// The camera as of now.
void supervisor_describe(const struct supervisor *supervisor, struct supervisor_report *ret_report);
