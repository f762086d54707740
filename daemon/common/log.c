// Where messages go is decided once, at the first one: to the journal when stderr is its stream,
// else to stderr itself. Nothing but the limits changes after that, so any thread may log, with a
// lock for these alone: a journal entry is one datagram and a line is one write().
#define SD_JOURNAL_SUPPRESS_LOCATION
#include "daemon/common/log.h"

#include "config/base.h"
#include "config/redact.h"
#include "daemon/common/log_limit.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-journal.h>

// Documented in edged(8); `journalctl MESSAGE_ID=…` relies on them never changing.
static const char *const message_ids[LOG_EVENT_COUNT] = {
    [LOG_EVENT_STARTED] = "81b3b01a78e945829982cf1a9d5d5e60",
    [LOG_EVENT_STOPPING] = "83d76d4b537b4bcd8498c1573a54cf20",
    [LOG_EVENT_RELOADED] = "e33ae8f757b74155baefdf310dd57ead",
    [LOG_EVENT_CAMERA_STATE] = "d246ad3716ab463c9fd0d8e99ab3988b",
    [LOG_EVENT_CAMERA_PROCESS] = "56557658ef044da4919a82506ec29a98",
    [LOG_EVENT_VIEWER] = "82ebc04fd2274ef8a0da21e832f89f22",
    [LOG_EVENT_MOTION_STARTED] = "46820a6b72f64345add212fd1b5c3727",
    [LOG_EVENT_MOTION_ENDED] = "b73060563b314ac080d4318b30856d9e",
    [LOG_EVENT_LOGIN] = "efe8d7898b3d4c9fbd6db9a2287adde4",
    [LOG_EVENT_RECORDER] = "8051277b5ca24cbdb76bf5af1aaecb42",
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool to_journal, debug;
static _Atomic(const char *) program = "edged";

// systemd names the device and inode of the stream it connected (systemd.exec(5)); a variable
// inherited across a redirection does not match it any more.
bool log_is_journal(int fd)
{
    const char *stream = getenv("JOURNAL_STREAM");
    uintmax_t device, inode;
    struct stat status;

    return stream && sscanf(stream, "%ju:%ju", &device, &inode) == 2 && fstat(fd, &status) == 0 &&
           status.st_dev == device && status.st_ino == inode;
}

static void choose_output(void)
{
    const char *level = getenv("EDGED_LOG");

    debug = level && strcmp(level, "debug") == 0;
    to_journal = log_is_journal(STDERR_FILENO);
}

void log_set_program(const char *name)
{
    atomic_store(&program, name);
}

const char *log_event_id(enum log_event event)
{
    return message_ids[event];
}

// One message stays one line, and nothing in it (a camera's name for itself, a library's text)
// steers the terminal.
static void replace_control_characters(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 0x7f)
            *text = ' ';
    }
}

// A message's priority, event and fields, without its text.
struct record {
    int priority;
    enum log_event event;
    const char *camera, *state; // may be NULL
    const struct log_field *fields;
    size_t field_count;
};

// The fields of a journal entry that is being put together.
struct entry {
    char fields[6 + LOG_FIELDS_MAX][2304];
    int count;
};

static void add_field(struct entry *entry, const char *name, const char *value)
{
    if (value && entry->count < (int)ARRAY_LENGTH(entry->fields))
        snprintf(entry->fields[entry->count++], sizeof entry->fields[0], "%s=%.2200s", name, value);
}

static int write_journal(const struct record *record, const char *text)
{
    struct entry entry;
    struct iovec pieces[ARRAY_LENGTH(entry.fields)];
    char priority[12];

    entry.count = 0;
    snprintf(priority, sizeof priority, "%d", record->priority);
    add_field(&entry, "MESSAGE", text);
    add_field(&entry, "PRIORITY", priority);
    add_field(&entry, "SYSLOG_IDENTIFIER", atomic_load(&program));
    add_field(&entry, "MESSAGE_ID", message_ids[record->event]);
    add_field(&entry, "EDGED_CAMERA", record->camera);
    add_field(&entry, "EDGED_STATE", record->state);
    for (size_t i = 0; i < record->field_count; i++)
        add_field(&entry, record->fields[i].name, record->fields[i].value);
    for (int i = 0; i < entry.count; i++)
        pieces[i] = (struct iovec){.iov_base = entry.fields[i], .iov_len = strlen(entry.fields[i])};
    return sd_journal_sendv(pieces, entry.count);
}

static void write_line(int priority, const char *text)
{
    const char *level = priority <= LOG_ERR       ? "error: "
                        : priority == LOG_WARNING ? "warning: "
                        : priority == LOG_DEBUG   ? "debug: "
                                                  : "";
    char line[2400];
    ssize_t written;

    snprintf(line, sizeof line, "%s: %s%s\n", atomic_load(&program), level, text);
    do {
        written = write(STDERR_FILENO, line, strlen(line));
    } while (written < 0 && errno == EINTR);
}

// Whether the message of `format` about the camera may be written once more in this minute: a
// camera process that was taken over sends what edged logs as fast as it likes.
static bool may_write(const struct record *record, const char *format,
                      char ret_suffix[LOG_LIMIT_SUFFIX_SIZE])
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct log_limits limits;
    char key[320];
    bool may;

    if (record->priority == LOG_DEBUG)
        return true;
    snprintf(key, sizeof key, "%s\n%s", record->camera ? record->camera : "", format);
    pthread_mutex_lock(&lock);
    may = log_limit_line_of(log_limits_of(&limits, (const uint8_t *)key, strlen(key)),
                            clock_now_ns(), LOG_LIMIT_EACH_A_MINUTE, ret_suffix);
    pthread_mutex_unlock(&lock);
    return may;
}

__attribute__((format(printf, 2, 0))) static void
write_record(const struct record *record, const char *format, va_list arguments)
{
    _cleanup_(cleanup_free) char *message = NULL;
    char text[2048], suffix[LOG_LIMIT_SUFFIX_SIZE] = "";
    int used = 0, saved_errno = errno;

    pthread_once(&once, choose_output);
    if ((record->priority == LOG_DEBUG && !debug) || !may_write(record, format, suffix)) {
        errno = saved_errno;
        return;
    }
    if (record->camera)
        used = snprintf(text, 256, "%.128s: ", record->camera);
    message = redact_format(format, arguments);
    snprintf(text + used, sizeof text - used - strlen(suffix), "%s",
             message ? message : strerror(ENOMEM));
    strcat(text, suffix);
    replace_control_characters(text);
    if (!to_journal || write_journal(record, text) < 0)
        write_line(record->priority, text);
    errno = saved_errno;
}

void log_write(int priority, enum log_event event, const char *camera, const char *state,
               const char *format, ...)
{
    const struct record record = {priority, event, camera, state, NULL, 0};
    va_list arguments;

    va_start(arguments, format);
    write_record(&record, format, arguments);
    va_end(arguments);
}

void log_write_fields(int priority, enum log_event event, const char *camera, const char *state,
                      const struct log_field *fields, size_t count, const char *format, ...)
{
    const struct record record = {priority, event, camera, state, fields, count};
    va_list arguments;

    va_start(arguments, format);
    write_record(&record, format, arguments);
    va_end(arguments);
}
