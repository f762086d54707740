// The JSON of GET /v1/status. Its fields are a contract, documented in edgectl(1): more may be
// added, none renamed or removed.
#include "daemon/front/status/status.h"

#include "config/config.h"
#include "daemon/common/json_members.h"
#include "daemon/common/json_text.h"
#include "kernels/stage/stage_kind.h"

#include <math.h>

static double per_frame(uint64_t count, uint64_t frames)
{
    return frames > 0 ? (double)count / frames : 0;
}

static void add_copies(JsonBuilder *builder, const struct link_telemetry *telemetry)
{
    uint64_t sum = 0;

    json_builder_set_member_name(builder, "copies");
    json_builder_begin_object(builder);
    for (unsigned kind = 0; kind < COPY_KIND_COUNT; kind++) {
        json_builder_set_member_name(builder, copy_kind_name(kind));
        json_builder_begin_object(builder);
        json_add_integer(builder, "total", telemetry->copies[kind]);
        json_add_number(builder, "per_frame",
                        per_frame(telemetry->copies[kind], telemetry->frames));
        json_builder_end_object(builder);
        sum += telemetry->copies[kind];
    }
    json_builder_end_object(builder);
    json_add_number(builder, "copies_per_frame", per_frame(sum, telemetry->frames));
}

// The stages that some view has needed so far.
static void add_stages(JsonBuilder *builder, const struct link_telemetry *telemetry)
{
    json_builder_set_member_name(builder, "stages");
    json_builder_begin_array(builder);
    for (unsigned kind = 0; kind < STAGE_KIND_COUNT; kind++) {
        if (telemetry->stages[kind].runs + telemetry->stages[kind].shared > 0) {
            json_builder_begin_object(builder);
            json_add_string(builder, "name", stage_kind_name(kind));
            json_add_integer(builder, "runs", telemetry->stages[kind].runs);
            json_add_integer(builder, "shared", telemetry->stages[kind].shared);
            json_builder_end_object(builder);
        }
    }
    json_builder_end_array(builder);
}

static void add_passed_over(JsonBuilder *builder, uint32_t encoders)
{
    json_builder_set_member_name(builder, "encoders_passed_over");
    json_builder_begin_array(builder);
    for (enum config_encoder encoder = 0; encoder < CONFIG_ENCODER_COUNT; encoder++) {
        if (encoders >> encoder & 1) {
            json_builder_add_string_value(builder, config_encoder_name(encoder));
        }
    }
    json_builder_end_array(builder);
}

static void add_region(JsonBuilder *builder, const struct snapshot_region *region)
{
    json_builder_begin_object(builder);
    json_add_string(builder, "name", region->name);
    json_builder_set_member_name(builder, "moving");
    json_builder_add_boolean_value(builder, region->moving);
    json_add_number(builder, "share", region->share);
    motion_add_box(builder, &region->box);
    json_add_integer(builder, "events", (int64_t)region->events);
    json_builder_end_object(builder);
}

static void add_usage(JsonBuilder *builder, const struct snapshot_usage *usage)
{
    json_add_number(builder, "cpu_s", usage->cpu_s);
    json_add_integer(builder, "resident_bytes", (int64_t)usage->resident_bytes);
}

static void add_frame_age(JsonBuilder *builder, double frame_age_s)
{
    json_builder_set_member_name(builder, "frame_age_s");
    if (frame_age_s < 0) {
        json_builder_add_null_value(builder);
    } else {
        json_builder_add_double_value(builder, frame_age_s);
    }
}

static void add_camera(JsonBuilder *builder, const struct snapshot_camera *camera)
{
    const struct link_telemetry *telemetry = &camera->telemetry;

    json_builder_begin_object(builder);
    json_add_string(builder, "name", camera->name);
    json_add_string(builder, "state", camera->state);
    json_add_string(builder, "error", camera->error[0] ? camera->error : telemetry->error);
    json_add_string(builder, "source", camera->source);
    json_add_string(builder, "path", telemetry->path);
    json_add_string(builder, "backend", telemetry->backend);
    json_add_string(builder, "gpu", telemetry->gpu);
    json_add_integer(builder, "gpu_faults", camera->gpu_faults);
    json_add_integer(builder, "encoder_hangs", camera->encoder_hangs);
    add_passed_over(builder, camera->encoders_passed_over);
    json_add_string(builder, "format", telemetry->format);
    json_add_integer(builder, "width", telemetry->width);
    json_add_integer(builder, "height", telemetry->height);
    json_add_number(builder, "fps", telemetry->fps_milli / 1e3);
    add_frame_age(builder, camera->frame_age_s);
    json_add_integer(builder, "frames", telemetry->frames);
    json_add_integer(builder, "dropped", telemetry->dropped);
    json_add_integer(builder, "corrupted", telemetry->corrupted);
    json_add_integer(builder, "reconnects", telemetry->reconnects);
    json_builder_set_member_name(builder, "process");
    json_builder_begin_object(builder);
    json_add_integer(builder, "pid", camera->pid);
    json_add_integer(builder, "restarts", camera->process_restarts);
    add_usage(builder, &camera->usage);
    json_builder_end_object(builder);
    add_copies(builder, telemetry);
    add_stages(builder, telemetry);
    json_builder_set_member_name(builder, "regions");
    json_builder_begin_array(builder);
    for (size_t i = 0; i < camera->region_count; i++) {
        add_region(builder, &camera->regions[i]);
    }
    json_builder_end_array(builder);
    json_builder_end_object(builder);
}

static void add_latency(JsonBuilder *builder, const char *name, const struct histogram *histogram)
{
    json_builder_set_member_name(builder, name);
    json_builder_begin_object(builder);
    json_add_number(builder, "p50", histogram_percentile_ms(histogram, 0.50));
    json_add_number(builder, "p95", histogram_percentile_ms(histogram, 0.95));
    json_add_number(builder, "p99", histogram_percentile_ms(histogram, 0.99));
    json_add_number(builder, "mean",
                    histogram->count ? histogram->sum_s / histogram->count * 1e3 : 0);
    json_add_integer(builder, "count", histogram->count);
    json_builder_end_object(builder);
}

static void add_mount(JsonBuilder *builder, const struct snapshot *snapshot,
                      const struct snapshot_mount *mount)
{
    g_autofree char *url = g_strconcat(snapshot->rtsp_url, mount->path, NULL);

    json_builder_begin_object(builder);
    json_add_string(builder, "path", mount->path);
    json_add_string(builder, "url", url);
    json_add_string(builder, "alias", mount->has_alias ? SNAPSHOT_ALIAS_PATH : "");
    json_add_string(builder, "camera", mount->camera);
    json_add_string(builder, "view", mount->view);
    json_add_string(builder, "kind", mount->kind);
    json_add_string(builder, "encoder", mount->encoder);
    json_add_string(builder, "governor", mount->governor);
    json_add_integer(builder, "viewers", mount->viewers);
    json_add_string(builder, "multicast", mount->multicast);
    json_add_integer(builder, "bitrate_kbps", mount->bitrate_kbps);
    json_add_integer(builder, "access_units", mount->access_units);
    json_add_integer(builder, "key_frames", mount->key_frames);
    json_add_integer(builder, "bytes", mount->bytes);
    json_add_integer(builder, "encoded", mount->encoded);
    json_add_integer(builder, "dropped", mount->dropped);
    json_add_integer(builder, "bad_timestamps", mount->bad_timestamps);
    json_builder_set_member_name(builder, "latency_ms");
    json_builder_begin_object(builder);
    for (unsigned step = 0; step < LATENCY_STEP_COUNT; step++) {
        add_latency(builder, latency_step_name(step), &mount->latency[step]);
    }
    json_builder_end_object(builder);
    json_builder_end_object(builder);
}

static void add_certificate(JsonBuilder *builder, const struct snapshot *snapshot)
{
    json_builder_set_member_name(builder, "certificate");
    if (!snapshot->fingerprint[0]) {
        json_builder_add_null_value(builder);
        return;
    }
    json_builder_begin_object(builder);
    json_add_string(builder, "fingerprint", snapshot->fingerprint);
    json_add_time(builder, "expires", snapshot->certificate_expires_s * NS_PER_S);
    json_builder_end_object(builder);
}

char *status_json(const struct snapshot *snapshot)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();
    g_autoptr(JsonNode) root = NULL;

    json_builder_begin_object(builder);
    json_add_string(builder, "version", EDGED_VERSION);
    json_add_number(builder, "uptime_s", round(snapshot->uptime_s * 10) / 10);
    json_add_string(builder, "backend", snapshot->backend);
    json_add_string(builder, "rtsp", snapshot->rtsp_url);
    json_add_string(builder, "rtsps", snapshot->rtsps_url);
    json_add_string(builder, "http", snapshot->http_url);
    add_certificate(builder, snapshot);
    json_add_string(builder, "certificate_error", snapshot->certificate_error);
    json_add_integer(builder, "viewers", snapshot->viewers);
    json_builder_set_member_name(builder, "logins");
    json_builder_begin_object(builder);
    json_add_integer(builder, "failed", (int64_t)snapshot->failed_logins);
    json_add_integer(builder, "throttled", (int64_t)snapshot->throttled_logins);
    json_builder_end_object(builder);
    json_builder_set_member_name(builder, "configuration");
    reload_verdict_add(builder, &snapshot->configuration);
    json_builder_set_member_name(builder, "process");
    json_builder_begin_object(builder);
    add_usage(builder, &snapshot->usage);
    json_builder_end_object(builder);
    status_add_board(builder, snapshot);
    json_builder_set_member_name(builder, "cameras");
    json_builder_begin_array(builder);
    for (size_t i = 0; i < snapshot->camera_count; i++) {
        add_camera(builder, &snapshot->cameras[i]);
    }
    json_builder_end_array(builder);
    json_builder_set_member_name(builder, "mounts");
    json_builder_begin_array(builder);
    for (size_t i = 0; i < snapshot->mount_count; i++) {
        add_mount(builder, snapshot, &snapshot->mounts[i]);
    }
    json_builder_end_array(builder);
    json_builder_end_object(builder);
    root = json_builder_get_root(builder);
    return json_text(root, true);
}
