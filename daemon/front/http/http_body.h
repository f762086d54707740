// Reads the body of a request. Anybody may send one, so nothing in it is trusted.
#pragma once

#include "config/base.h"

#include <json-glib/json-glib.h>

// Parses a JSON object (RFC 8259) that json_is_shallow(). -EINVAL, with what is allowed in `error`.
// The caller json_object_unref()s it.
int http_body_object(const char *text, size_t size, struct error *error, JsonObject **ret_object);
// A member of the object that is a string; NULL: it is none, or not there. Borrowed from it.
const char *http_body_string(JsonObject *object, const char *name);

// A field of a form (application/x-www-form-urlencoded), decoded; NULL: it is not there, or is not
// UTF-8. The caller g_free()s it.
char *http_body_field(const char *text, size_t size, const char *name);
