// The two texts the control socket serves, made from a snapshot.
#pragma once

#include "daemon/front/status/snapshot.h"

#include <json-glib/json-glib.h>

// GET /v1/status: JSON, documented in edgectl(1). The caller g_free()s the result.
char *status_json(const struct snapshot *snapshot);
// GET /metrics: Prometheus text format 0.0.4. The caller g_free()s the result.
char *status_metrics(const struct snapshot *snapshot);
// The parts of both that tell of the board; nothing while no camera process has told of it.
void status_add_board(JsonBuilder *builder, const struct snapshot *snapshot);
void status_add_board_metrics(GString *text, const struct snapshot *snapshot);
