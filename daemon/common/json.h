// JSON: reading a stranger's, writing members of objects, and its text as people and programs like
// it.
#pragma once

#include "config/base.h"

#include <json-glib/json-glib.h>
#include <stdbool.h>
#include <stddef.h>

#define JSON_DEPTH_MAX 32 // of objects and arrays in each other

// The text of `root`. Numbers with a point get six digits, from 1000 on three after the point: no
// measurement is more exact, while json-glib would write all 17 digits of a double. Integers stay
// whole. The caller g_free()s the text.
char *json_text(JsonNode *root, bool pretty);
// The same of what a builder has built.
char *json_built_text(JsonBuilder *builder, bool pretty);
// Ends the object that a builder began first: its text on one line, with the newline. The caller
// g_free()s it.
char *json_end_line(JsonBuilder *builder);

// Whether a text is JSON as json_parse() takes it, but for names that an object has twice;
// *ret_stop is how many of its bytes are before the first that is not, all of them if it is.
bool json_is_strict(const char *text, size_t size, size_t *ret_stop);
// Parses a text: JSON of RFC 8259 in UTF-8, nested JSON_DEPTH_MAX deep at most, without U+0000 in a
// string and without integers beyond int64_t; no object has a name twice. -EINVAL, with a sentence;
// the caller json_node_unref()s the root.
int json_parse(const char *text, size_t size, struct error *error, JsonNode **ret_root);
// The same of an object, the body of a request, which the caller json_object_unref()s.
int json_parse_object(const char *text, size_t size, struct error *error, JsonObject **ret_object);
// A member of the object that is a string; NULL: it is none, or not there. Borrowed from it.
const char *json_find_string(JsonObject *object, const char *name);

// Puts '?' for each control character in a text, JSON or not, but line feed and tab, so that what
// is printed of it steers no terminal: for the bytes themselves, for those that are no UTF-8, and
// for the escapes that a parser makes control characters of, such as \u001b. The text never gets
// longer by it.
void json_replace_controls(char *text);

// The text as JSON can have it: JSON is UTF-8, but the name that a driver gives itself may not be;
// and json-glib does not escape U+001F. The caller g_free()s it.
char *json_valid(const char *text);

// Each adds a member to the object that a builder is writing.
void json_add_string(JsonBuilder *builder, const char *name, const char *value);
void json_add_optional(JsonBuilder *builder, const char *name, const char *value); // NULL: null
void json_add_integer(JsonBuilder *builder, const char *name, int64_t value);
void json_add_number(JsonBuilder *builder, const char *name, double value); // NAN: null
void json_add_flag(JsonBuilder *builder, const char *name, bool value);
void json_add_null(JsonBuilder *builder, const char *name);
// RFC 3339 in UTC with microseconds; `wall_ns` since 1970.
void json_add_time(JsonBuilder *builder, const char *name, int64_t wall_ns);
// Begins an object or a list as a member.
void json_begin_object(JsonBuilder *builder, const char *name);
void json_begin_list(JsonBuilder *builder, const char *name);
