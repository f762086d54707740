// Status and metrics with every fact filled, for the tests of what is made from them. The numbers
// are chosen so that what follows from them can be worked out by hand.
#pragma once

#include "config/base.h"
#include "daemon/front/model/status.c"
#include "daemon/front/stream/stream.c"
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
    .patience_ns = 500 * NS_PER_MS,
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
    .trials = {{.element = CONFIG_ENCODER_NVV4L2,
                .took_ms = 105,
                .encoder = "nvv4l2h264enc by descriptor",
                .reason = "no frame came out"}},
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

static struct config_view filled_view = {
    .name = (char[]){"edges"}, .view = CONFIG_VIEW_EDGES, .codec = CONFIG_CODEC_H265};

static const struct config_camera filled_camera = {
    .name = (char[]){"front"},
    .source = CONFIG_SOURCE_V4L2,
    .armed = true,
    .views = &filled_view,
    .view_count = 1,
    .record = {.mode = CONFIG_RECORD_EVENTS, .view = (char[]){"edges"}},
};

static const struct supervisor_report filled_report = {
    .state = "live",
    .error = "",
    .gpu = "Orin",
    .pid = 4711,
    .frame_age_s = 1.0 / 30,
    .restarts = 2,
    .gpu_faults = 3,
    .encoder_hangs = 2,
    .encoders_passed_over = 1 << CONFIG_ENCODER_V4L2,
    .telemetry = &filled_telemetry,
    .regions = &filled_regions,
};

static const struct process_usage filled_usage = {.cpu_s = 2.0 / 3, .resident_bytes = 98765432};

static const struct record_state_report filled_recorder = {
    .state = RECORD_READY,
    .open_clips = 2,
    .clips = 1234,
    .kept_clips = 5,
    .clip_bytes = 56789012345,
    .free_bytes = 98765432109,
    .total_bytes = 256060514304,
    .written_bytes = 67890123456,
    .written_clips = 1300,
    .deleted_clips = 66,
    .lost_units = 7,
    .waiting_bytes = 8192,
    .write_max_ns = 12345 * NS_PER_MS / 1000,
    .kept_bytes = 1234567890,
    .syncs = 4321,
    .running_ns = 43200 * NS_PER_S,
};

static inline void add_filled_front(struct facts *facts)
{
    static const struct model_places places = {.rtsp_url = "rtsp://127.0.0.1:8554",
                                               .rtsps_url = "rtsps://127.0.0.1:8322",
                                               .http_url = "https://127.0.0.1:9854"};
    static const struct account_counters logins = {.failed = 7, .throttled = 12345678901};
    static const struct process_usage usage = {.cpu_s = 12.34, .resident_bytes = 12345678};
    static const struct reload_verdict verdict = {0};

    add_start(facts, 3725.5123, "cpu");
    add_urls(facts, &places);
    add_certificate(facts, "SHA-256 3F:A0", 2000000000);
    add_viewers(facts, 2);
    add_logins(facts, &logins);
    facts_begin(facts, "configuration");
    add_verdict(facts, &verdict);
    facts_end(facts);
    add_recorder(facts, &filled_recorder, "");
    add_own_process(facts, &usage);
    add_board(facts, &filled_telemetry.heat);
}

static inline void add_edges_mount(struct facts *facts)
{
    struct stream *stream;

    stream_new("/front/edges", &payload_h265, 4000, &stream);
    stream->sets.width = 1280;
    stream->sets.height = 720;
    stream->stills.count = 12;
    stream->statistics = (struct stream_statistics){.encoder = "x264enc",
                                                    .governor = "rate 1/2",
                                                    .window_began_ns = clock_now_ns(),
                                                    .bitrate_kbps = 3900,
                                                    .fps_milli = 29970,
                                                    .access_units = 900,
                                                    .key_frames = 30,
                                                    .bytes = 123456789012,
                                                    .encoded = 905,
                                                    .dropped = 5,
                                                    .bad_timestamps = 6};
    stream_count_viewer(stream, VIEWER_RTSP, 2);
    stream_set_group(stream, "239.255.4.1:5004");
    // All in the bucket 4.2 ms to 5.6 ms: p50 4.9, p95 5.53, p99 5.586, mean 5.
    for (int i = 0; i < 100; i++)
        histogram_add_ns(&stream->statistics.latency[LATENCY_CAPTURE_TO_RTP], 5 * NS_PER_MS);
    for (int i = 0; i < 3; i++)
        histogram_add_ns(&stream->statistics.latency[LATENCY_ENCODE], 7 * NS_PER_MS);
    add_mount(facts, &filled_camera, 0, stream, "rtsp://127.0.0.1:8554", "/edges");
    stream_unref(stream);
}

// Two cameras, the second without signal and called `second`, and one mount of the first. The
// caller g_free()s the text.
static inline char *filled_text(enum facts_format format, char *second)
{
    static const struct link_telemetry no_telemetry = {0};
    static const struct regions no_regions = {0};
    const struct config_camera camera = {.name = second};
    const struct process_usage none = {0};
    const struct supervisor_report without_signal = {.state = "no signal",
                                                     .error = "/dev/video9: No such device",
                                                     .gpu = "",
                                                     .frame_age_s = NAN,
                                                     .telemetry = &no_telemetry,
                                                     .regions = &no_regions};
    struct facts *facts = facts_new(format);

    facts_begin(facts, NULL);
    add_filled_front(facts);
    facts_begin_list(facts, "cameras");
    add_camera(facts, &filled_camera, &filled_report, &filled_usage);
    add_camera(facts, &camera, &without_signal, &none);
    facts_end(facts);
    facts_begin_list(facts, "mounts");
    add_edges_mount(facts);
    facts_end(facts);
    facts_end(facts);
    return facts_finish(facts);
}
