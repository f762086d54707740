// Deadlines of what must not hang. The libraries that serve viewers take locks that nothing bounds,
// and a lock that is never given back cannot be taken back: a deadline that passes says what hangs
// and ends the process, which systemd starts anew.
#pragma once

#include "config/base.h"

struct deadline;

// From now on, `what` ("a thread of the RTSP server"; a literal) has `seconds` until the process is
// ended by abort(). Time during which the process stands still does not count. NULL: no memory.
struct deadline *deadline_new(const char *what, int seconds);
// The whole time again. Takes NULL. Thread-safe, as all of these are.
void deadline_extend(struct deadline *deadline);
// It is done. Takes NULL.
void deadline_free(struct deadline *deadline);
