// One log call for journal and terminal.
//
// When stderr is the journal (JOURNAL_STREAM), messages go there with a MESSAGE_ID per event kind
// and the fields EDGED_CAMERA=, EDGED_STATE=; otherwise as one readable line on stderr. One message
// for one failure, at the place that decides what happens next, and it ends in what happens next.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <syslog.h>

// Kinds of event, each with its own MESSAGE_ID (daemon/common/log.c, documented in edged(8)).
enum log_event {
    LOG_EVENT_NONE,
    LOG_EVENT_STARTED, // the daemon can serve its mounts
    LOG_EVENT_STOPPING,
    LOG_EVENT_RELOADED,       // or a reload was refused
    LOG_EVENT_CAMERA_STATE,   // a camera changed state
    LOG_EVENT_CAMERA_PROCESS, // a camera process ended or was started again
    LOG_EVENT_VIEWER,         // a viewer came or went
    LOG_EVENT_MOTION_STARTED, // something moves in a region
    LOG_EVENT_MOTION_ENDED,
    LOG_EVENT_LOGIN,    // an address has sent a wrong password, or too many
    LOG_EVENT_RECORDER, // the recorder has ended, or is there again
    LOG_EVENT_COUNT,
};

// The name in front of every line and the journal's SYSLOG_IDENTIFIER= ("edged" until this is
// called). `name` must stay valid: a literal.
void log_set_program(const char *name);

// Whether the journal reads what is written to `fd`.
bool log_is_journal(int fd);

// The MESSAGE_ID of an event kind, 32 lowercase hex digits; NULL for LOG_EVENT_NONE.
const char *log_event_id(enum log_event event);

// `priority` is LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO or LOG_DEBUG. `camera` and `state` may
// be NULL; `camera` also opens the line ("edged: warning: front: …"). LOG_DEBUG is dropped unless
// the environment says EDGED_LOG=debug. Control characters become spaces, and text beyond 2 KiB is
// cut; secrets are left out (config/redact.h). Of one `format`, a literal, about one camera, 600
// messages a minute are written; the next one then says how many were not. Thread-safe, never
// fails, keeps errno.
void log_write(int priority, enum log_event event, const char *camera, const char *state,
               const char *format, ...) __attribute__((format(printf, 5, 6)));

// One more field of a journal entry; a terminal does not show it.
struct log_field {
    const char *name;  // "EDGED_REGION"; see systemd.journal-fields(7) for what a name may be
    const char *value; // cut beyond 2 KiB
};

// The same with up to LOG_FIELDS_MAX more fields for the journal; more are left out.
#define LOG_FIELDS_MAX 8
void log_write_fields(int priority, enum log_event event, const char *camera, const char *state,
                      const struct log_field *fields, size_t count, const char *format, ...)
    __attribute__((format(printf, 7, 8)));

#define log_error(...) log_write(LOG_ERR, LOG_EVENT_NONE, NULL, NULL, __VA_ARGS__)
#define log_warning(...) log_write(LOG_WARNING, LOG_EVENT_NONE, NULL, NULL, __VA_ARGS__)
#define log_notice(...) log_write(LOG_NOTICE, LOG_EVENT_NONE, NULL, NULL, __VA_ARGS__)
#define log_info(...) log_write(LOG_INFO, LOG_EVENT_NONE, NULL, NULL, __VA_ARGS__)
#define log_debug(...) log_write(LOG_DEBUG, LOG_EVENT_NONE, NULL, NULL, __VA_ARGS__)
