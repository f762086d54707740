// GET /metrics: Prometheus text format 0.0.4. Base units (seconds, bytes, bits) in the names; a
// metric's samples stand together under one HELP and TYPE, so the loops go metric by metric.
#include "daemon/front/status.h"

#include "config/base.h"
#include "kernels/stage.h"

#include <glib.h>
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

static const char *const camera_states[] = {"starting", "live", "no signal", "restarting",
                                            "failed"};

static void begin_metric(GString *text, const char *name, const char *type, const char *help)
{
    g_string_append_printf(text, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

// Appends name="value", with a backslash before what would end the value.
static void add_label(GString *text, const char *name, const char *value)
{
    g_autofree char *valid = g_utf8_make_valid(value, -1);

    if (text->str[text->len - 1] != '{') {
        g_string_append_c(text, ',');
    }
    g_string_append_printf(text, "%s=\"", name);
    for (const char *c = valid; *c; c++) {
        if (*c == '\n') {
            g_string_append(text, "\\n");
            continue;
        }
        if (*c == '\\' || *c == '"') {
            g_string_append_c(text, '\\');
        }
        g_string_append_c(text, *c);
    }
    g_string_append_c(text, '"');
}

// Decimal point whatever the locale says; `format` for g_ascii_formatd().
static void add_double(GString *text, const char *format, double value)
{
    char number[G_ASCII_DTOSTR_BUF_SIZE];

    g_string_append(text, g_ascii_formatd(number, sizeof number, format, value));
}

static void end_sample(GString *text, uint64_t value)
{
    g_string_append_printf(text, "} %" G_GUINT64_FORMAT "\n", value);
}

static void begin_mount_sample(GString *text, const char *name, const struct snapshot_mount *mount)
{
    g_string_append_printf(text, "%s{", name);
    add_label(text, "camera", mount->camera);
    add_label(text, "view", mount->view);
}

static void add_totals(GString *text, const struct snapshot *snapshot)
{
    begin_metric(text, "edged_info", "gauge", "Always 1; what runs, in labels.");
    g_string_append(text, "edged_info{");
    add_label(text, "version", EDGED_VERSION);
    add_label(text, "backend", snapshot->backend);
    end_sample(text, 1);
    begin_metric(text, "edged_uptime_seconds", "gauge", "Time since edged started.");
    g_string_append(text, "edged_uptime_seconds ");
    add_double(text, "%.3f", snapshot->uptime_s);
    g_string_append_c(text, '\n');
    begin_metric(text, "edged_config_last_reload_successful", "gauge",
                 "1, or 0 when the last reload was refused.");
    g_string_append_printf(text, "edged_config_last_reload_successful %d\n",
                           !snapshot->configuration.refused);
    begin_metric(text, "edged_config_last_reload_success_timestamp_seconds", "gauge",
                 "When the configuration in use was loaded, since 1970.");
    g_string_append(text, "edged_config_last_reload_success_timestamp_seconds ");
    add_double(text, "%.3f", (double)snapshot->configuration.applied_at_ns / (double)NS_PER_S);
    g_string_append_c(text, '\n');
    begin_metric(text, "edged_viewers", "gauge", "RTSP sessions that play.");
    g_string_append_printf(text, "edged_viewers %u\n", snapshot->viewers);
}

static void add_camera_states(GString *text, const struct snapshot *snapshot)
{
    begin_metric(text, "edged_camera_state", "gauge", "1 for the state the camera is in, else 0.");
    for (size_t i = 0; i < snapshot->camera_count; i++) {
        const struct snapshot_camera *camera = &snapshot->cameras[i];

        for (size_t state = 0; state < ARRAY_LENGTH(camera_states); state++) {
            g_string_append(text, "edged_camera_state{");
            add_label(text, "camera", camera->name);
            add_label(text, "state", camera_states[state]);
            end_sample(text, strcmp(camera->state, camera_states[state]) == 0);
        }
    }
}

static void add_backends(GString *text, const struct snapshot *snapshot)
{
    begin_metric(text, "edged_camera_backend_info", "gauge",
                 "Always 1; what computes the camera's views, as a label.");
    for (size_t i = 0; i < snapshot->camera_count; i++) {
        const struct snapshot_camera *camera = &snapshot->cameras[i];

        if (camera->telemetry.backend[0]) {
            g_string_append(text, "edged_camera_backend_info{");
            add_label(text, "camera", camera->name);
            add_label(text, "backend", camera->telemetry.backend);
            end_sample(text, 1);
        }
    }
}

static void add_cameras(GString *text, const struct snapshot *snapshot)
{
    add_camera_states(text, snapshot);
    add_backends(text, snapshot);
    for (size_t row = 0; row < ARRAY_LENGTH(camera_counters); row++) {
        const struct counter *counter = &camera_counters[row];

        begin_metric(text, counter->name, "counter", counter->help);
        for (size_t i = 0; i < snapshot->camera_count; i++) {
            const char *camera = (const char *)&snapshot->cameras[i];

            g_string_append_printf(text, "%s{", counter->name);
            add_label(text, "camera", snapshot->cameras[i].name);
            end_sample(text, *(const uint64_t *)(camera + counter->offset));
        }
    }
    begin_metric(text, "edged_copies_total", "counter", "Copies of a whole frame, by reason.");
    for (size_t i = 0; i < snapshot->camera_count; i++) {
        for (unsigned kind = 0; kind < COPY_KIND_COUNT; kind++) {
            g_string_append(text, "edged_copies_total{");
            add_label(text, "camera", snapshot->cameras[i].name);
            add_label(text, "kind", copy_kind_name(kind));
            end_sample(text, snapshot->cameras[i].telemetry.copies[kind]);
        }
    }
}

static void add_stages(GString *text, const struct snapshot *snapshot)
{
    for (size_t row = 0; row < ARRAY_LENGTH(stage_counters); row++) {
        const struct counter *counter = &stage_counters[row];

        begin_metric(text, counter->name, "counter", counter->help);
        for (size_t i = 0; i < snapshot->camera_count; i++) {
            for (unsigned kind = 0; kind < STAGE_KIND_COUNT; kind++) {
                const char *counts = (const char *)&snapshot->cameras[i].telemetry.stages[kind];

                g_string_append_printf(text, "%s{", counter->name);
                add_label(text, "camera", snapshot->cameras[i].name);
                add_label(text, "stage", stage_kind_name(kind));
                end_sample(text, *(const uint64_t *)(counts + counter->offset));
            }
        }
    }
}

static void begin_region_sample(GString *text, const char *name,
                                const struct snapshot_camera *camera,
                                const struct snapshot_region *region)
{
    g_string_append_printf(text, "%s{", name);
    add_label(text, "camera", camera->name);
    add_label(text, "region", region->name);
}

static void add_region_moving(GString *text, const struct snapshot_region *region)
{
    end_sample(text, region->moving);
}

static void add_region_share(GString *text, const struct snapshot_region *region)
{
    g_string_append(text, "} ");
    add_double(text, "%.6f", region->share);
    g_string_append_c(text, '\n');
}

static void add_region_events(GString *text, const struct snapshot_region *region)
{
    end_sample(text, region->events);
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
        begin_metric(text, metrics[row].name, metrics[row].type, metrics[row].help);
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
    begin_metric(text, "edged_mount_viewers", "gauge", "RTSP sessions that play this view.");
    for (size_t i = 0; i < snapshot->mount_count; i++) {
        begin_mount_sample(text, "edged_mount_viewers", &snapshot->mounts[i]);
        end_sample(text, snapshot->mounts[i].viewers);
    }
    begin_metric(text, "edged_mount_bits_per_second", "gauge",
                 "Encoded bits over the last second.");
    for (size_t i = 0; i < snapshot->mount_count; i++) {
        begin_mount_sample(text, "edged_mount_bits_per_second", &snapshot->mounts[i]);
        end_sample(text, snapshot->mounts[i].bitrate_kbps * UINT64_C(1000));
    }
    for (size_t row = 0; row < ARRAY_LENGTH(mount_counters); row++) {
        const struct counter *counter = &mount_counters[row];

        begin_metric(text, counter->name, "counter", counter->help);
        for (size_t i = 0; i < snapshot->mount_count; i++) {
            const char *mount = (const char *)&snapshot->mounts[i];

            begin_mount_sample(text, counter->name, &snapshot->mounts[i]);
            end_sample(text, *(const uint64_t *)(mount + counter->offset));
        }
    }
}

static void begin_latency_sample(GString *text, const char *suffix,
                                 const struct snapshot_mount *mount, enum latency_step step)
{
    g_string_append(text, "edged_latency_seconds");
    begin_mount_sample(text, suffix, mount);
    add_label(text, "step", latency_step_name(step));
}

static void add_histogram(GString *text, const struct snapshot_mount *mount, enum latency_step step)
{
    const struct histogram *histogram = &mount->latency[step];
    uint64_t cumulative = 0;
    char bound[G_ASCII_DTOSTR_BUF_SIZE];

    for (unsigned bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        cumulative += histogram->buckets[bucket];
        g_ascii_formatd(bound, sizeof bound, "%g", histogram_bound_s(bucket));
        begin_latency_sample(text, "_bucket", mount, step);
        add_label(text, "le", bound);
        end_sample(text, cumulative);
    }
    begin_latency_sample(text, "_bucket", mount, step);
    add_label(text, "le", "+Inf");
    end_sample(text, histogram->count);
    begin_latency_sample(text, "_sum", mount, step);
    g_string_append(text, "} ");
    add_double(text, "%.9f", histogram->sum_s);
    g_string_append_c(text, '\n');
    begin_latency_sample(text, "_count", mount, step);
    end_sample(text, histogram->count);
}

char *status_metrics(const struct snapshot *snapshot)
{
    GString *text = g_string_sized_new(16384);

    add_totals(text, snapshot);
    add_cameras(text, snapshot);
    add_stages(text, snapshot);
    add_regions(text, snapshot);
    add_mounts(text, snapshot);
    begin_metric(text, "edged_latency_seconds", "histogram",
                 "Time a frame spends in a step; capture_to_rtp is the whole of its way.");
    for (size_t i = 0; i < snapshot->mount_count; i++) {
        for (unsigned step = 0; step < LATENCY_STEP_COUNT; step++) {
            add_histogram(text, &snapshot->mounts[i], step);
        }
    }
    return g_string_free(text, FALSE);
}
