#include "daemon/front/events/clip_json.h"

#include "config/base.h"
#include "daemon/common/json.h"

#include <inttypes.h>
#include <stddef.h>

#define FACT(form, member, kind, is_nullable, line, name, description)                             \
    {CLIP_##kind, is_nullable, name, description, offsetof(struct record_clip, member)},
#define DERIVED(kind, name, description) {CLIP_##kind, false, name, description, 0},
static const struct json_fact {
    enum clip_fact_kind kind;
    bool is_nullable;
    const char *name, *description; // NULL: none
    size_t offset;                  // in struct record_clip
} facts[] = {CLIP_FACTS(FACT, FACT) DERIVED(DURATION, "duration", "Seconds.")
                 DERIVED(ADDRESS, "url", "Of the video.")};

// A clip as JSON
// ---------------------------------------------------------------------

void clip_add_address(JsonBuilder *builder, const char *name, uint64_t id, const char *suffix)
{
    g_autofree char *address = g_strdup_printf("/v1/clips/%" PRIu64 ".%s", id, suffix);

    json_add_optional(builder, name, id ? address : NULL);
}

static void add_names(JsonBuilder *builder, const char *member, const char *text)
{
    g_auto(GStrv) names = g_strsplit(text, "/", -1);

    json_begin_list(builder, member);
    for (char **name = names; *name; name++) {
        g_autofree char *valid = json_valid(*name);

        json_builder_add_string_value(builder, valid);
    }
    json_builder_end_array(builder);
}

static void add_span(JsonBuilder *builder, const char *name, int64_t ns)
{
    json_add_number(builder, name, (double)ns / (double)NS_PER_S);
}

static void add_fact(JsonBuilder *builder, const struct json_fact *fact,
                     const struct record_clip *clip)
{
    const void *value = (const char *)clip + fact->offset;
    const char *name = fact->name;

    switch (fact->kind) {
    case CLIP_NUMBER:
        json_add_integer(builder, name, *(const int64_t *)value);
        break;
    case CLIP_TIME:
        json_add_time(builder, name, *(const int64_t *)value);
        break;
    case CLIP_SPAN:
        add_span(builder, name, *(const int64_t *)value);
        break;
    case CLIP_SHARE:
        json_add_number(builder, name, *(const float *)value);
        break;
    case CLIP_FLAG:
        json_add_flag(builder, name, *(const uint8_t *)value);
        break;
    case CLIP_NAME:
        json_add_string(builder, name, value);
        break;
    case CLIP_NAMES:
        add_names(builder, name, value);
        break;
    case CLIP_PICTURE:
        clip_add_address(builder, name, clip->id, "jpg");
        break;
    case CLIP_DURATION:
        add_span(builder, name, clip->end_wall_ns - clip->start_wall_ns);
        break;
    case CLIP_ADDRESS:
        clip_add_address(builder, name, clip->id, "mp4");
        break;
    }
}

static void add_fact_or_null(JsonBuilder *builder, const struct json_fact *fact,
                             const struct record_clip *clip)
{
    const char *value = (const char *)clip + fact->offset;

    if (fact->is_nullable && (fact->kind == CLIP_NAME ? !*value : !*(const int64_t *)value))
        json_add_null(builder, fact->name);
    else
        add_fact(builder, fact, clip);
}

void clip_add_members(JsonBuilder *builder, const struct record_clip *clip)
{
    for (size_t i = 0; i < ARRAY_LENGTH(facts); i++) {
        if (facts[i].name)
            add_fact_or_null(builder, &facts[i], clip);
    }
}

char *clip_json(const struct record_clip *clip)
{
    g_autoptr(JsonBuilder) builder = json_builder_new();

    json_builder_begin_object(builder);
    clip_add_members(builder, clip);
    json_builder_end_object(builder);
    return json_built_text(builder, false);
}

// The schema
// ---------------------------------------------------------------------

static const struct {
    const char *type, *rest;
} schemas[] = {
    [CLIP_NUMBER] = {"integer", ""},
    [CLIP_TIME] = {"string", ", format: date-time"},
    [CLIP_SPAN] = {"number", ""},
    [CLIP_SHARE] = {"number", ", minimum: 0, maximum: 1"},
    [CLIP_FLAG] = {"boolean", ""},
    [CLIP_NAME] = {"string", ""},
    [CLIP_NAMES] = {"array", ", items: { type: string }"},
    [CLIP_PICTURE] = {"string", ""},
    [CLIP_DURATION] = {"number", ""},
    [CLIP_ADDRESS] = {"string", ""},
};

static void describe(GString *properties, const struct json_fact *fact)
{
    const char *type = schemas[fact->kind].type;

    g_string_append_printf(properties, "        %s: { type: %s%s%s%s", fact->name,
                           fact->is_nullable ? "[" : "", type,
                           fact->is_nullable ? ", \"null\"]" : "", schemas[fact->kind].rest);
    if (fact->description)
        g_string_append_printf(properties, ", description: \"%s\"", fact->description);
    g_string_append(properties, " }\n");
}

char *clip_schema(void)
{
    g_autoptr(GString) properties = g_string_new(NULL), required = g_string_new(NULL);

    for (size_t i = 0; i < ARRAY_LENGTH(facts); i++) {
        if (facts[i].name) {
            g_string_append_printf(required, "%s%s", required->len ? ", " : "", facts[i].name);
            describe(properties, &facts[i]);
        }
    }
    return g_strdup_printf(
        "    Clip:\n      type: object\n      required: [%s]\n      properties:\n%s", required->str,
        properties->str);
}
