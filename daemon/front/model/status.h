// The status of edged: GET /v1/status and GET /metrics, from the same facts.
//
// status.c is the table of facts: it has one function an object, with a call for each fact, which
// reads it from its owner. The fields of the JSON are a contract, documented in edgectl(1), and so
// are the names of metrics: more may be added, none renamed or removed.
//
// A view has 25 series of latency: a histogram of the whole way in buckets that grow by 1.8 (17
// series), and of each of its four steps the sum and the count, a mean over any time (8 series).
#pragma once

#include "daemon/front/model/model.h"

// A text about edged: all facts as JSON, all as metrics, or one of the lists of the JSON alone.
enum status_text { STATUS_TEXT_JSON, STATUS_TEXT_METRICS, STATUS_TEXT_CAMERAS, STATUS_TEXT_MOUNTS };

// The facts of now. A role is shown the views that it may watch, the cameras with such a view, and,
// unless it may watch all views, neither the problems of the last reload nor the other viewers. The
// caller g_free()s the text.
char *status_text(const struct model *model, enum status_text kind, enum config_role role);
// Of the JSON "cameras" and "mounts": the views of these paths (NULL at their end) that `role` is
// shown, and their cameras. The caller g_free()s it.
char *status_of_views(const struct model *model, enum config_role role, const char *const *paths);
// The verdict on the last load as a JSON text, which the caller g_free()s.
char *status_verdict(const struct reload_verdict *verdict);
