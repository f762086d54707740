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
    if (strcmp(name, again) != 0 || !is_id(recording.id))
        return false;
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

void recording_date(struct recording *recording, int64_t wall_offset_ns)
{
    int64_t shift_ns = wall_offset_ns - recording->wall_offset_ns;

    recording->start_wall_ns += shift_ns;
    recording->end_wall_ns += shift_ns;
    recording->asked_wall_ns += recording->asked_wall_ns ? shift_ns : 0;
    recording->motion_wall_ns += recording->motion_wall_ns ? shift_ns : 0;
    recording->motion_end_wall_ns += recording->motion_end_wall_ns ? shift_ns : 0;
    recording->wall_offset_ns = wall_offset_ns;
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

bool recording_has_region(const struct recording *recording, const char *region)
{
    size_t length = strlen(region);
    const char *name = recording->regions;

    while (name && *name) {
        size_t end = strcspn(name, "/");

        if (end == length && memcmp(name, region, length) == 0)
            return true;
        name += end + (name[end] == '/');
    }
    return false;
}

// Facts
// ---------------------------------------------------------------------

#define FACT(form, member, kind, is_nullable, line, ...)                                           \
    {CLIP_##kind,                                                                                  \
     is_nullable,                                                                                  \
     line,                                                                                         \
     offsetof(struct recording, member),                                                           \
     offsetof(struct record_clip, member),                                                         \
     sizeof((struct record_clip *)0)->member},
static const struct recording_fact {
    enum clip_fact_kind kind;
    bool is_nullable;
    const char *name;    // in a line; NULL: there it is not
    size_t offset;       // in struct recording
    size_t place, bytes; // in struct record_clip
} facts[] = {CLIP_FACTS(FACT, FACT)};

static bool is_text(const struct recording_fact *fact)
{
    return fact->kind == CLIP_NAME || fact->kind == CLIP_NAMES;
}

// Of a fact that is text.
static const char *text_of(const struct recording_fact *fact, const struct recording *recording)
{
    const char *text = *(const char *const *)((const char *)recording + fact->offset);

    return text ? text : "";
}

static bool is_null(const struct recording_fact *fact, const struct recording *recording)
{
    const void *value = (const char *)recording + fact->offset;

    return fact->is_nullable &&
           (is_text(fact) ? !*text_of(fact, recording) : !*(const uint64_t *)value);
}

static void write_names(GString *line, const char *text)
{
    g_auto(GStrv) names = g_strsplit(text, "/", -1);
    g_autofree char *list = g_strjoinv("\",\"", names);

    g_string_append_printf(line, *text ? "[\"%s\"]" : "[]", list);
}

// Names have letters, digits, '-' and '_' alone.
static void write_value(GString *line, const struct recording_fact *fact,
                        const struct recording *recording)
{
    const void *value = (const char *)recording + fact->offset;

    if (fact->kind == CLIP_TIME)
        g_string_append_printf(line, "%" PRId64, *(const int64_t *)value);
    else if (fact->kind == CLIP_SHARE)
        g_string_append_printf(line, "%.6f", (double)*(const float *)value);
    else if (fact->kind == CLIP_FLAG)
        g_string_append(line, *(const uint8_t *)value ? "true" : "false");
    else if (fact->kind == CLIP_NAME)
        g_string_append_printf(line, "\"%s\"", text_of(fact, recording));
    else if (fact->kind == CLIP_NAMES)
        write_names(line, text_of(fact, recording));
    else
        g_string_append_printf(line, "%" PRIu64, *(const uint64_t *)value);
}

// Between a fact and the next one. Behind `regions` a second object begins, in which null is left
// out: an edged from before there were more facts takes the first for the whole line.
static const char *separator(const struct recording_fact *before)
{
    return before->kind == CLIP_NAMES ? "}{" : ",";
}

char *recording_line(const struct recording *recording)
{
    GString *line = g_string_sized_new(512);
    const char *between = "{";
    bool is_appended = false;

    for (size_t i = 0; i < ARRAY_LENGTH(facts); i++) {
        if (facts[i].name && !(is_appended && is_null(&facts[i], recording))) {
            g_string_append_printf(line, "%s\"%s\":", between, facts[i].name);
            write_value(line, &facts[i], recording);
            between = separator(&facts[i]);
        }
        is_appended = is_appended || facts[i].kind == CLIP_NAMES;
    }
    return g_string_free(g_string_append_c(line, '}'), FALSE);
}

// Reads `"front"`. Returns the rest, as the others do; NULL: it is none.
static const char *read_name(const char *text, const char **ret_name)
{
    char name[RECORD_NAME_SIZE];
    int length = 0; // stays 0 if the second quote is missing

    if (sscanf(text, "\"%39[^\"]\"%n", name, &length) != 1 || !length ||
        !schema_name_rule.accepts(name)) {
        return NULL;
    }
    *ret_name = g_intern_string(name);
    return text + length;
}

// Reads `["door","yard"]`.
static const char *read_names(const char *text, struct recording *recording)
{
    const char *name, *end = *text == '[' ? text + 1 : NULL;

    recording->regions = "";
    while (end && *end == '"') {
        end = read_name(end, &name);
        if (end) {
            recording_add_region(recording, name);
            end += *end == ',';
        }
    }
    return end && *end == ']' ? end + 1 : NULL;
}

static const char *read_flag(const char *text, uint8_t *ret_flag)
{
    *ret_flag = g_str_has_prefix(text, "true");
    return *ret_flag                         ? text + strlen("true")
           : g_str_has_prefix(text, "false") ? text + strlen("false")
                                             : NULL;
}

static const char *read_number(const char *text, enum clip_fact_kind kind, void *value)
{
    char *end;

    if (!g_ascii_isdigit(text[kind == CLIP_TIME && *text == '-']))
        return NULL;
    if (kind == CLIP_TIME)
        *(int64_t *)value = g_ascii_strtoll(text, &end, 10);
    else if (kind == CLIP_SHARE)
        *(float *)value = (float)g_ascii_strtod(text, &end);
    else
        *(uint64_t *)value = g_ascii_strtoull(text, &end, 10);
    return end;
}

// Reads `,"event":4`, with *between in place of the comma; a nullable fact may be missing.
static const char *read_fact(const char *text, const struct recording_fact *fact,
                             const char **between, struct recording *recording)
{
    void *value = (char *)recording + fact->offset;
    char name[RECORD_NAME_SIZE];
    int length = snprintf(name, sizeof name, "%s\"%s\":", *between, fact->name);

    if (strncmp(text, name, (size_t)length) != 0)
        return fact->is_nullable ? text : NULL;
    text += length;
    *between = separator(fact);
    return fact->kind == CLIP_NAME    ? read_name(text, value)
           : fact->kind == CLIP_NAMES ? read_names(text, recording)
           : fact->kind == CLIP_FLAG  ? read_flag(text, value)
                                      : read_number(text, fact->kind, value);
}

bool recording_read_line(const char *line, struct recording *ret_recording)
{
    struct recording recording = {0};
    const char *rest = line, *between = "{";

    for (size_t i = 0; i < ARRAY_LENGTH(facts) && rest; i++) {
        if (facts[i].name)
            rest = read_fact(rest, &facts[i], &between, &recording);
    }
    // The facts that a later edged has appended have no braces.
    if (rest && g_str_has_prefix(rest, between)) {
        rest += strlen(between);
        rest += strcspn(rest, "{}");
    }
    if (!rest || *rest != '}' || !is_id(recording.id) ||
        recording.end_wall_ns < recording.start_wall_ns || recording.start_wall_ns < 0 ||
        !(recording.peak >= 0 && recording.peak <= 1)) {
        return false;
    }
    *ret_recording = recording;
    return true;
}

uint64_t recording_stored_bytes(const struct recording *recording)
{
    return recording->bytes - recording->hole_bytes + recording->picture_bytes;
}

void recording_fill(const struct recording *recording, struct record_clip *ret_clip)
{
    memset(ret_clip, 0, sizeof *ret_clip);
    for (const struct recording_fact *fact = facts; fact < facts + ARRAY_LENGTH(facts); fact++) {
        char *place = (char *)ret_clip + fact->place;

        if (is_text(fact))
            g_strlcpy(place, text_of(fact, recording), fact->bytes);
        else
            memcpy(place, (const char *)recording + fact->offset, fact->bytes);
    }
}
