// GET /metrics: Prometheus text format 0.0.4. Base units (seconds, bytes) in the names; a
// metric's samples stand together under one HELP and TYPE, so the loops go metric by metric.
//
// 25 series of latency a view: a histogram of the whole way in buckets that grow by 1.8 (17
// series), and of each of its four steps the sum and the count, a mean over any time (8 series).
#include "daemon/front/status/status.h"

#include "config/base.h"
#include "daemon/front/status/metrics_text.h"
#include "kernels/stage/stage_kind.h"

#include <glib.h>
#include <inttypes.h>
#include <string.h>

// One counter of a camera or a mount: a uint64_t at `offset` in its snapshot.
struct counter {
    const char *name, *help;
    size_t offset;
};

#define CAMERA(field) offsetof(struct snapshot_camera, field)
#define MOUNT(field) offsetof(struct snapshot_mount, field)

static const struct counter camera_counters[] = {
    {"edged_frames_total", "Frames captured.", CAMERA(telemetry.frames)},
    {"edged_frames_dropped_total", "Frames the camera or the capture lost.",
     CAMERA(telemetry.dropped)},
    {"edged_frames_corrupted_total", "Frames delivered damaged and thrown away.",
     CAMERA(telemetry.corrupted)},
    {"edged_reconnects_total", "Times the camera was opened again after it was lost.",
     CAMERA(telemetry.reconnects)},
    {"edged_process_restarts_total", "Times the camera process was replaced.",
     CAMERA(process_restarts)},
    {"edged_camera_gpu_faults_total", "Times the GPU failed and the CPU went on.",
     CAMERA(gpu_faults)},
    {"edged_camera_encoder_hangs_total",
     "Times an encoder hung and the camera process was replaced.", CAMERA(encoder_hangs)},
};

static const struct counter mount_counters[] = {
    {"edged_access_units_total", "Encoded frames received from the camera process.",
     MOUNT(access_units)},
    {"edged_key_frames_total", "Key frames among the access units.", MOUNT(key_frames)},
    {"edged_stream_bytes_total", "Bytes of the access units.", MOUNT(bytes)},
    {"edged_encoded_total", "Frames the camera process encoded.", MOUNT(encoded)},
    {"edged_encoded_dropped_total", "Frames computed or encoded too late to be sent.",
     MOUNT(dropped)},
    {"edged_bad_timestamps_total",
     "Access units that claimed to be captured in the future or over 10 s ago.",
     MOUNT(bad_timestamps)},
};

// Of each kind of stage: an uint64_t at `offset` in its counters.
static const struct counter stage_counters[] = {
    {"edged_stage_runs_total", "Times a stage was computed.", 0},
    {"edged_stage_shared_total", "Times a view had the result of another view's stage instead.",
     sizeof(uint64_t)},
};

static const char *const camera_states[] = {"starting", "live",       "no signal",
                                            "hanging",  "restarting", "failed"};

static void begin_mount_sample(GString *text, const char *name, const struct snapshot_mount *mount)
{
    g_string_append_printf(text, "%s{", name);
    metrics_label(text, "camera", mount->camera);
    metrics_label(text, "view", mount->view);
}

static void add_totals(GString *text, const struct snapshot *snapshot)
{
    metrics_begin(text, "edged_info", "gauge", "Always 1; what runs, in labels.");
    g_string_append(text, "edged_info{");
    metrics_label(text, "version", EDGED_VERSION);
    metrics_label(text, "backend", snapshot->backend);
    metrics_end(text, 1);
    metrics_begin(text, "edged_uptime_seconds", "gauge", "Time since edged started.");
    g_string_append(text, "edged_uptime_seconds ");
    metrics_double(text, "%.3f", snapshot->uptime_s);
    g_string_append_c(text, '\n');
    if (snapshot->fingerprint[0]) {
        metrics_begin(text, "edged_certificate_expires_timestamp_seconds", "gauge",
                      "The last moment of the certificate that is shown, since 1970.");
        g_string_append_printf(text, "edged_certificate_expires_timestamp_seconds %" PRId64 "\n",
                               snapshot->certificate_expires_s);
    }
    metrics_begin(text, "edged_config_last_reload_successful", "gauge",
                  "1, or 0 when the last reload was refused.");
    g_string_append_printf(text, "edged_config_last_reload_successful %d\n",
                           !snapshot->configuration.refused);
    metrics_begin(text, "edged_config_last_reload_success_timestamp_seconds", "gauge",
                  "When the configuration in use was loaded, since 1970.");
    g_string_append(text, "edged_config_last_reload_success_timestamp_seconds ");
    metrics_double(text, "%.3f", (double)snapshot->configuration.applied_at_ns / (double)NS_PER_S);
    g_string_append_c(text, '\n');
    metrics_begin(text, "edged_viewers", "gauge", "RTSP sessions that play.");
    g_string_append_printf(text, "edged_viewers %u\n", snapshot->viewers);
    metrics_begin(text, "edged_failed_logins_total", "counter", "Logins with a wrong password.");
    g_string_append_printf(text, "edged_failed_logins_total %" PRIu64 "\n",
                           snapshot->failed_logins);
    metrics_begin(text, "edged_throttled_logins_total", "counter",
                  "Logins that were told to come again later.");
    g_string_append_printf(text, "edged_throttled_logins_total %" PRIu64 "\n",
                           snapshot->throttled_logins);
}

static void add_camera_states(GString *text, const struct snapshot *snapshot)
{
    metrics_begin(text, "edged_camera_state", "gauge", "1 for the state the camera is in, else 0.");
    for (size_t i = 0; i < snapshot->camera_count; i++) {
        const struct snapshot_camera *camera = &snapshot->cameras[i];

        for (size_t state = 0; state < ARRAY_LENGTH(camera_states); state++) {
            g_string_append(text, "edged_camera_state{");
            metrics_label(text, "camera", camera->name);
            metrics_label(text, "state", camera_states[state]);
            metrics_end(text, strcmp(camera->state, camera_states[state]) == 0);
        }
    }
}

static void add_backends(GString *text, const struct snapshot *snapshot)
{
    metrics_begin(text, "edged_camera_backend_info", "gauge",
                  "Always 1; what computes the camera's views, as a label.");
    for (size_t i = 0; i < snapshot->camera_count; i++) {
        const struct snapshot_camera *camera = &snapshot->cameras[i];

        if (camera->telemetry.backend[0]) {
            g_string_append(text, "edged_camera_backend_info{");
            metrics_label(text, "camera", camera->name);
            metrics_label(text, "backend", camera->telemetry.backend);
            metrics_end(text, 1);
        }
    }
}

static void add_pace(GString *text, const struct snapshot *snapshot)
{
    metrics_begin(text, "edged_camera_frames_per_second", "gauge",
                  "Frames captured over the last second.");
    for (size_t i = 0; i < snapshot->camera_count; i++) {
        g_string_append(text, "edged_camera_frames_per_second{");
        metrics_label(text, "camera", snapshot->cameras[i].name);
        metrics_end_double(text, "%.6g", snapshot->cameras[i].telemetry.fps_milli / 1e3);
    }
    metrics_begin(text, "edged_camera_last_frame_age_seconds", "gauge",
                  "Time since the newest frame that the camera process told of, once a second.");
    for (size_t i = 0; i < snapshot->camera_count; i++) {
        if (snapshot->cameras[i].frame_age_s >= 0) {
            g_string_append(text, "edged_camera_last_frame_age_seconds{");
            metrics_label(text, "camera", snapshot->cameras[i].name);
            metrics_end_double(text, "%.3f", snapshot->cameras[i].frame_age_s);
        }
    }
}

// `camera`: NULL for the front.
static void begin_process_sample(GString *text, const char *name,
                                 const struct snapshot_camera *camera)
{
    g_string_append_printf(text, "%s{", name);
    metrics_label(text, "role", camera ? "camera" : "front");
    if (camera) {
        metrics_label(text, "camera", camera->name);
    }
}

// A process that is gone has no samples; its successor counts from 0.
static void add_processes(GString *text, const struct snapshot *snapshot)
{
    static const char cpu[] = "edged_process_cpu_seconds_total";
    static const char memory[] = "edged_process_resident_memory_bytes";

    metrics_begin(text, cpu, "counter", "Processor time of the front and of each camera process.");
    begin_process_sample(text, cpu, NULL);
    metrics_end_double(text, "%.2f", snapshot->usage.cpu_s);
    for (size_t i = 0; i < snapshot->camera_count; i++) {
        if (snapshot->cameras[i].pid) {
            begin_process_sample(text, cpu, &snapshot->cameras[i]);
            metrics_end_double(text, "%.2f", snapshot->cameras[i].usage.cpu_s);
        }
    }
    metrics_begin(text, memory, "gauge", "Memory in RAM of the front and of each camera process.");
    begin_process_sample(text, memory, NULL);
    metrics_end(text, snapshot->usage.resident_bytes);
    for (size_t i = 0; i < snapshot->camera_count; i++) {
        if (snapshot->cameras[i].pid) {
            begin_process_sample(text, memory, &snapshot->cameras[i]);
            metrics_end(text, snapshot->cameras[i].usage.resident_bytes);
        }
    }
}

static void add_cameras(GString *text, const struct snapshot *snapshot)
{
    add_camera_states(text, snapshot);
    add_backends(text, snapshot);
    add_pace(text, snapshot);
    for (size_t row = 0; row < ARRAY_LENGTH(camera_counters); row++) {
        const struct counter *counter = &camera_counters[row];

        metrics_begin(text, counter->name, "counter", counter->help);
        for (size_t i = 0; i < snapshot->camera_count; i++) {
            const char *camera = (const char *)&snapshot->cameras[i];

            g_string_append_printf(text, "%s{", counter->name);
            metrics_label(text, "camera", snapshot->cameras[i].name);
            metrics_end(text, *(const uint64_t *)(camera + counter->offset));
        }
    }
    metrics_begin(text, "edged_copies_total", "counter", "Copies of a whole frame, by reason.");
    for (size_t i = 0; i < snapshot->camera_count; i++) {
        for (unsigned kind = 0; kind < COPY_KIND_COUNT; kind++) {
            g_string_append(text, "edged_copies_total{");
            metrics_label(text, "camera", snapshot->cameras[i].name);
            metrics_label(text, "kind", copy_kind_name(kind));
            metrics_end(text, snapshot->cameras[i].telemetry.copies[kind]);
        }
    }
}

static void add_stages(GString *text, const struct snapshot *snapshot)
{
    for (size_t row = 0; row < ARRAY_LENGTH(stage_counters); row++) {
        const struct counter *counter = &stage_counters[row];

        metrics_begin(text, counter->name, "counter", counter->help);
        for (size_t i = 0; i < snapshot->camera_count; i++) {
            for (unsigned kind = 0; kind < STAGE_KIND_COUNT; kind++) {
                const char *counts = (const char *)&snapshot->cameras[i].telemetry.stages[kind];

                g_string_append_printf(text, "%s{", counter->name);
                metrics_label(text, "camera", snapshot->cameras[i].name);
                metrics_label(text, "stage", stage_kind_name(kind));
                metrics_end(text, *(const uint64_t *)(counts + counter->offset));
            }
        }
    }
}

static void begin_region_sample(GString *text, const char *name,
                                const struct snapshot_camera *camera,
                                const struct snapshot_region *region)
{
    g_string_append_printf(text, "%s{", name);
    metrics_label(text, "camera", camera->name);
    metrics_label(text, "region", region->name);
}

static void add_region_moving(GString *text, const struct snapshot_region *region)
{
    metrics_end(text, region->moving);
}

static void add_region_share(GString *text, const struct snapshot_region *region)
{
    metrics_end_double(text, "%.6f", region->share);
}

static void add_region_events(GString *text, const struct snapshot_region *region)
{
    metrics_end(text, region->events);
}

static void add_regions(GString *text, const struct snapshot *snapshot)
{
    static const struct {
        const char *name, *type, *help;
        void (*add)(GString *text, const struct snapshot_region *region); // the rest of a sample
    } metrics[] = {
        {"edged_region_moving", "gauge", "1 while motion in the region is an event, else 0.",
         add_region_moving},
        {"edged_region_share", "gauge", "Moving pixels of the region's, 0 to 1.", add_region_share},
        {"edged_region_events_total", "counter", "Motion events that began in the region.",
         add_region_events},
    };

    for (size_t row = 0; row < ARRAY_LENGTH(metrics); row++) {
        metrics_begin(text, metrics[row].name, metrics[row].type, metrics[row].help);
        for (size_t i = 0; i < snapshot->camera_count; i++) {
            const struct snapshot_camera *camera = &snapshot->cameras[i];

            for (size_t j = 0; j < camera->region_count; j++) {
                begin_region_sample(text, metrics[row].name, camera, &camera->regions[j]);
                metrics[row].add(text, &camera->regions[j]);
            }
        }
    }
}

static void add_mounts(GString *text, const struct snapshot *snapshot)
{
    metrics_begin(text, "edged_mount_viewers", "gauge", "RTSP sessions that play this view.");
    for (size_t i = 0; i < snapshot->mount_count; i++) {
        begin_mount_sample(text, "edged_mount_viewers", &snapshot->mounts[i]);
        metrics_end(text, snapshot->mounts[i].viewers);
    }
    metrics_begin(text, "edged_mount_bytes_per_second", "gauge",
                  "Encoded bytes over the last second.");
    for (size_t i = 0; i < snapshot->mount_count; i++) {
        begin_mount_sample(text, "edged_mount_bytes_per_second", &snapshot->mounts[i]);
        metrics_end(text, snapshot->mounts[i].bitrate_kbps * UINT64_C(125));
    }
    for (size_t row = 0; row < ARRAY_LENGTH(mount_counters); row++) {
        const struct counter *counter = &mount_counters[row];

        metrics_begin(text, counter->name, "counter", counter->help);
        for (size_t i = 0; i < snapshot->mount_count; i++) {
            const char *mount = (const char *)&snapshot->mounts[i];

            begin_mount_sample(text, counter->name, &snapshot->mounts[i]);
            metrics_end(text, *(const uint64_t *)(mount + counter->offset));
        }
    }
}

#define LATENCY "edged_latency_seconds"
#define STEP "edged_step_seconds"

static void begin_step_sample(GString *text, const char *name, const struct snapshot_mount *mount,
                              enum latency_step step)
{
    begin_mount_sample(text, name, mount);
    metrics_label(text, "step", latency_step_name(step));
}

// The latency of the whole way in every second bucket, from 1 ms to 2.5 s; percentiles use all of
// them.
static void add_latency(GString *text, const struct snapshot_mount *mount)
{
    const struct histogram *histogram = &mount->latency[LATENCY_CAPTURE_TO_RTP];
    uint64_t cumulative = 0;

    for (unsigned bucket = 0; bucket <= HISTOGRAM_COARSE_LAST; bucket++) {
        cumulative += histogram->buckets[bucket];
        if (bucket >= HISTOGRAM_COARSE_FIRST && (bucket - HISTOGRAM_COARSE_FIRST) % 2 == 0) {
            char bound[G_ASCII_DTOSTR_BUF_SIZE];

            g_ascii_formatd(bound, sizeof bound, "%g", histogram_bound_s(bucket));
            begin_step_sample(text, LATENCY "_bucket", mount, LATENCY_CAPTURE_TO_RTP);
            metrics_label(text, "le", bound);
            metrics_end(text, cumulative);
        }
    }
    begin_step_sample(text, LATENCY "_bucket", mount, LATENCY_CAPTURE_TO_RTP);
    metrics_label(text, "le", "+Inf");
    metrics_end(text, histogram->count);
    begin_step_sample(text, LATENCY "_sum", mount, LATENCY_CAPTURE_TO_RTP);
    metrics_end_double(text, "%.9f", histogram->sum_s);
    begin_step_sample(text, LATENCY "_count", mount, LATENCY_CAPTURE_TO_RTP);
    metrics_end(text, histogram->count);
}

static void add_steps(GString *text, const struct snapshot_mount *mount)
{
    for (unsigned step = 0; step < LATENCY_CAPTURE_TO_RTP; step++) {
        begin_step_sample(text, STEP "_sum", mount, step);
        metrics_end_double(text, "%.9f", mount->latency[step].sum_s);
        begin_step_sample(text, STEP "_count", mount, step);
        metrics_end(text, mount->latency[step].count);
    }
}

char *status_metrics(const struct snapshot *snapshot)
{
    GString *text = g_string_sized_new(16384);

    add_totals(text, snapshot);
    add_processes(text, snapshot);
    status_add_board_metrics(text, snapshot);
    add_cameras(text, snapshot);
    add_stages(text, snapshot);
    add_regions(text, snapshot);
    add_mounts(text, snapshot);
    metrics_begin(text, LATENCY, "histogram",
                  "Time from the camera's time stamp to the packetizer.");
    for (size_t i = 0; i < snapshot->mount_count; i++) {
        add_latency(text, &snapshot->mounts[i]);
    }
    metrics_begin(text, STEP, "summary", "Time a frame spends in a step of its way.");
    for (size_t i = 0; i < snapshot->mount_count; i++) {
        add_steps(text, &snapshot->mounts[i]);
    }
    return g_string_free(text, FALSE);
}
