// Status and metrics with every fact filled, for the tests of what is made from them. The numbers
// are chosen so that what follows from them can be worked out by hand.
#pragma once

#include "config/base.h"
#include "daemon/front/status/status.h"
#include "kernels/stage/plan_step.h"

#include <glib.h>
#include <math.h>

// A hostile name: it ends a label or a string too early unless escaped; the last byte is no UTF-8.
#define HOSTILE_NAME "ba\"ck\\\n\xff"

static const struct link_telemetry filled_telemetry = {
    .state = LINK_CAMERA_LIVE,
    .width = 1280,
    .height = 720,
    .fps_milli = 29500,
    .format = "YUYV",
    .path = "front: V4L2 MMAP YUYV 1280x720@30 -> registered -> CUDA sm_87 -> x264enc, "
            "1 copy a frame",
    .backend = "CUDA sm_87",
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
    .copies = {[COPY_MMAP_FALLBACK] = 1000, [COPY_ENCODER_CONVERT] = 250},
};

static const struct regions filled_regions = {
    .list = {{.name = "door",
              .shown = true,
              .moving = true,
              .share = 0.1f, // 0.100000001490116…
              .box = {8, 16, 64, 48},
              .events = 9007199254740992},
             {.name = "gone"},
             {.name = "yard", .shown = true}},
    .count = 3,
};

static const struct camera_facts filled_camera = {
    .name = "front",
    .armed = true,
    .state = "live",
    .error = "",
    .source = "v4l2",
    .gpu = "Orin",
    .pid = 4711,
    .frame_age_s = 1.0 / 30,
    .usage = {.cpu_s = 2.0 / 3, .resident_bytes = 98765432},
    .process_restarts = 2,
    .gpu_faults = 3,
    .encoder_hangs = 2,
    .encoders_passed_over = 1 << CONFIG_ENCODER_V4L2,
    .telemetry = &filled_telemetry,
    .regions = &filled_regions,
};

static const struct reload_verdict filled_verdict = {0};

static const struct record_state_report filled_recorder = {
    .state = RECORD_READY,
    .open_clips = 2,
    .clips = 1234,
    .kept_clips = 5,
    .clip_bytes = 56789012345,
    .free_bytes = 98765432109,
    .written_bytes = 67890123456,
    .written_clips = 1300,
    .deleted_clips = 66,
    .lost_units = 7,
    .waiting_bytes = 8192,
    .write_max_ns = 12345 * NS_PER_MS / 1000,
};

static const struct front_facts filled_front = {
    .uptime_s = 3725.5123,
    .usage = {.cpu_s = 12.34, .resident_bytes = 12345678},
    .viewers = 2,
    .failed_logins = 7,
    .throttled_logins = 12345678901,
    .rtsp_url = "rtsp://127.0.0.1:8554",
    .rtsps_url = "rtsps://127.0.0.1:8322",
    .http_url = "https://127.0.0.1:9854",
    .fingerprint = "SHA-256 3F:A0",
    .certificate_expires_s = 2000000000,
    .certificate_error = "",
    .configuration = &filled_verdict,
    .backend = "cpu",
    .recorder = &filled_recorder,
    .recorder_fault = "",
};

static inline void add_camera(struct facts *facts, const struct camera_facts *camera)
{
    facts_begin(facts, NULL);
    status_add_camera(facts, camera);
    facts_end(facts);
}

static inline void add_edges_mount(struct facts *facts)
{
    struct mount_facts mount = {
        .rtsp_url = filled_front.rtsp_url,
        .path = "/front/edges",
        .alias = "/edges",
        .camera = "front",
        .view = "edges",
        .kind = "edges",
        .codec = "h265",
        .recorded = "events",
        .width = 1280,
        .height = 720,
        .viewers = 2,
        .multicast = "239.255.4.1:5004",
        .statistics = {.encoder = "x264enc",
                       .governor = "rate 1/2",
                       .bitrate_kbps = 3900,
                       .fps_milli = 29970,
                       .access_units = 900,
                       .key_frames = 30,
                       .bytes = 123456789012,
                       .encoded = 905,
                       .dropped = 5,
                       .snapshots = 12,
                       .bad_timestamps = 6},
    };

    // All in the bucket 4.2 ms to 5.6 ms: p50 4.9, p95 5.53, p99 5.586, mean 5.
    for (int i = 0; i < 100; i++) {
        histogram_add_ns(&mount.statistics.latency[LATENCY_CAPTURE_TO_RTP], 5 * NS_PER_MS);
    }
    for (int i = 0; i < 3; i++) {
        histogram_add_ns(&mount.statistics.latency[LATENCY_ENCODE], 7 * NS_PER_MS);
    }
    facts_begin(facts, NULL);
    status_add_mount(facts, &mount);
    facts_end(facts);
}

// Two cameras, the second without signal and called `second`, and one mount of the first. Without
// `with_first` neither that nor its mount is shown. The caller g_free()s the text.
static inline char *filled_text(enum facts_format format, const char *second, bool with_first)
{
    static const struct link_telemetry no_telemetry = {0};
    static const struct regions no_regions = {0};
    const struct camera_facts without_signal = {.name = second,
                                                .state = "no signal",
                                                .error = "/dev/video9: No such device",
                                                .source = "",
                                                .gpu = "",
                                                .frame_age_s = NAN,
                                                .telemetry = &no_telemetry,
                                                .regions = &no_regions};
    struct facts *facts = facts_new(format);

    facts_begin(facts, NULL);
    status_add_front(facts, &filled_front);
    status_add_board(facts, &filled_telemetry.heat);
    facts_begin_list(facts, "cameras");
    if (with_first) {
        add_camera(facts, &filled_camera);
    }
    add_camera(facts, &without_signal);
    facts_end(facts);
    facts_begin_list(facts, "mounts");
    if (with_first) {
        add_edges_mount(facts);
    }
    facts_end(facts);
    facts_end(facts);
    return facts_finish(facts);
}
