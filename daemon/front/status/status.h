// The two texts the control socket serves, made from a snapshot.
#pragma once

#include "daemon/front/status/snapshot.h"

// GET /v1/status: JSON, documented in edgectl(1). The caller g_free()s the result.
char *status_json(const struct snapshot *snapshot);
// GET /metrics: Prometheus text format 0.0.4. The caller g_free()s the result.
char *status_metrics(const struct snapshot *snapshot);
