// JSON as people and programs like to read it, and what is done to a stranger's before it is read.
#pragma once

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

// Whether a text is nested JSON_DEPTH_MAX deep at most, and has nothing outside of strings that is
// not of JSON. Comes before the parser of json-glib, which calls itself for each level.
bool json_is_shallow(const char *text, size_t size);

// Puts '?' for each control character in a text, JSON or not, but line feed and tab, so that what
// is printed of it steers no terminal: for the bytes themselves, for those that are no UTF-8, and
// for the escapes that a parser makes control characters of, such as \u001b. The text never gets
// longer by it.
void json_replace_controls(char *text);
