// What a stream counts: frames, bytes, bitrate over the last second, latency of each step.
// Embedded in a stream. Main loop only.
#pragma once

#include "daemon/front/status/snapshot.h"
#include "daemon/link/messages.h"

struct stream_statistics {
    uint64_t access_units, key_frames, bytes;
    uint64_t encoded, dropped; // by the camera process
    uint64_t bad_timestamps;   // of access units that claim an impossible time of capture
    char encoder[24], governor[24];
    int64_t window_began_ns; // of the running second
    uint64_t window_bytes;
    uint32_t bitrate_kbps; // of the second before
    struct histogram latency[LATENCY_STEP_COUNT];
};

// Counts an access unit of `bytes` that arrived at `now_ns` (CLOCK_MONOTONIC). Slate pictures are
// counted, but say nothing about latency. The times come from a camera process and are not trusted:
// they are corrected so that `unit` was captured within the last 10 s, and that no step of its life
// is earlier than the one before.
void stream_statistics_add(struct stream_statistics *statistics, struct link_access_unit *unit,
                           uint64_t bytes, int64_t now_ns);
// Fills the counters, bitrate and histograms of `mount` as of `now_ns`.
void stream_statistics_describe(const struct stream_statistics *statistics, int64_t now_ns,
                                struct snapshot_mount *mount);
