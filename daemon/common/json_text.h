// JSON as people and programs like to read it.
#pragma once

#include <json-glib/json-glib.h>
#include <stdbool.h>

// The text of `root`, its numbers with a point in six digits, from 1000 on in three after the
// point: what was measured or divided has no more, and json-glib writes all 17 of a double.
// Integers are whole. The caller g_free()s it.
char *json_text(JsonNode *root, bool pretty);
