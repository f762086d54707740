// Adds members to the JSON object that a builder is writing.
#pragma once

#include "config/base.h"

#include <inttypes.h>
#include <json-glib/json-glib.h>
#include <stdio.h>

// The text as JSON can have it: JSON is UTF-8, but the name that a driver gives itself may not be;
// and json-glib does not escape U+001F. The caller g_free()s it.
static inline char *json_valid(const char *text)
{
    return g_strdelimit(g_utf8_make_valid(text, -1), "\x1f", '?');
}

static inline void json_add_string(JsonBuilder *builder, const char *name, const char *value)
{
    g_autofree char *valid = json_valid(value);

    json_builder_set_member_name(builder, name);
    json_builder_add_string_value(builder, valid);
}

static inline void json_add_integer(JsonBuilder *builder, const char *name, int64_t value)
{
    json_builder_set_member_name(builder, name);
    json_builder_add_int_value(builder, value);
}

static inline void json_add_number(JsonBuilder *builder, const char *name, double value)
{
    json_builder_set_member_name(builder, name);
    json_builder_add_double_value(builder, value);
}

// The address of a clip's file, "/v1/clips/17.mp4"; null for the id 0.
static inline void json_add_clip(JsonBuilder *builder, const char *name, uint64_t id,
                                 const char *suffix)
{
    char address[48];

    snprintf(address, sizeof address, "/v1/clips/%" PRIu64 ".%s", id, suffix);
    json_builder_set_member_name(builder, name);
    if (id) {
        json_builder_add_string_value(builder, address);
    } else {
        json_builder_add_null_value(builder);
    }
}

// RFC 3339 in UTC with microseconds; `wall_ns` since 1970.
static inline void json_add_time(JsonBuilder *builder, const char *name, int64_t wall_ns)
{
    time_t seconds = (time_t)(wall_ns / NS_PER_S);
    int microseconds = (int)(wall_ns % NS_PER_S / NS_PER_US);
    char day[32], text[64];
    struct tm parts;

    gmtime_r(&seconds, &parts);
    strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text, sizeof text, "%s.%06dZ", day, microseconds);
    json_add_string(builder, name, text);
}
