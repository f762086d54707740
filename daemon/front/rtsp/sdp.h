// The session description that DESCRIBE answers with (RFC 4566).
#pragma once

#include "daemon/front/stream/payloader.h"

// One video stream called `name`, of `payloader` and its parameter sets, for a client that reaches
// us at `address` (numeric). `version` grows with each change of them (RFC 4566, section 5.2). The
// caller frees it (free()). NULL: out of memory.
char *sdp_write(const char *name, const char *address, const struct payloader_ops *payloader,
                const struct parameter_sets *sets, unsigned version);
