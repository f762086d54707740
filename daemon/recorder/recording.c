#include "daemon/recorder/recording.h"

#include "config/base.h"
#include "config/schema/schema.h"
#include "daemon/common/json_members.h"

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *const suffixes[] = {
    [RECORDING_VIDEO] = ".mp4",
    [RECORDING_PART] = ".mp4.part",
    [RECORDING_PICTURE] = ".jpg",
    [RECORDING_PICTURE_PART] = ".jpg.part",
};

static void split_time(int64_t wall_ns, struct tm *ret_parts)
{
    const time_t seconds = (time_t)(wall_ns / NS_PER_S);

    gmtime_r(&seconds, ret_parts);
}

void recording_day(const struct recording *recording, char ret_day[RECORDING_DAY_SIZE])
{
    struct tm parts;

    split_time(recording->start_wall_ns, &parts);
    strftime(ret_day, RECORDING_DAY_SIZE, "%Y-%m-%d", &parts);
}

void recording_file_name(const struct recording *recording, enum recording_file file,
                         char ret_name[RECORDING_FILE_SIZE])
{
    struct tm parts;
    char clock[16];

    split_time(recording->start_wall_ns, &parts);
    strftime(clock, sizeof clock, "%H%M%S", &parts);
    snprintf(ret_name, RECORDING_FILE_SIZE, "%s.%03dZ-%s-%" PRIu64 "%s%s", clock,
             (int)(recording->start_wall_ns % NS_PER_S / NS_PER_MS),
             recording->is_always ? "always" : "event", recording->id,
             recording->is_kept && file == RECORDING_VIDEO ? ".keep" : "", suffixes[file]);
}

// The rest of a name behind the id.
static bool read_suffix(const char *rest, struct recording *recording,
                        enum recording_file *ret_file)
{
    recording->is_kept = g_str_has_prefix(rest, ".keep");
    rest += recording->is_kept ? strlen(".keep") : 0;
    for (size_t i = 0; i < ARRAY_LENGTH(suffixes); i++) {
        if (strcmp(rest, suffixes[i]) == 0) {
            *ret_file = (enum recording_file)i;
            return true;
        }
    }
    return false;
}

bool recording_read_name(const char *day, const char *name, struct recording *ret_recording,
                         enum recording_file *ret_file)
{
    struct recording recording = {.regions = ""};
    struct tm parts = {0};
    char again[RECORDING_FILE_SIZE], kind[8];
    int end = 0, ms;

    if (sscanf(day, "%4d-%2d-%2d", &parts.tm_year, &parts.tm_mon, &parts.tm_mday) != 3 ||
        sscanf(name, "%2d%2d%2d.%3dZ-%7[a-z]-%" SCNu64 "%n", &parts.tm_hour, &parts.tm_min,
               &parts.tm_sec, &ms, kind, &recording.id, &end) != 6 ||
        !read_suffix(name + end, &recording, ret_file)) {
        return false;
    }
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    recording.start_wall_ns = (int64_t)timegm(&parts) * NS_PER_S + ms * NS_PER_MS;
    recording.end_wall_ns = recording.asked_wall_ns = recording.start_wall_ns;
    recording.is_always = strcmp(kind, "always") == 0;
    // Numbers can be written in several ways, of which this is the recorder's.
    recording_file_name(&recording, *ret_file, again);
    if (strcmp(name, again) != 0 || recording.id == 0) {
        return false;
    }
    recording_day(&recording, again);
    *ret_recording = recording;
    return strcmp(day, again) == 0;
}

bool recording_is_same(const struct recording *a, const struct recording *b)
{
    return a->id == b->id && a->is_always == b->is_always &&
           a->start_wall_ns / NS_PER_MS == b->start_wall_ns / NS_PER_MS &&
           strcmp(a->camera, b->camera) == 0 && strcmp(a->view, b->view) == 0;
}

void recording_add_region(struct recording *recording, const char *region)
{
    g_auto(GStrv) names = g_strsplit(recording->regions, "/", -1);

    if (g_strv_contains((const char *const *)names, region) ||
        g_strv_length(names) >= RECORD_REGIONS_MAX) {
        return;
    }
    g_autofree char *all =
        g_strconcat(recording->regions, recording->regions[0] ? "/" : "", region, NULL);
    recording->regions = g_intern_string(all);
}

char *recording_line(const struct recording *recording)
{
    g_auto(GStrv) regions = g_strsplit(recording->regions, "/", -1);
    g_autofree char *list = g_strjoinv("\",\"", regions);
    const char *quote = recording->regions[0] ? "\"" : "";
    char peak[G_ASCII_DTOSTR_BUF_SIZE];

    // Names have letters, digits, '-' and '_' alone.
    g_ascii_formatd(peak, sizeof peak, "%.6f", (double)recording->peak);
    return g_strdup_printf(
        "{\"id\":%" PRIu64 ",\"camera\":\"%s\",\"view\":\"%s\",\"always\":%s,\"triggered\":%s,"
        "\"dated\":%s,\"event\":%" PRIu64 ",\"regions\":[%s%s%s],\"start_ns\":%" PRId64
        ",\"end_ns\":%" PRId64 ",\"asked_ns\":%" PRId64 ",\"bytes\":%" PRIu64 ",\"gap_ns\":%" PRIu64
        ",\"peak\":%s}",
        recording->id, recording->camera, recording->view, recording->is_always ? "true" : "false",
        recording->is_triggered ? "true" : "false", recording->is_dated ? "true" : "false",
        recording->event, quote, list, quote, recording->start_wall_ns, recording->end_wall_ns,
        recording->asked_wall_ns, recording->bytes, recording->gap_ns, peak);
}

static int64_t read_integer(JsonObject *object, const char *name)
{
    JsonNode *node = json_object_get_member(object, name);

    return node && JSON_NODE_HOLDS_VALUE(node) ? json_node_get_int(node) : 0;
}

static bool read_flag(JsonObject *object, const char *name)
{
    JsonNode *node = json_object_get_member(object, name);

    return node && JSON_NODE_HOLDS_VALUE(node) && json_node_get_boolean(node);
}

static const char *read_name(JsonNode *node)
{
    const char *name = node && JSON_NODE_HOLDS_VALUE(node) ? json_node_get_string(node) : NULL;

    return name && schema_name_rule.accepts(name) ? g_intern_string(name) : NULL;
}

static bool read_regions(JsonNode *node, struct recording *recording)
{
    JsonArray *names = node && JSON_NODE_HOLDS_ARRAY(node) ? json_node_get_array(node) : NULL;

    recording->regions = "";
    for (guint i = 0; names && i < json_array_get_length(names); i++) {
        const char *name = read_name(json_array_get_element(names, i));

        if (!name) {
            return false;
        }
        recording_add_region(recording, name);
    }
    return true;
}

bool recording_read_line(const char *line, size_t size, struct recording *ret_recording)
{
    g_autoptr(JsonParser) parser = json_parser_new();
    struct recording recording = {0};
    JsonNode *root;

    if (!json_parser_load_from_data(parser, line, (gssize)size, NULL) ||
        !(root = json_parser_get_root(parser)) || !JSON_NODE_HOLDS_OBJECT(root)) {
        return false;
    }
    JsonObject *object = json_node_get_object(root);
    recording.id = (uint64_t)read_integer(object, "id");
    recording.event = (uint64_t)read_integer(object, "event");
    recording.start_wall_ns = read_integer(object, "start_ns");
    recording.end_wall_ns = read_integer(object, "end_ns");
    recording.asked_wall_ns = read_integer(object, "asked_ns");
    recording.bytes = (uint64_t)read_integer(object, "bytes");
    recording.gap_ns = (uint64_t)read_integer(object, "gap_ns");
    recording.camera = read_name(json_object_get_member(object, "camera"));
    recording.view = read_name(json_object_get_member(object, "view"));
    JsonNode *peak = json_object_get_member(object, "peak");
    recording.peak = peak && JSON_NODE_HOLDS_VALUE(peak) ? (float)json_node_get_double(peak) : 0;
    recording.is_always = read_flag(object, "always");
    recording.is_triggered = read_flag(object, "triggered");
    recording.is_dated = read_flag(object, "dated");
    if (!recording.id || !recording.camera || !recording.view ||
        recording.end_wall_ns < recording.start_wall_ns || recording.start_wall_ns < 0 ||
        !read_regions(json_object_get_member(object, "regions"), &recording)) {
        return false;
    }
    *ret_recording = recording;
    return true;
}

void recording_fill(const struct recording *recording, struct record_clip *ret_clip)
{
    g_auto(GStrv) regions = g_strsplit(recording->regions, "/", -1);

    *ret_clip = (struct record_clip){
        .id = recording->id,
        .event = recording->event,
        .start_wall_ns = recording->start_wall_ns,
        .end_wall_ns = recording->end_wall_ns,
        .asked_wall_ns = recording->asked_wall_ns,
        .bytes = recording->bytes,
        .gap_ns = recording->gap_ns,
        .peak = recording->peak,
        .is_open = recording->is_open,
        .is_kept = recording->is_kept,
        .is_always = recording->is_always,
        .is_triggered = recording->is_triggered,
        .has_picture = recording->has_picture,
    };
    g_strlcpy(ret_clip->camera, recording->camera, sizeof ret_clip->camera);
    g_strlcpy(ret_clip->view, recording->view, sizeof ret_clip->view);
    for (; regions[ret_clip->region_count]; ret_clip->region_count++) {
        g_strlcpy(ret_clip->regions[ret_clip->region_count], regions[ret_clip->region_count],
                  RECORD_NAME_SIZE);
    }
}
