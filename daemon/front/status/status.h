// What edged tells of itself: GET /v1/status and GET /metrics, from the same facts.
//
// status.c is the table of facts: it has one function an object, with a call for each fact. The
// fields of the JSON are a contract, documented in edgectl(1), and so are the names of metrics:
// more may be added, none renamed or removed.
//
// A view has 25 series of latency: a histogram of the whole way in buckets that grow by 1.8 (17
// series), and of each of its four steps the sum and the count, a mean over any time (8 series).
#pragma once

#include "daemon/common/log_limit.h"
#include "daemon/front/events/regions.h"
#include "daemon/front/status/facts.h"
#include "daemon/front/stream/stream.h"
#include "daemon/link/messages.h"
#include "daemon/link/record.h"

#include <sys/types.h>

// What a process has used since it was started.
struct process_usage {
    double cpu_s;            // of all its threads
    uint64_t resident_bytes; // memory that it has in RAM
};

// The outcome of the last load of the configuration, for status, the metrics and `edgectl reload`.
// All 0 before the first load.
struct reload_verdict {
    const char *path;           // of the file, borrowed; NULL: built-in defaults
    bool refused;               // the configuration before is still in use, or part of it
    int64_t at_ns;              // of the last load, nanoseconds since 1970
    int64_t applied_at_ns;      // of the one that is in use
    char *problems;             // errors and warnings, a line each; owned, NULL: none
    struct log_limit log_limit; // of the lines of reloads
    bool is_logged;             // the log tells of this load
};

// The objects, as they are now. Everything that these point to is borrowed.
struct front_facts {
    double uptime_s;
    const char *backend; // "cuda" if a camera's views are computed by it, else "cpu"
    char rtsp_url[160], rtsps_url[160], http_url[160]; // "https://127.0.0.1:9854"; "": not served
    const char *fingerprint; // of the certificate, "SHA-256 3F:A0:…"; "": nothing is encrypted
    int64_t certificate_expires_s; // its last moment, since 1970
    const char *certificate_error; // why nothing is encrypted though it should be; ""
    unsigned viewers;
    uint64_t failed_logins;    // a wrong user or password, of RTSP and the control API
    uint64_t throttled_logins; // not checked, because too many had failed before
    const struct reload_verdict *configuration;
    struct process_usage usage;
    const struct record_state_report *recorder; // NULL: there is none now
    const char *recorder_fault;                 // why not; "": nobody wants one
};

struct camera_facts {
    const char *name, *source; // as in the configuration
    bool armed;                // motion in its regions becomes events
    const char *state;         // "starting", "live", "no signal", "hanging", "restarting", "failed"
    const char *error, *gpu;   // "": none
    pid_t pid;                 // of the camera process; 0: none
    struct process_usage usage;
    uint64_t process_restarts;
    uint64_t gpu_faults;           // times the GPU failed and the CPU went on
    uint64_t encoder_hangs;        // times an encoder hung and the process was replaced
    uint32_t encoders_passed_over; // a bit for each enum config_encoder that hung lately
    double frame_age_s;            // since the newest frame in its process's telemetry; NAN: none
    const struct link_telemetry *telemetry; // the newest
    const struct regions *regions;
};

struct mount_facts {
    const char *rtsp_url;             // of the server
    const char *path;                 // "/front/edges"
    const char *alias;                // a second path; "": none
    const char *camera, *view, *kind; // "front", "edges", "edges"
    const char *codec;                // "h264"
    const char *recorded;             // "off", "events", "always"
    uint32_t width, height;           // of its pictures; 0: not known yet
    unsigned viewers;                 // by RTSP
    unsigned http_viewers;            // by HTTP
    char multicast[32];               // the group it is sent to, "239.255.4.1:5004"; "": none
    struct stream_statistics statistics;
};

// Reads what the kernel counts for a process; 0 where there is none.
struct process_usage process_usage_read(pid_t pid);

// Each adds the facts of one object to the object that `facts` has begun.
void status_add_front(struct facts *facts, const struct front_facts *front);
void status_add_camera(struct facts *facts, const struct camera_facts *camera);
void status_add_mount(struct facts *facts, const struct mount_facts *mount);
// Adds the object "board", as a camera process told of it.
void status_add_board(struct facts *facts, const struct heat *heat);

// Records a load that has just been done; takes over `problems`.
void reload_verdict_set(struct reload_verdict *verdict, bool refused, char *problems);
// Adds that a camera goes on with its settings before, for this reason; once, however often it is
// said.
void reload_verdict_add_refusal(struct reload_verdict *verdict, const char *camera,
                                const char *reason);
void reload_verdict_finish(struct reload_verdict *verdict);
// The verdict as a JSON text, which the caller g_free()s.
char *reload_verdict_json(const struct reload_verdict *verdict);
