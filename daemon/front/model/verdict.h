// The outcome of the last load of the configuration, for status, the metrics and `edgectl reload`.
#pragma once

#include "config/problems.h"
#include "daemon/common/log_limit.h"

// All 0 before the first load.
struct reload_verdict {
    const char *path;      // of the file, borrowed; NULL: built-in defaults
    bool refused;          // the configuration before is still in use, or part of it
    int64_t at_ns;         // of the last load, nanoseconds since 1970
    int64_t applied_at_ns; // of the one that is in use
    struct config_problems problems;
    struct log_limit log_limit; // of the lines of reloads
    bool is_logged;             // the log tells of this load
};

// Records a load that has just been done; takes over `problems`, which is {0} then.
void reload_verdict_set(struct reload_verdict *verdict, bool refused,
                        struct config_problems *problems);
// Adds that a camera goes on with its settings before, for this reason; once, however often it is
// said.
void reload_verdict_add_refusal(struct reload_verdict *verdict, const char *camera,
                                const char *reason);
void reload_verdict_finish(struct reload_verdict *verdict);
