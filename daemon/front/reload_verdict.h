// The outcome of the last load of the configuration, for status, the metrics and `edgectl reload`.
#pragma once

#include "daemon/common/log_limit.h"
#include "daemon/front/status/facts.h"

#include <stdbool.h>
#include <stdint.h>

// All 0 before the first load.
struct reload_verdict {
    const char *path;           // of the file, borrowed; NULL: built-in defaults
    bool refused;               // the configuration before is still in use, or part of it
    int64_t at_ns;              // of the last load, nanoseconds since 1970
    int64_t applied_at_ns;      // of the one that is in use
    char *problems;             // errors and warnings, a line each; owned, NULL: none
    struct log_limit log_limit; // of the lines of reloads
    bool is_logged;             // the log tells of this load
};

// Records a load that has just been done; takes over `problems`.
void reload_verdict_set(struct reload_verdict *verdict, bool refused, char *problems);
// Adds that a camera goes on with its settings before, for this reason; once, however often it is
// said.
void reload_verdict_add_refusal(struct reload_verdict *verdict, const char *camera,
                                const char *reason);
void reload_verdict_finish(struct reload_verdict *verdict);

// Adds the facts of the verdict to the object that `facts` has begun; edgectl(1) documents them.
void reload_verdict_add(struct facts *facts, const struct reload_verdict *verdict);
// The verdict as a JSON text, which the caller g_free()s.
char *reload_verdict_json(const struct reload_verdict *verdict);
