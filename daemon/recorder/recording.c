#include "daemon/recorder/recording.h"

#include "config/base.h"
#include "config/schema/schema.h"

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define YEAR_MAX 2260 // nanoseconds since 1970 in 64 bits end in 2262

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
             recording->is_kept && (file == RECORDING_VIDEO || file == RECORDING_PART) ? ".keep"
                                                                                       : "",
             suffixes[file]);
}

static bool is_id(uint64_t id)
{
    return id > 0 && id <= RECORDING_ID_MAX;
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
        parts.tm_year < 1970 || parts.tm_year > YEAR_MAX ||
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
    if (strcmp(name, again) != 0 || !is_id(recording.id)) {
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

// One format to write and to read. Of the words after `view`, "true" and "false" are those allowed.
#define LINE_FORMAT(number, signed_number, name, word, share)                                      \
    "{\"id\":" number ",\"camera\":\"" name "\",\"view\":\"" name "\",\"always\":" word            \
    ",\"triggered\":" word ",\"dated\":" word ",\"event\":" number ",\"start_ns\":" signed_number  \
    ",\"end_ns\":" signed_number ",\"asked_ns\":" signed_number ",\"bytes\":" number               \
    ",\"gap_ns\":" number ",\"peak\":" share ",\"regions\":["

static const char *flag_word(bool flag)
{
    return flag ? "true" : "false";
}

char *recording_line(const struct recording *recording)
{
    g_auto(GStrv) regions = g_strsplit(recording->regions, "/", -1);
    g_autofree char *list = g_strjoinv("\",\"", regions);
    const char *quote = recording->regions[0] ? "\"" : "";

    // Names have letters, digits, '-' and '_' alone.
    return g_strdup_printf(
        LINE_FORMAT("%" PRIu64, "%" PRId64, "%s", "%s", "%.6f") "%s%s%s]}", recording->id,
        recording->camera, recording->view, flag_word(recording->is_always),
        flag_word(recording->is_triggered), flag_word(recording->is_dated), recording->event,
        recording->start_wall_ns, recording->end_wall_ns, recording->asked_wall_ns,
        recording->bytes, recording->gap_ns, (double)recording->peak, quote, list, quote);
}

// Reads `"door","yard"]}`.
static bool read_regions(const char *text, struct recording *recording)
{
    char name[RECORD_NAME_SIZE];
    int length = 0; // stays 0 if the second quote is missing

    recording->regions = "";
    while (sscanf(text, "\"%39[^\"]\"%n", name, &length) == 1 && length &&
           schema_name_rule.accepts(name)) {
        recording_add_region(recording, name);
        text += length;
        text += *text == ',';
        length = 0;
    }
    return g_str_has_prefix(text, "]}");
}

bool recording_read_line(const char *line, struct recording *ret_recording)
{
    char camera[RECORD_NAME_SIZE], view[RECORD_NAME_SIZE], always[8], triggered[8], dated[8];
    struct recording recording = {0};
    int length = 0;

    if (sscanf(line, LINE_FORMAT("%" SCNu64, "%" SCNd64, "%39[^\"]", "%7[a-z]", "%f") "%n",
               &recording.id, camera, view, always, triggered, dated, &recording.event,
               &recording.start_wall_ns, &recording.end_wall_ns, &recording.asked_wall_ns,
               &recording.bytes, &recording.gap_ns, &recording.peak, &length) != 13 ||
        !length || !is_id(recording.id) || !schema_name_rule.accepts(camera) ||
        !schema_name_rule.accepts(view) || recording.end_wall_ns < recording.start_wall_ns ||
        recording.start_wall_ns < 0 || !(recording.peak >= 0 && recording.peak <= 1) ||
        !read_regions(line + length, &recording)) {
        return false;
    }
    recording.camera = g_intern_string(camera);
    recording.view = g_intern_string(view);
    recording.is_always = strcmp(always, "true") == 0;
    recording.is_triggered = strcmp(triggered, "true") == 0;
    recording.is_dated = strcmp(dated, "true") == 0;
    *ret_recording = recording;
    return true;
}

uint64_t recording_stored_bytes(const struct recording *recording)
{
    return recording->bytes + recording->picture_bytes;
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
        .has_picture = recording->picture_bytes > 0,
    };
    g_strlcpy(ret_clip->camera, recording->camera, sizeof ret_clip->camera);
    g_strlcpy(ret_clip->view, recording->view, sizeof ret_clip->view);
    for (; regions[ret_clip->region_count]; ret_clip->region_count++) {
        g_strlcpy(ret_clip->regions[ret_clip->region_count], regions[ret_clip->region_count],
                  RECORD_NAME_SIZE);
    }
}
