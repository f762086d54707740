#include "daemon/front/model/status.h"

#include "daemon/front/model/summary.h"
#include "daemon/front/status/facts.h"
#include "kernels/stage/stage_kind.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define DAY_NS (86400 * NS_PER_S)

// The resources that a process has used since it was started.
struct process_usage {
    double cpu_s;            // of all its threads
    uint64_t resident_bytes; // memory that it has in RAM
};

// Reads what the kernel counts for a process; 0 where there is none.
static struct process_usage read_usage(pid_t pid)
{
    struct process_usage usage = {0};
    unsigned long user, system, pages;
    char path[32], line[1024] = "";
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = pid > 0 ? fopen(path, "re") : NULL;
    if (!file)
        return usage;
    if (!fgets(line, sizeof line, file))
        line[0] = 0;
    fclose(file);
    // Fields 14, 15 and 24 of proc(5); the second is a name in brackets that may hold anything.
    const char *after = strrchr(line, ')');
    if (after && sscanf(after,
                        ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d "
                        "%*d %*u %*u %lu",
                        &user, &system, &pages) == 3) {
        usage.cpu_s = (double)(user + system) / (double)getauxval(AT_CLKTCK);
        usage.resident_bytes = (uint64_t)pages * getauxval(AT_PAGESZ);
    }
    return usage;
}

static void add_usage(struct facts *facts, const struct process_usage *usage)
{
    facts_add_number(facts, "cpu_s", usage->cpu_s, "edged_process_cpu_seconds_total", "%.2f",
                     "Processor time of the front and of each camera process.");
    facts_add_count(facts, "resident_bytes", usage->resident_bytes,
                    "edged_process_resident_memory_bytes",
                    "Memory in RAM of the front and of each camera process.");
}

static void add_verdict(struct facts *facts, const struct reload_verdict *verdict)
{
    facts_add_text(facts, "path", verdict->path ? verdict->path : "");
    facts_add_flag(facts, "successful", !verdict->refused, "edged_config_last_reload_successful",
                   "1, or 0 when the last reload was refused.");
    facts_add_time(facts, "time", verdict->at_ns);
    facts_add_time(facts, "applied", verdict->applied_at_ns);
    facts_add_number(facts, NULL, (double)verdict->applied_at_ns / (double)NS_PER_S,
                     "edged_config_last_reload_success_timestamp_seconds", "%.3f",
                     "When the configuration in use was loaded, since 1970.");
    facts_begin_list(facts, "problems");
    for (size_t i = 0; i < verdict->problems.count; i++) {
        g_autofree char *line = config_problem_line(&verdict->problems.list[i]);

        if (line)
            facts_add_element(facts, line);
    }
    facts_end(facts);
}

static void add_certificate(struct facts *facts, const char *fingerprint, int64_t expires_s)
{
    facts_begin(facts, "certificate");
    facts_add_text(facts, "fingerprint", fingerprint);
    facts_add_time(facts, "expires", expires_s * NS_PER_S);
    facts_add_count(facts, NULL, (uint64_t)expires_s, "edged_certificate_expires_timestamp_seconds",
                    "The last moment of the certificate that is shown, since 1970.");
    facts_end(facts);
}

static void add_url(struct facts *facts, const char *json, const char *url)
{
    char shown[SUMMARY_URL_SIZE];

    facts_add_text(facts, json, summary_show_url(url, shown));
}

static void add_urls(struct facts *facts, const struct model_places *places)
{
    add_url(facts, "rtsp", places->rtsp_url);
    add_url(facts, "rtsps", places->rtsps_url);
    add_url(facts, "http", places->http_url);
    facts_add_text(facts, "certificate_error",
                   places->certificate_error ? places->certificate_error : "");
}

static void add_places(struct facts *facts, const struct model_places *places)
{
    const struct certificate *certificate = places->certificate;

    add_urls(facts, places);
    if (certificate) {
        add_certificate(facts, certificate_fingerprint(certificate),
                        certificate_expires_s(certificate));
    } else {
        facts_add_null(facts, "certificate");
    }
}

static void add_logins(struct facts *facts, const struct account_counters *counters)
{
    facts_begin(facts, "logins");
    facts_add_count(facts, "failed", counters->failed, "edged_failed_logins_total",
                    "Logins with a wrong password.");
    facts_add_count(facts, "throttled", counters->throttled, "edged_throttled_logins_total",
                    "Logins that were told to come again later.");
    facts_end(facts);
}

static void add_recorder_counts(struct facts *facts, const struct record_state_report *report)
{
    facts_add_count(facts, "clips", report->clips, "edged_recorder_clips",
                    "Clips in the recorder's folder.");
    facts_add_count(facts, "open_clips", report->open_clips, "edged_recorder_open_clips",
                    "Clips that are being written.");
    facts_add_count(facts, "kept_clips", report->kept_clips, "edged_recorder_kept_clips",
                    "Clips that are never deleted.");
    facts_add_count(facts, "clip_bytes", report->clip_bytes, "edged_recorder_clip_bytes",
                    "Bytes of all clips with their pictures.");
    facts_add_count(facts, "free_bytes", report->free_bytes, "edged_recorder_free_bytes",
                    "Free bytes of the file system that has the clips.");
    facts_add_count(facts, "waiting_bytes", report->waiting_bytes, "edged_recorder_waiting_bytes",
                    "Bytes in memory that wait for the disk.");
    facts_add_count(facts, "written_bytes", report->written_bytes,
                    "edged_recorder_written_bytes_total", "Bytes written to the disk.");
    facts_add_count(facts, "written_clips", report->written_clips,
                    "edged_recorder_written_clips_total", "Clips that were ended.");
    facts_add_count(facts, "deleted_clips", report->deleted_clips,
                    "edged_recorder_deleted_clips_total", "Clips that were deleted.");
    facts_add_count(facts, "lost_units", report->lost_units, "edged_recorder_lost_units_total",
                    "Access units lost because the disk or the recorder was too slow.");
    facts_add_number(facts, "write_max_s", (double)report->write_max_ns / (double)NS_PER_S,
                     "edged_recorder_write_max_seconds", "%.6f",
                     "The longest job of the disk within the last minute.");
}

// How far the clips reach back, what they may not take, and what wears a card.
static void add_storage(struct facts *facts, const struct record_state_report *report)
{
    int64_t now_ns = g_get_real_time() * NS_PER_US;
    int64_t reach_ns = report->oldest_wall_ns ? MAX(now_ns - report->oldest_wall_ns, 0) : 0;
    double running_days = (double)MAX(report->running_ns, NS_PER_S) / (double)DAY_NS;

    facts_begin(facts, "storage");
    facts_add_number(facts, "days", round((double)reach_ns * 100 / (double)DAY_NS) / 100, NULL,
                     NULL, NULL);
    facts_add_count(facts, NULL, (uint64_t)(report->oldest_wall_ns / NS_PER_S),
                    "edged_recorder_oldest_clip_timestamp_seconds",
                    "The beginning of the oldest clip that is not kept, since 1970.");
    facts_add_count(facts, "free_bytes", report->free_bytes, NULL, NULL);
    facts_add_count(facts, "total_bytes", report->total_bytes, "edged_recorder_total_bytes",
                    "Bytes of the file system that has the clips.");
    facts_add_count(facts, "kept_bytes", report->kept_bytes, "edged_recorder_kept_bytes",
                    "Bytes of the clips that are never deleted.");
    facts_add_count(facts, "lost_clips", report->lost_clips, "edged_recorder_lost_clips_total",
                    "Clips that could not be written, or found no room at their end.");
    facts_add_count(facts, "written_bytes_per_day",
                    (uint64_t)((double)report->written_bytes / running_days), NULL, NULL);
    facts_add_count(facts, "syncs_per_day", (uint64_t)((double)report->syncs / running_days), NULL,
                    NULL);
    facts_add_count(facts, NULL, report->syncs, "edged_recorder_syncs_total",
                    "Times that files or folders were synced to the disk.");
    facts_end(facts);
}

// `report` is NULL without a recorder; `fault` says why, "": nobody wants one.
static void add_recorder(struct facts *facts, const struct record_state_report *report,
                         const char *fault)
{
    static const char *const states[] = {
        [RECORD_OPENING] = "opening", [RECORD_READY] = "ready", [RECORD_STOPPED] = "stopped"};
    bool is_off = !report && !fault[0];

    facts_begin(facts, "recorder");
    facts_add_text(facts, "state", report ? states[report->state] : is_off ? "off" : "gone");
    facts_add_text(facts, "error", report ? report->sentence : fault);
    if (!is_off) {
        facts_add_count(facts, NULL, report && report->state == RECORD_READY,
                        "edged_recorder_ready", "1, or 0 while nothing can be recorded.");
    }
    if (report)
        add_recorder_counts(facts, report);
    facts_end(facts);
    if (report)
        add_storage(facts, report);
    else
        facts_add_null(facts, "storage");
}

static void add_start(struct facts *facts, double uptime_s, const char *backend)
{
    facts_add_text(facts, "version", EDGED_VERSION);
    facts_add_number(facts, "uptime_s", round(uptime_s * 10) / 10, NULL, NULL, NULL);
    facts_add_number(facts, NULL, uptime_s, "edged_uptime_seconds", "%.3f",
                     "Time since edged started.");
    facts_add_label(facts, "version", EDGED_VERSION);
    facts_add_info(facts, "backend", backend, "edged_info", "backend",
                   "Always 1; what runs, in labels.");
    facts_drop_labels(facts);
}

static void add_own_process(struct facts *facts, const struct process_usage *usage)
{
    facts_begin(facts, "process");
    facts_add_label(facts, "role", "front");
    add_usage(facts, usage);
    facts_end(facts);
}

static void add_viewers(struct facts *facts, unsigned viewers)
{
    facts_add_count(facts, "viewers", viewers, "edged_viewers",
                    "RTSP sessions that play, and readers of video by HTTP.");
}

static void add_board(struct facts *facts, const struct heat *heat)
{
    facts_begin(facts, "board");
    facts_begin_list(facts, "zones");
    for (uint32_t i = 0; i < heat->zone_count; i++) {
        facts_begin(facts, NULL);
        facts_add_text(facts, "name", heat->zones[i].name);
        facts_add_label(facts, "zone", heat->zones[i].name);
        facts_add_number(facts, "celsius", heat->zones[i].millidegrees / 1e3,
                         "edged_board_temperature_celsius", "%.3f",
                         "Temperature of a part of the board.");
        facts_end(facts);
    }
    facts_end(facts);
    facts_add_count(facts, "throttled", heat->throttled, "edged_board_throttled",
                    "Causes that slow the CPU or the GPU down now, a count.");
    facts_add_text(facts, "throttled_by", heat->throttled_by);
    facts_add_info(facts, "power_mode", heat->power_mode, "edged_board_power_mode_info", "mode",
                   "Always 1; the power mode, as a label.");
    if (heat->gpu_permille >= 0) {
        facts_add_number(facts, "gpu_load", heat->gpu_permille / 1e3, "edged_board_gpu_load_ratio",
                         "%.12g", "Time that the GPU is busy, 0 to 1.");
    }
    if (heat->gpu_hz > 0) {
        facts_add_count(facts, "gpu_hz", (uint64_t)heat->gpu_hz, "edged_board_gpu_hertz",
                        "The GPU's clock.");
        facts_add_count(facts, "gpu_hz_max", (uint64_t)heat->gpu_hz_max,
                        "edged_board_gpu_max_hertz", "The most that it may be.");
    }
    facts_end(facts);
}

static void add_state(struct facts *facts, const char *state)
{
    static const char *const states[] = {"starting", "live",       "no signal",
                                         "hanging",  "restarting", "failed"};

    facts_add_text(facts, "state", state);
    for (size_t i = 0; i < ARRAY_LENGTH(states); i++) {
        facts_add_labelled(facts, "state", states[i], strcmp(state, states[i]) == 0,
                           "edged_camera_state", "1 for the state the camera is in, else 0.");
    }
}

static void add_passed_over(struct facts *facts, uint32_t encoders)
{
    facts_begin_list(facts, "encoders_passed_over");
    for (enum config_encoder encoder = 0; encoder < CONFIG_ENCODER_COUNT; encoder++) {
        if (encoders >> encoder & 1)
            facts_add_element(facts, config_encoder_name(encoder));
    }
    facts_end(facts);
}

static void add_trials(struct facts *facts, const struct link_trial *trials)
{
    facts_begin_list(facts, "encoder_trials");
    for (unsigned i = 0; i < LINK_TRIALS_MAX; i++) {
        if (trials[i].element == CONFIG_ENCODER_AUTO)
            continue;
        facts_begin(facts, NULL);
        facts_add_text(facts, "encoder", trials[i].encoder);
        facts_add_text(facts, "reason", trials[i].reason);
        facts_add_count(facts, "took_ms", trials[i].took_ms, NULL, NULL);
        facts_end(facts);
    }
    facts_end(facts);
}

// A process that is gone has no samples of what it used; its successor counts from 0.
static void add_process(struct facts *facts, const char *camera,
                        const struct supervisor_report *report, const struct process_usage *usage)
{
    facts_begin(facts, "process");
    facts_add_count(facts, "pid", (uint64_t)report->pid, NULL, NULL);
    facts_add_count(facts, "restarts", report->restarts, "edged_process_restarts_total",
                    "Times the camera process was replaced.");
    facts_drop_labels(facts);
    facts_add_label(facts, "role", "camera");
    facts_add_label(facts, "camera", camera);
    if (report->pid || facts_are_json(facts))
        add_usage(facts, usage);
    facts_end(facts);
}

static double per_frame(uint64_t count, uint64_t frames)
{
    return frames > 0 ? (double)count / frames : 0;
}

static void add_copies(struct facts *facts, const struct link_telemetry *telemetry)
{
    uint64_t sum = 0;

    facts_begin(facts, "copies");
    for (unsigned kind = 0; kind < COPY_KIND_COUNT; kind++) {
        facts_begin(facts, copy_kind_name(kind));
        facts_add_label(facts, "kind", copy_kind_name(kind));
        facts_add_count(facts, "total", telemetry->copies[kind], "edged_copies_total",
                        "Copies of a whole frame, by reason.");
        facts_add_number(facts, "per_frame", per_frame(telemetry->copies[kind], telemetry->frames),
                         NULL, NULL, NULL);
        facts_end(facts);
        sum += telemetry->copies[kind];
    }
    facts_end(facts);
    facts_add_number(facts, "copies_per_frame", per_frame(sum, telemetry->frames), NULL, NULL,
                     NULL);
}

// In JSON only the stages that some view has needed so far.
static void add_stages(struct facts *facts, const struct link_telemetry *telemetry)
{
    facts_begin_list(facts, "stages");
    for (unsigned kind = 0; kind < STAGE_KIND_COUNT; kind++) {
        uint64_t runs = telemetry->stages[kind].runs, shared = telemetry->stages[kind].shared;

        if (runs + shared == 0 && facts_are_json(facts))
            continue;
        facts_begin(facts, NULL);
        facts_add_text(facts, "name", stage_kind_name(kind));
        facts_add_label(facts, "stage", stage_kind_name(kind));
        facts_add_count(facts, "runs", runs, "edged_stage_runs_total",
                        "Times a stage was computed.");
        facts_add_count(facts, "shared", shared, "edged_stage_shared_total",
                        "Times a view had the result of another view's stage instead.");
        facts_end(facts);
    }
    facts_end(facts);
}

// Those that are configured or that the board has, where a GPU computes.
static void add_kernels(struct facts *facts, const struct link_telemetry *telemetry)
{
    bool on_gpu = g_str_has_prefix(telemetry->backend, "CUDA");

    facts_begin(facts, "kernels");
    for (enum config_kernel kernel = 0; kernel < CONFIG_KERNEL_COUNT && on_gpu; kernel++) {
        const struct link_block *block = &telemetry->blocks[kernel];

        if (block->x > 0 || block->rows > 0) {
            facts_begin(facts, config_kernel_name(kernel));
            facts_add_count(facts, "x", (uint64_t)MAX(block->x, 0), NULL, NULL);
            facts_add_count(facts, "y", (uint64_t)MAX(block->y, 0), NULL, NULL);
            facts_add_count(facts, "rows", (uint64_t)MAX(block->rows, 0), NULL, NULL);
            facts_end(facts);
        }
    }
    facts_end(facts);
}

static void add_box(struct facts *facts, const struct link_box *box)
{
    facts_begin(facts, "box");
    facts_add_count(facts, "x", box->x, NULL, NULL);
    facts_add_count(facts, "y", box->y, NULL, NULL);
    facts_add_count(facts, "width", box->width, NULL, NULL);
    facts_add_count(facts, "height", box->height, NULL, NULL);
    facts_end(facts);
}

static void add_region(struct facts *facts, const struct region *region)
{
    facts_begin(facts, NULL);
    facts_add_text(facts, "name", region->name);
    facts_add_label(facts, "region", region->name);
    facts_add_flag(facts, "moving", region->moving, "edged_region_moving",
                   "1 while motion in the region is an event, else 0.");
    facts_add_number(facts, "share", region->share, "edged_region_share", "%.6f",
                     "Moving pixels of the region's, 0 to 1.");
    add_box(facts, &region->box);
    facts_add_count(facts, "events", region->events, "edged_region_events_total",
                    "Motion events that began in the region.");
    facts_end(facts);
}

static void add_regions(struct facts *facts, const struct regions *regions)
{
    facts_begin_list(facts, "regions");
    for (size_t i = 0; i < regions->count; i++) {
        if (regions->list[i].shown)
            add_region(facts, &regions->list[i]);
    }
    facts_end(facts);
}

static void add_camera(struct facts *facts, const struct config_camera *camera,
                       const struct supervisor_report *report, const struct process_usage *usage)
{
    const struct link_telemetry *telemetry = report->telemetry;

    facts_begin(facts, NULL);
    facts_add_text(facts, "name", camera->name);
    facts_add_label(facts, "camera", camera->name);
    add_state(facts, report->state);
    facts_add_text(facts, "error", report->error);
    facts_add_text(facts, "source", config_source_name(camera->source));
    facts_add_text(facts, "path", telemetry->path);
    facts_add_info(facts, "backend", telemetry->backend, "edged_camera_backend_info", "backend",
                   "Always 1; what computes the camera's views, as a label.");
    facts_add_text(facts, "gpu", report->gpu);
    facts_add_count(facts, "gpu_faults", report->gpu_faults, "edged_camera_gpu_faults_total",
                    "Times the GPU failed and the CPU went on.");
    facts_add_count(facts, "encoder_hangs", report->encoder_hangs,
                    "edged_camera_encoder_hangs_total",
                    "Times an encoder hung and the camera process was replaced.");
    add_passed_over(facts, report->encoders_passed_over);
    add_trials(facts, telemetry->trials);
    facts_add_text(facts, "format", telemetry->format);
    facts_add_count(facts, "width", telemetry->width, NULL, NULL);
    facts_add_count(facts, "height", telemetry->height, NULL, NULL);
    facts_add_number(facts, "fps", telemetry->fps_milli / 1e3, "edged_camera_frames_per_second",
                     "%.6g", "Frames captured over the last second.");
    facts_add_number(facts, "patience_s", (double)telemetry->patience_ns / (double)NS_PER_S, NULL,
                     NULL, NULL);
    facts_add_number(facts, "frame_age_s", report->frame_age_s,
                     "edged_camera_last_frame_age_seconds", "%.3f",
                     "Time since the newest frame that the camera process told of, once a second.");
    facts_add_count(facts, "frames", telemetry->frames, "edged_frames_total", "Frames captured.");
    facts_add_count(facts, "dropped", telemetry->dropped, "edged_frames_dropped_total",
                    "Frames the camera or the capture lost.");
    facts_add_count(facts, "corrupted", telemetry->corrupted, "edged_frames_corrupted_total",
                    "Frames delivered damaged and thrown away.");
    facts_add_count(facts, "reconnects", telemetry->reconnects, "edged_reconnects_total",
                    "Times the camera was opened again after it was lost.");
    add_process(facts, camera->name, report, usage);
    add_copies(facts, telemetry);
    add_stages(facts, telemetry);
    add_kernels(facts, telemetry);
    facts_add_flag(facts, "armed", camera->armed, "edged_camera_armed",
                   "1 while motion in the camera's regions becomes events, else 0.");
    add_regions(facts, report->regions);
    facts_end(facts);
}

static const char *const step_names[LATENCY_STEP_COUNT] = {
    [LATENCY_CAPTURE] = "capture",
    [LATENCY_COMPUTE] = "compute",
    [LATENCY_ENCODE] = "encode",
    [LATENCY_LINK] = "link",
    [LATENCY_CAPTURE_TO_RTP] = "capture_to_rtp",
};

static void add_latency(struct facts *facts, const struct stream_statistics *statistics)
{
    facts_begin(facts, "latency_ms");
    for (unsigned step = 0; step < LATENCY_STEP_COUNT; step++) {
        bool is_whole = step == LATENCY_CAPTURE_TO_RTP;

        facts_begin(facts, step_names[step]);
        facts_add_label(facts, "step", step_names[step]);
        facts_add_histogram(facts, &statistics->latency[step], is_whole,
                            is_whole ? "edged_latency_seconds" : "edged_step_seconds",
                            is_whole ? "Time from the camera's time stamp to the packetizer."
                                     : "Time a frame spends in a step of its way.");
        facts_end(facts);
    }
    facts_end(facts);
}

// `url` is the server's, `alias` a second path; "": none.
static void add_mount(struct facts *facts, const struct config_camera *camera, size_t view,
                      const struct stream *stream, const char *url, const char *alias)
{
    const struct config_view *settings = &camera->views[view];
    const struct parameter_sets *sets = stream_parameter_sets(stream);
    unsigned by_http = stream_viewers(stream, VIEWER_HTTP);
    g_autofree char *whole = g_strconcat(url, stream_path(stream), NULL);
    struct stream_statistics statistics;

    stream_count(stream, &statistics);
    facts_begin(facts, NULL);
    facts_add_text(facts, "path", stream_path(stream));
    facts_add_text(facts, "url", whole);
    facts_add_text(facts, "alias", alias);
    facts_add_text(facts, "camera", camera->name);
    facts_add_label(facts, "camera", camera->name);
    facts_add_text(facts, "view", settings->name);
    facts_add_label(facts, "view", settings->name);
    facts_add_text(facts, "kind", config_view_kind_name(settings->view));
    facts_add_text(facts, "codec", config_codec_name(settings->codec));
    facts_add_text(facts, "recorded",
                   config_record_mode_name(config_record_view(camera) == settings
                                               ? camera->record.mode
                                               : CONFIG_RECORD_OFF));
    facts_add_count(facts, "width", sets->width, NULL, NULL);
    facts_add_count(facts, "height", sets->height, NULL, NULL);
    facts_add_number(facts, "fps", statistics.fps_milli / 1e3, NULL, NULL, NULL);
    facts_add_text(facts, "encoder", statistics.encoder);
    facts_add_text(facts, "governor", statistics.governor);
    facts_add_count(facts, "viewers", stream_viewers(stream, VIEWER_RTSP) + by_http,
                    "edged_mount_viewers",
                    "Viewers of this view: RTSP sessions that play, and readers by HTTP.");
    facts_add_count(facts, "http_viewers", by_http, "edged_mount_http_viewers",
                    "Readers by HTTP among them.");
    facts_add_text(facts, "multicast", stream_group(stream));
    facts_add_count(facts, "bitrate_kbps", statistics.bitrate_kbps, NULL, NULL);
    facts_add_count(facts, NULL, statistics.bitrate_kbps * UINT64_C(125),
                    "edged_mount_bytes_per_second", "Encoded bytes over the last second.");
    facts_add_count(facts, "access_units", statistics.access_units, "edged_access_units_total",
                    "Encoded frames received from the camera process.");
    facts_add_count(facts, "key_frames", statistics.key_frames, "edged_key_frames_total",
                    "Key frames among the access units.");
    facts_add_count(facts, "bytes", statistics.bytes, "edged_stream_bytes_total",
                    "Bytes of the access units.");
    facts_add_count(facts, "encoded", statistics.encoded, "edged_encoded_total",
                    "Frames the camera process encoded.");
    facts_add_count(facts, "dropped", statistics.dropped, "edged_encoded_dropped_total",
                    "Frames computed or encoded too late to be sent.");
    facts_add_count(facts, "snapshots", statistics.snapshots, "edged_snapshots_total",
                    "JPEGs made because somebody asked for one, one for all who do.");
    facts_add_count(facts, "bad_timestamps", statistics.bad_timestamps,
                    "edged_bad_timestamps_total",
                    "Access units that claimed to be captured in the future or over 10 s ago.");
    add_latency(facts, &statistics);
    facts_end(facts);
}

// The lists, as a role is shown them
// ---------------------------------------------------------------------

static bool has_path(const struct front_camera *camera, const char *const *paths)
{
    for (size_t i = 0; i < front_camera_settings(camera)->view_count; i++) {
        if (g_strv_contains(paths, stream_path(front_camera_stream(camera, i))))
            return true;
    }
    return false;
}

// The list of cameras as the member `json`, NULL: as all there is. `paths`: only those of these
// views; NULL: all.
static void add_cameras(struct facts *facts, const char *json, const struct model *model,
                        enum config_role role, const char *const *paths)
{
    facts_begin_list(facts, json);
    for (guint i = 0; i < model->cameras->len; i++) {
        const struct front_camera *camera = g_ptr_array_index(model->cameras, i);
        struct supervisor_report report;

        if (!front_camera_is_shown(camera, role) || (paths && !has_path(camera, paths)))
            continue;
        supervisor_describe(front_camera_supervisor(camera), &report);
        const struct process_usage usage = read_usage(report.pid);
        add_camera(facts, front_camera_settings(camera), &report, &usage);
    }
    facts_end(facts);
}

// The same of their views.
static void add_mounts(struct facts *facts, const char *json, const struct model *model,
                       enum config_role role, const char *const *paths)
{
    char url[SUMMARY_URL_SIZE];

    summary_show_url(model->places.rtsp_url, url);
    facts_begin_list(facts, json);
    for (guint i = 0; i < model->cameras->len; i++) {
        const struct front_camera *camera = g_ptr_array_index(model->cameras, i);
        const struct config_camera *settings = front_camera_settings(camera);

        for (size_t k = 0; k < settings->view_count; k++) {
            const struct stream *stream = front_camera_stream(camera, k);

            if (front_camera_shows(camera, k, role) &&
                (!paths || g_strv_contains(paths, stream_path(stream)))) {
                add_mount(facts, settings, k, stream, url,
                          i == 0 && k == 0 ? MODEL_ALIAS_PATH : "");
            }
        }
    }
    facts_end(facts);
}

static void add_configuration(struct facts *facts, const struct model *model, enum config_role role)
{
    static char sentence[] = "left out: this user may not watch every view";
    static struct config_problem left_out = {.sentence = sentence};
    struct reload_verdict verdict = model->verdict;
    bool shows_all = true;

    for (guint i = 0; i < model->cameras->len; i++)
        shows_all &= front_camera_shows_all(g_ptr_array_index(model->cameras, i), role);
    if (verdict.problems.count > 0 && !shows_all)
        verdict.problems = (struct config_problems){.list = &left_out, .count = 1};
    facts_begin(facts, "configuration");
    add_verdict(facts, &verdict);
    facts_end(facts);
}

// All of the front, and the board as a camera process has told of it, of one that `role` is shown.
// All of them are on the same board.
static void add_front(struct facts *facts, const struct model *model, enum config_role role)
{
    const struct process_usage usage = read_usage(getpid());
    struct account_counters logins = {0};
    const struct heat *heat = NULL;
    bool on_gpu = false;
    unsigned viewers = 0;

    for (guint i = 0; i < model->cameras->len; i++) {
        const struct front_camera *camera = g_ptr_array_index(model->cameras, i);
        struct supervisor_report report;

        supervisor_describe(front_camera_supervisor(camera), &report);
        viewers += front_camera_count_viewers(camera, role);
        on_gpu |= g_str_has_prefix(report.telemetry->backend, "CUDA");
        if (!heat && front_camera_is_shown(camera, role) && report.pid &&
            report.telemetry->heat.is_known) {
            heat = &report.telemetry->heat;
        }
    }
    if (model->account)
        account_count(model->account, &logins);
    add_start(facts, (double)(clock_now_ns() - model->started_ns) / (double)NS_PER_S,
              on_gpu ? "cuda" : "cpu");
    add_places(facts, &model->places);
    add_viewers(facts, viewers);
    add_logins(facts, &logins);
    add_configuration(facts, model, role);
    add_recorder(facts, recorder_state(model->recorder), recorder_fault(model->recorder));
    add_own_process(facts, &usage);
    if (heat)
        add_board(facts, heat);
}

char *status_text(const struct model *model, enum status_text kind, enum config_role role)
{
    struct facts *facts = facts_new(kind == STATUS_TEXT_METRICS ? FACTS_METRICS : FACTS_JSON);

    if (kind == STATUS_TEXT_CAMERAS) {
        add_cameras(facts, NULL, model, role, NULL);
    } else if (kind == STATUS_TEXT_MOUNTS) {
        add_mounts(facts, NULL, model, role, NULL);
    } else {
        facts_begin(facts, NULL);
        add_front(facts, model, role);
        add_cameras(facts, "cameras", model, role, NULL);
        add_mounts(facts, "mounts", model, role, NULL);
        facts_end(facts);
    }
    return facts_finish(facts);
}

char *status_of_views(const struct model *model, enum config_role role, const char *const *paths)
{
    struct facts *facts = facts_new(FACTS_JSON);

    facts_begin(facts, NULL);
    add_cameras(facts, "cameras", model, role, paths);
    add_mounts(facts, "mounts", model, role, paths);
    facts_end(facts);
    return facts_finish(facts);
}

char *status_verdict(const struct reload_verdict *verdict)
{
    struct facts *facts = facts_new(FACTS_JSON);

    facts_begin(facts, NULL);
    add_verdict(facts, verdict);
    facts_end(facts);
    return facts_finish(facts);
}
