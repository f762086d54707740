// Replies of the control server, as libmicrohttpd wants them.
#pragma once

#include <microhttpd.h>

// Before 0.9.71 handlers return int.
#if MHD_VERSION >= 0x00097100
#define CONTROL_RESULT enum MHD_Result
#else
#define CONTROL_RESULT int
#endif

// Replies with `text`, which it takes over and g_free()s. Returns what a handler is to return;
// MHD_NO, which closes the connection, when there is no memory.
CONTROL_RESULT control_reply(struct MHD_Connection *connection, unsigned status,
                             const char *content_type, char *text);
// Replies {"error": `sentence`}.
CONTROL_RESULT control_refuse(struct MHD_Connection *connection, unsigned status,
                              const char *sentence);
// The same, with a header `name` for each of `count` values; for 401, 405 and 429.
CONTROL_RESULT control_refuse_with(struct MHD_Connection *connection, unsigned status,
                                   const char *name, const char *const *values, size_t count,
                                   const char *sentence);
// Replies 405; `allowed` is a literal: "GET, HEAD".
CONTROL_RESULT control_refuse_method(struct MHD_Connection *connection, const char *allowed);
