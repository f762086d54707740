// A snapshot with every field filled, for the tests of what is made from one. The numbers are
// chosen so that what follows from them can be worked out by hand.
#pragma once

#include "config/base.h"
#include "daemon/front/status/snapshot.h"
#include "kernels/stage/plan_step.h"

#include <stdio.h>
#include <string.h>

// A hostile name: it ends a label or a string too early unless escaped; the last byte is no UTF-8.
#define HOSTILE_NAME "ba\"ck\\\n\xff"

static inline void fill_front_camera(struct snapshot_camera *camera)
{
    *camera = (struct snapshot_camera){
        .name = "front",
        .state = "live",
        .source = "v4l2",
        .pid = 4711,
        .frame_age_s = 1.0 / 30,
        .usage = {.cpu_s = 2.0 / 3, .resident_bytes = 98765432},
        .process_restarts = 2,
        .gpu_faults = 3,
        .encoder_hangs = 2,
        .encoders_passed_over = 1 << CONFIG_ENCODER_V4L2,
        .telemetry =
            {.state = LINK_CAMERA_LIVE,
             .width = 1280,
             .height = 720,
             .fps_milli = 29500,
             .format = "YUYV",
             .path = "front: V4L2 MMAP YUYV 1280x720@30 -> registered -> CUDA sm_87 -> x264enc, "
                     "1 copy a frame",
             .backend = "CUDA sm_87",
             .gpu = "Orin",
             .frames = 1000,
             .dropped = 3,
             .corrupted = 1,
             .reconnects = 5,
             .heat = {.is_known = 1,
                      .zone_count = 2,
                      .zones = {{"CPU-therm", 51031}, {"GPU-therm", 98500}},
                      .throttled = 1,
                      .throttled_by = "gpu-throttle-alert",
                      .power_mode = "15W",
                      .gpu_permille = 843,
                      .gpu_hz = 306000000,
                      .gpu_hz_max = 612000000},
             .stages = {[STAGE_GRAY] = {900, 2700}, [STAGE_CANNY] = {450, 0}},
             .copies = {[COPY_MMAP_FALLBACK] = 1000, [COPY_ENCODER_CONVERT] = 250}},
        .regions = {{.name = "door",
                     .moving = true,
                     .share = 0.1f, // 0.100000001490116…
                     .box = {8, 16, 64, 48},
                     .events = 9007199254740992},
                    {.name = "yard"}},
        .region_count = 2,
    };
}

static inline void fill_edges_mount(struct snapshot_mount *mount)
{
    *mount = (struct snapshot_mount){
        .path = "/front/edges",
        .has_alias = true,
        .camera = "front",
        .view = "edges",
        .kind = "edges",
        .encoder = "x264enc",
        .governor = "rate 1/2",
        .viewers = 2,
        .multicast = "239.255.4.1:5004",
        .bitrate_kbps = 3900,
        .access_units = 900,
        .key_frames = 30,
        .bytes = 123456789012,
        .encoded = 905,
        .dropped = 5,
        .bad_timestamps = 6,
    };
    // All in the bucket 4.2 ms to 5.6 ms: p50 4.9, p95 5.53, p99 5.586, mean 5.
    for (int i = 0; i < 100; i++) {
        histogram_add_ns(&mount->latency[LATENCY_CAPTURE_TO_RTP], 5 * NS_PER_MS);
    }
    for (int i = 0; i < 3; i++) {
        histogram_add_ns(&mount->latency[LATENCY_ENCODE], 7 * NS_PER_MS);
    }
}

// Two cameras, the second without signal and with a hostile name, and one mount.
static inline struct snapshot *filled_snapshot(void)
{
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);

    *snapshot = (struct snapshot){.uptime_s = 3725.5123,
                                  .usage = {.cpu_s = 12.34, .resident_bytes = 12345678},
                                  .viewers = 2,
                                  .failed_logins = 7,
                                  .throttled_logins = 12345678901,
                                  .rtsp_url = "rtsp://127.0.0.1:8554",
                                  .rtsps_url = "rtsps://127.0.0.1:8322",
                                  .http_url = "https://127.0.0.1:9854",
                                  .fingerprint = "SHA-256 3F:A0",
                                  .certificate_expires_s = 2000000000,
                                  .backend = "cpu",
                                  .camera_count = 2,
                                  .mount_count = 1};
    snapshot->cameras = calloc(2, sizeof *snapshot->cameras);
    snapshot->mounts = calloc(1, sizeof *snapshot->mounts);
    fill_front_camera(&snapshot->cameras[0]);
    snapshot->cameras[1] = (struct snapshot_camera){.name = HOSTILE_NAME,
                                                    .state = "no signal",
                                                    .error = "/dev/video9: No such device",
                                                    .frame_age_s = -1};
    fill_edges_mount(snapshot->mounts);
    return snapshot;
}
