// The state of edged: the configuration in force, its cameras with their streams and processes, the
// views that are recorded, events, a tune under way, and how the last load of the configuration
// went.
//
// HTTP, RTSP and front.c ask it directly; it knows none of them. Over TCP each role is shown only
// the cameras and views that it may watch; everyone who can open the control socket is shown all.
// Main loop only.
#pragma once

#include "config/problems.h"
#include "daemon/common/log_limit.h"
#include "daemon/front/account/account.h"
#include "daemon/front/account/certificate.h"
#include "daemon/front/events/event_feed.h"
#include "daemon/front/model/front_camera.h"
#include "daemon/front/model/live.h"
#include "daemon/front/model/tracks.h"
#include "daemon/front/model/tuning.h"

// A second path of the first mount.
#define MODEL_ALIAS_PATH "/edges"

// Reports of the model to front.c. All are set.
struct model_events {
    void (*reload_asked)(void *context); // as by SIGHUP
    void (*settled)(void *context);      // a camera may have settled, or its process has ended
    // Other settings are in force, or something has ended that requests wait for.
    void (*changed)(void *context);
    void *context;
};

// Where edged is reached. front_network.c sets it after each change; all is borrowed.
struct model_places {
    const char *rtsp_url, *rtsps_url, *http_url; // as listened on; "" or NULL: not served
    const struct certificate *certificate;       // NULL: nothing is encrypted
    const char *certificate_error;               // why, though it should be; "" or NULL
};

// The outcome of the last load of the configuration, for status, the metrics and `edgectl reload`.
// All 0 before the first load.
struct reload_verdict {
    const char *path;      // of the file, borrowed; NULL: built-in defaults
    bool refused;          // the configuration before is still in use, or part of it
    int64_t at_ns;         // of the last load, nanoseconds since 1970
    int64_t applied_at_ns; // of the one that is in use
    struct config_problems problems;
    struct log_limit log_limit; // of the lines of reloads
    bool is_logged;             // the log tells of this load
};

struct model {
    struct config *config;         // owned: `live`, with the addresses that are bound
    struct live live;              // what it is made of; owned
    struct reload_verdict verdict; // of the configuration; owned
    bool is_reloading;             // the verdict of a reload is not known yet
    bool is_ready;                 // every camera has been tried, or had its time to
    bool is_stopping;              // nothing changes any more
    int64_t started_ns;
    char *program;           // of camera processes; owned
    struct account *account; // borrowed; NULL: nobody is asked who they are
    struct model_places places;
    GHashTable *mounts;         // owned (mounts.h)
    GPtrArray *cameras;         // owned struct front_camera, in the order of the configuration
    struct recorder *recorder;  // owned
    struct tracks *tracks;      // owned
    struct event_feed *feed;    // owned
    struct tuning tuning;       // one at a time
    struct log_limit log_limit; // of changes
    struct model_events events;
};

// Builds what `config` says, whose processes are not started yet. Takes over `config`, `live`, what
// that is made of, and `program`. `account` is borrowed.
void model_init(struct model *model, struct config *config, struct live *live, char *program,
                struct account *account, const struct model_events *events);
void model_finish(struct model *model);
// Records a load that has just been done; takes over `problems`, which is {0} then.
void model_set_verdict(struct model *model, bool refused, struct config_problems *problems);

// Starts the camera processes that are not started yet. A failure is logged and tried again; it is
// also returned if not one of them could be started.
int model_start(struct model *model);
// Goes over to another configuration, which it takes over with what that is made of. Views that
// keep their name and codec keep their viewers.
void model_take(struct model *model, struct config *config, struct live *live);
// Asks cameras that have refused a login anew: somebody may have mended it.
void model_try_cameras(const struct model *model);
// Ends the processes; model_is_stopped() says when that is done, and when nobody watches any more.
void model_stop(struct model *model);
bool model_is_stopped(const struct model *model);

// live_change(), and goes over to what it gives. 503 while edged stops.
void model_change(struct model *model, struct live_request *request);
