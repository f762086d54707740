// What the files of the supervisor share: the struct, and what becomes of a GPU that fails.
#pragma once

#include "daemon/common/log_limit.h"
#include "daemon/front/supervise/backoff.h"
#include "daemon/front/supervise/camera_link.h"
#include "daemon/front/supervise/gpu_retry.h"
#include "daemon/front/supervise/supervisor.h"

#include <glib.h>

enum supervisor_state {
    SUPERVISOR_STOPPED,  // no process, none wanted
    SUPERVISOR_STARTING, // a process without telemetry yet
    SUPERVISOR_RUNNING,
    SUPERVISOR_ENDING,  // its link is closed, the process is not gone yet
    SUPERVISOR_WAITING, // no process; the next one starts after a delay
    SUPERVISOR_FAILED,  // the same after an incurable fault, with a long delay
};

struct supervisor {
    char *program, *name;    // owned
    char *configuration;     // owned
    char *configuration_cpu; // the same without the GPU, owned; NULL: nothing is with it
    const char *backend;     // the wanted one's word; a literal
    struct stream *streams[LINK_VIEWS_MAX]; // references
    size_t stream_count;
    uint32_t number; // of the configuration, as telemetry tells it
    void (*changed)(void *context);
    void *changed_context;

    enum supervisor_state state;
    bool stopping;     // no further process
    bool reconfigured; // the process that is there was ended for other settings
    bool fatal;        // the process that is there declared an incurable fault
    struct error error;
    struct backoff backoff;
    struct log_limit log_limit; // of messages that the process ended
    uint64_t restarts, gpu_faults;
    struct link_telemetry telemetry; // the newest
    struct regions regions;

    struct gpu_retry gpu;
    bool gpu_offered;       // this process began with the GPU, or was told to try it
    bool gpu_lost;          // this process said that it lost the GPU
    bool without_gpu;       // processes begin on the CPU: the GPU failed and has not come back
    struct error gpu_error; // why it failed, until it is tried again
    guint gpu_timer;        // the next try; 0: none

    bool explained;         // the process that is there said why it ends; no GPU is to blame
    uint32_t passed_over;   // a bit for each enum config_encoder that hung
    int64_t passed_over_ns; // when one did last
    uint64_t encoder_hangs;

    pid_t pid;                // 0: none
    struct camera_link *link; // owned
    int64_t running_ns;       // when it told of itself first; 0: not yet
    guint child_watch;
    guint timer;           // what comes next, by state: silence, kill, start. 0: none
    unsigned *left_behind; // how many killed processes are not gone yet; shared with their watches
};

// Takes what `settings` says in place of what there is. -ENOMEM: nothing was taken.
int supervisor_take_settings(struct supervisor *supervisor,
                             const struct supervisor_settings *settings);
// Lets go of all of them.
void supervisor_drop_settings(struct supervisor *supervisor);

// What a process is told to be, with the text it begins with.
struct camera_link_configuration supervisor_configuration(const struct supervisor *supervisor,
                                                          const char *text);

// Kills the process; it is left behind when it is still there after 5 s.
void supervisor_kill(struct supervisor *supervisor);
// Kills the process and forgets it; it is reaped whenever it ends.
void supervisor_abandon(struct supervisor *supervisor);
// To be called when the process has ended; `how` is a clause about its end.
void supervisor_process_gone(struct supervisor *supervisor, const char *how, bool by_signal);

// The process says that it hangs in `encoder` and ends: the next ones try that last for 10
// minutes.
void supervisor_encoder_hung(struct supervisor *supervisor, enum config_encoder encoder);
// The encoders that a process is to try last now, a bit for each.
uint32_t supervisor_encoders_passed_over(const struct supervisor *supervisor);

// A process is about to start. Returns the configuration for it.
const char *supervisor_gpu_begin(struct supervisor *supervisor);
// The GPU failed, as `sentence` says: the next process begins on the CPU, the GPU is tried later.
void supervisor_gpu_fail(struct supervisor *supervisor, const char *sentence);
// After telemetry.
void supervisor_gpu_note(struct supervisor *supervisor);
// Forgets whatever was wrong with the GPU.
void supervisor_gpu_forget(struct supervisor *supervisor);
