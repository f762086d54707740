// A clip over HTTP: its facts (clip_facts.h) as JSON, and how /openapi.yaml describes them.
#pragma once

#include "daemon/link/record.h"

#include <json-glib/json-glib.h>

// An object of JSON, without a newline. The caller g_free()s it.
char *clip_json(const struct record_clip *clip);
// Adds only its members to the object that `builder` is writing.
void clip_add_members(JsonBuilder *builder, const struct record_clip *clip);
// Adds the address of a clip's file, "/v1/clips/17.mp4"; null for the id 0.
void clip_add_address(JsonBuilder *builder, const char *name, uint64_t id, const char *suffix);
// The schema Clip as YAML, a member of `schemas`. The caller g_free()s it.
char *clip_schema(void);
