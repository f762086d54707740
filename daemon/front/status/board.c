// The board in status and metrics. Each camera process tells of it, and all are on the same one.
#include "daemon/common/json_members.h"
#include "daemon/front/status/metrics_text.h"
#include "daemon/front/status/status.h"

static const struct heat *find_heat(const struct snapshot *snapshot)
{
    for (size_t i = 0; i < snapshot->camera_count; i++) {
        const struct snapshot_camera *camera = &snapshot->cameras[i];

        if (camera->pid && camera->telemetry.heat.is_known) {
            return &camera->telemetry.heat;
        }
    }
    return NULL;
}

static void add_zones(JsonBuilder *builder, const struct heat *heat)
{
    json_builder_set_member_name(builder, "zones");
    json_builder_begin_array(builder);
    for (uint32_t i = 0; i < heat->zone_count; i++) {
        json_builder_begin_object(builder);
        json_add_string(builder, "name", heat->zones[i].name);
        json_add_number(builder, "celsius", heat->zones[i].millidegrees / 1e3);
        json_builder_end_object(builder);
    }
    json_builder_end_array(builder);
}

void status_add_board(JsonBuilder *builder, const struct snapshot *snapshot)
{
    const struct heat *heat = find_heat(snapshot);

    if (!heat) {
        return;
    }
    json_builder_set_member_name(builder, "board");
    json_builder_begin_object(builder);
    add_zones(builder, heat);
    json_add_integer(builder, "throttled", heat->throttled);
    json_add_string(builder, "throttled_by", heat->throttled_by);
    json_add_string(builder, "power_mode", heat->power_mode);
    if (heat->gpu_permille >= 0) {
        json_add_number(builder, "gpu_load", heat->gpu_permille / 1e3);
    }
    if (heat->gpu_hz > 0) {
        json_add_integer(builder, "gpu_hz", heat->gpu_hz);
        json_add_integer(builder, "gpu_hz_max", heat->gpu_hz_max);
    }
    json_builder_end_object(builder);
}

static void add_gauge(GString *text, const char *name, const char *help, double value)
{
    metrics_begin(text, name, "gauge", help);
    g_string_append_printf(text, "%s ", name);
    metrics_double(text, "%.12g", value);
    g_string_append_c(text, '\n');
}

void status_add_board_metrics(GString *text, const struct snapshot *snapshot)
{
    const struct heat *heat = find_heat(snapshot);

    if (!heat) {
        return;
    }
    metrics_begin(text, "edged_board_temperature_celsius", "gauge",
                  "Temperature of a part of the board.");
    for (uint32_t i = 0; i < heat->zone_count; i++) {
        g_string_append(text, "edged_board_temperature_celsius{");
        metrics_label(text, "zone", heat->zones[i].name);
        metrics_end_double(text, "%.3f", heat->zones[i].millidegrees / 1e3);
    }
    add_gauge(text, "edged_board_throttled", "What slows the CPU or the GPU down now, a count.",
              heat->throttled);
    if (heat->power_mode[0]) {
        metrics_begin(text, "edged_board_power_mode_info", "gauge",
                      "Always 1; the power mode, as a label.");
        g_string_append(text, "edged_board_power_mode_info{");
        metrics_label(text, "mode", heat->power_mode);
        metrics_end(text, 1);
    }
    if (heat->gpu_permille >= 0) {
        add_gauge(text, "edged_board_gpu_load_ratio", "Time that the GPU is busy, 0 to 1.",
                  heat->gpu_permille / 1e3);
    }
    if (heat->gpu_hz > 0) {
        add_gauge(text, "edged_board_gpu_hertz", "The GPU's clock.", (double)heat->gpu_hz);
        add_gauge(text, "edged_board_gpu_max_hertz", "The most that it may be.",
                  (double)heat->gpu_hz_max);
    }
}
