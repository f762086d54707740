// Everything status and metrics show, copied at one moment, so that writing JSON or Prometheus text
// needs no lock and no knowledge of streams and supervisors.
#pragma once

#include "config/config.h"
#include "daemon/front/events/motion.h"
#include "daemon/front/reload_verdict.h"
#include "daemon/front/status/histogram.h"
#include "daemon/link/messages.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

// Steps of a frame's life. capture: pts to grabbed; compute: to view done; encode: to access unit
// done; link: to received by the front; capture_to_rtp: pts to handed to the payloader.
enum latency_step {
    LATENCY_CAPTURE,
    LATENCY_COMPUTE,
    LATENCY_ENCODE,
    LATENCY_LINK,
    LATENCY_CAPTURE_TO_RTP,
    LATENCY_STEP_COUNT,
};
const char *latency_step_name(enum latency_step step); // "capture", …, "capture_to_rtp"

// A second path of the first mount.
#define SNAPSHOT_ALIAS_PATH "/edges"

struct snapshot_mount {
    char path[80];         // "/front/edges"
    bool has_alias;        // SNAPSHOT_ALIAS_PATH leads to it, too
    enum config_role role; // the least that may watch it
    char camera[40];       // "front"
    char view[40];         // "edges"
    char kind[16];         // "edges", as `view = ` in the config
    char encoder[24], governor[24];
    unsigned viewers;
    char multicast[32];    // "239.255.4.1:5004": the group it is sent to; "": none
    uint32_t bitrate_kbps; // measured over the last second; 0 while nobody watches
    uint64_t access_units, key_frames, bytes, encoded, dropped;
    uint64_t bad_timestamps; // access units that claimed an impossible time of capture
    struct histogram latency[LATENCY_STEP_COUNT];
};

struct snapshot_region {
    char name[40];
    bool moving;
    double share;          // moving pixels of the region's, 0..1
    struct motion_box box; // around them
    uint64_t events;       // begun since edged was started
};

// What a process has used since it was started.
struct snapshot_usage {
    double cpu_s;            // of all its threads
    uint64_t resident_bytes; // memory that it has in RAM
};

struct snapshot_camera {
    char name[40];
    char state[16]; // "starting", "live", "no signal", "hanging", …
    char error[512];
    char source[16];    // as in the config
    pid_t pid;          // of the camera process; 0 while there is none
    double frame_age_s; // since the newest frame in its process's telemetry; negative: none yet
    struct snapshot_usage usage; // of the camera process
    uint64_t process_restarts;
    uint64_t gpu_faults;             // times the GPU failed and the CPU went on
    uint64_t encoder_hangs;          // times an encoder hung and the process was replaced
    uint32_t encoders_passed_over;   // a bit for each enum config_encoder that hung lately
    struct link_telemetry telemetry; // the newest
    struct snapshot_region regions[LINK_REGIONS_MAX];
    size_t region_count;
};

struct snapshot {
    struct reload_verdict configuration; // borrowed
    double uptime_s;
    struct snapshot_usage usage; // of the front
    unsigned viewers;
    uint64_t failed_logins;    // a wrong user or password, of RTSP and the control API
    uint64_t throttled_logins; // not checked, because too many had failed before
    char rtsp_url[160];        // "rtsp://127.0.0.1:8554"
    char rtsps_url[160];       // "rtsps://127.0.0.1:8322"; "": there is no TLS
    char http_url[160];    // "https://127.0.0.1:9854"; "": the control API is not served over TCP
    char fingerprint[112]; // of the certificate, "SHA-256 3F:A0:…"; "": nothing is encrypted
    char certificate_error[512];   // why nothing is encrypted though it should be
    int64_t certificate_expires_s; // its last moment, since 1970
    char backend[16];              // "cuda" when a camera's views are computed by it, else "cpu"
    size_t camera_count, mount_count;
    struct snapshot_camera *cameras;
    struct snapshot_mount *mounts;
};

// Reads what the kernel counts for a process; 0 where there is none.
struct snapshot_usage snapshot_read_usage(pid_t pid);

// Takes out the mounts that `role` may not watch, the cameras of which it may watch none, and what
// else tells of them: the problems of the last reload, and viewers.
void snapshot_show_to(struct snapshot *snapshot, enum config_role role);

// Frees the snapshot with its two arrays, all from malloc() or calloc(). NULL is fine.
void snapshot_free(struct snapshot *snapshot);

static inline void cleanup_snapshot(struct snapshot **snapshot)
{
    snapshot_free(*snapshot);
}
