// JSON as people and programs like to read it.
#pragma once

#include <json-glib/json-glib.h>
#include <stdbool.h>

// The text of `root`. Numbers with a point get six digits, from 1000 on three after the point: no
// measurement is more exact, while json-glib would write all 17 digits of a double. Integers stay
// whole. The caller g_free()s the text.
char *json_text(JsonNode *root, bool pretty);
// The same of what a builder has built.
char *json_built_text(JsonBuilder *builder, bool pretty);
